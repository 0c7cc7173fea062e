import { readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { local } from "../../../src/machine/local/backend.ts";
import type { Effect } from "../../../src/core/contract/effect.ts";
import type { Json } from "../../../src/core/contract/schema.ts";
import { type ToolContext, defineTool } from "../../../src/core/contract/tool.ts";
import { asText } from "../../../src/core/call/result.ts";
import type { ToolkitOptions } from "../../../src/app/toolkit-options.ts";
import { type Layout, layout } from "../../support/layout.ts";

const NAMES = ["private", "a b", "q[1]*{x}", "!odd", "back\\slash", "tail ", "ümlaut"];

/** Makes a call that reads and writes the whole workspace and runs this. */
async function throughFolder(world: Layout, run: (context: ToolContext) => Promise<unknown>, options: ToolkitOptions) {
  const effects: readonly Effect[] = [
    { kind: "read", path: "." },
    { kind: "write", path: "." },
  ];
  const doing = defineTool({
    name: "doing",
    description: "Does it.",
    touches: ["read", "write"],
    input: {},
    effects: () => effects,
    run: async (_, context) => (await run(context)) as Json,
  });
  const toolkit = await world.toolkit({ preset: "none", tools: [doing], ...options });
  return toolkit.call({ name: "doing", input: {} });
}

describe("a forbidden path inside a folder that may be read", () => {
  test.each(NAMES)("is not searched, with any name: %j", async (name) => {
    const world = await layout();
    await world.file(`${name}/sub/key.txt`, "NEEDLE inside\n");
    await world.file(`${name}x/near.txt`, "NEEDLE near\n");
    await world.file("a.txt", "NEEDLE a\n");
    const toolkit = await world.toolkit({ preset: "all", policy: { forbiddenPaths: [name] } });
    const text = async (tool: string, input: object) => asText(await toolkit.call({ name: tool, input }));
    for (const input of [
      { pattern: "NEEDLE" },
      { pattern: "NEEDLE", glob: "*.txt" },
      { pattern: "NEEDLE", glob: "**/key.txt" },
      { pattern: "NEEDLE", glob: "**" },
    ]) {
      const found = await text("grep", input);
      expect(found).not.toContain("inside");
      if (!("glob" in input) || input.glob !== "**/key.txt") expect(found).toContain("NEEDLE near");
      expect(found).toContain("[Left out, since the policy does not allow it: ");
    }
    const listed = await text("find", { pattern: "" });
    expect(listed).toContain("near.txt");
    expect(listed).not.toContain("key.txt");
    expect(await text("find", { pattern: "key.txt" })).toContain("Nothing found.\n\n[Left out");
    expect(await text("grep", { pattern: "NEEDLE", path: `${name}/sub` })).toContain("blocked by security policy");
  });

  test("cannot be opened, listed, written or removed through the folder, by its name or through a link", async () => {
    const world = await layout();
    await world.file("private/key.txt", "key\n");
    await world.link("way", "private");
    const tried: Json[] = [];
    const result = await throughFolder(
      world,
      async ({ backend: { files }, closed }) => {
        expect(closed.paths).toEqual([join(world.workDir, "private")]);
        for (const attempt of [
          () => files.open("private/key.txt"),
          () => files.open("way/key.txt"),
          () => files.stat("private/key.txt"),
          () => files.list("private"),
          () => files.list("way"),
          () => files.write("private/new.txt", Buffer.from("x")),
          () => files.write("way/key.txt", Buffer.from("x")),
          () => files.remove("private"),
          () => files.remove("private/key.txt"),
        ]) {
          tried.push(await attempt().then(() => "done", String));
        }
        return (await files.list(".")).map(({ name }) => name);
      },
      { policy: { autonomy: "full", forbiddenPaths: ["private"] } },
    );
    expect(result).toMatchObject({ status: "ok", data: ["private", "way"] });
    for (const answer of tried) expect(answer).toContain("for a call that names only a parent folder");
    expect(tried).toHaveLength(9);
    expect(readFileSync(join(world.workDir, "private/key.txt"), "utf8")).toBe("key\n");
  });

  test("may be Handrail's own state, if the workspace contains it", async () => {
    const world = await layout();
    const stateDir = await world.folder("state-inside");
    await world.file("state-inside/handrail.db", "NEEDLE in the record\n");
    await world.file("a.txt", "NEEDLE a\n");
    const toolkit = await world.toolkit({ preset: "all", stateDir });
    const found = asText(await toolkit.call({ name: "grep", input: { pattern: "NEEDLE" } }));
    expect(found).toContain("NEEDLE a");
    expect(found).not.toContain("record");
  });

  test("may come from people's rules", async () => {
    const world = await layout();
    await world.file("secrets/a.txt", "NEEDLE in a folder\n");
    await world.file("src/deep/b.secret", "NEEDLE by name\n");
    await world.file("src/b.txt", "NEEDLE open\n");
    const commands = { deny: ["Read(./secrets/**)"], ask: ["Read(*.secret)"] };
    const toolkit = await world.toolkit({ preset: "all", policy: { commands } });
    const found = asText(await toolkit.call({ name: "grep", input: { pattern: "NEEDLE" } }));
    expect(found).toContain("NEEDLE open");
    expect(found).not.toMatch(/in a folder|by name/);
    expect(found).toContain("Left out, since the policy does not allow it: secrets.");
    expect(found).toContain("1 sensitive file with matches left out");
  });
});

test("may be a sensitive or protected file, which opens only when it is named", async () => {
  const world = await layout();
  await world.file(".env", "TOKEN=1\n");
  await world.file(".git/config", "[core]\n");
  await world.file("open.txt", "open\n");
  const tried: Json[] = [];
  await throughFolder(
    world,
    async ({ backend: { files } }) => {
      for (const attempt of [
        () => files.open(".env"),
        () => files.write(".env", Buffer.from("x")),
        () => files.write(".git/config", Buffer.from("x")),
        () => files.write(".git/hooks/post-checkout", Buffer.from("x")), // not even if it does not exist yet
        () => files.remove(".git/config"),
        async () => (await files.open(".git/config")).close(),
        async () => (await files.open("open.txt")).close(),
      ]) {
        tried.push(
          await attempt().then(
            () => "done",
            () => "refused",
          ),
        );
      }
      return null;
    },
    { policy: { autonomy: "full" } },
  );
  expect(tried).toEqual(["refused", "refused", "refused", "refused", "refused", "done", "done"]);
  const toolkit = await world.toolkit({ preset: "all", approver: async () => ({ answer: "once" }) });
  expect(await toolkit.call({ name: "read", input: { path: ".env" } })).toMatchObject({ status: "ok" });
});

describe("a real path", () => {
  test.each<[string, (files: ToolContext["backend"]["files"], path: string) => Promise<unknown>]>([
    ["opened", (files, path) => files.open(path, { real: true })],
    ["looked at", (files, path) => files.stat(path, { real: true })],
    ["listed", (files, path) => files.list(join(path, ".."), { real: true })],
    ["written", (files, path) => files.write(path, Buffer.from("x"), { real: true })],
    ["written with new folders", (files, path) => files.write(`${path}.d/e/f`, Buffer.from("x"), { real: true })],
    ["removed", (files, path) => files.remove(path, { real: true })],
  ])("is not %s when its folder has become a link since", async (_, use) => {
    const world = await layout();
    const real = await world.file("folder/secret.txt", "harmless\n");
    const { files } = await local({ workDir: world.workDir, home: world.home, outputFolder: world.stateDir });
    rmSync(join(world.workDir, "folder"), { recursive: true });
    symlinkSync(world.outside, join(world.workDir, "folder"));
    await expect(use(files, real)).rejects.toThrow(
      /replaced while it was being opened|just replaced|not a folder|ENOTDIR|Not a directory/i,
    );
    expect(readFileSync(join(world.outside, "secret.txt"), "utf8")).toBe("secret\n");
    expect(await files.list(world.outside)).toHaveLength(1);
  });

  test.each<[string, (files: ToolContext["backend"]["files"], path: string) => Promise<unknown>]>([
    ["opened", (files, path) => files.open(path, { real: true })],
    ["looked at", (files, path) => files.stat(path, { real: true })],
    ["written", (files, path) => files.write(path, Buffer.from("x"), { real: true })],
  ])("is not %s when it has become a link itself", async (_, use) => {
    const world = await layout();
    const link = await world.link("link.txt", join(world.outside, "secret.txt"));
    const { files } = await local({ workDir: world.workDir, home: world.home, outputFolder: world.stateDir });
    await expect(use(files, link)).rejects.toThrow(/replaced while it was being opened|just replaced/);
    expect(realpathSync(link)).toBe(join(world.outside, "secret.txt"));
  });

  test("is used like any other if nothing has changed", async () => {
    const world = await layout();
    const { files } = await local({ workDir: world.workDir, home: world.home, outputFolder: world.stateDir });
    const path = join(world.workDir, "new/folder/file.txt");
    const info = await files.write(path, Buffer.from("x"), { real: true });
    expect(await files.stat(path, { real: true })).toEqual(info);
    expect((await files.list(join(path, ".."), { real: true })).map(({ name }) => name)).toEqual(["file.txt"]);
    await files.remove(path, { real: true });
    expect(await files.stat(path, { real: true })).toBeUndefined();
  });
});
