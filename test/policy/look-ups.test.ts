// The look-ups of one decision, and what it takes as known.
import { rename, symlink } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { local } from "../../src/machine/local/backend.ts";
import { createLookUps } from "../../src/policy/look-ups.ts";
import { layout } from "../support/layout.ts";
import { farBackend } from "../support/round-trips.ts";

async function place() {
  const world = await layout();
  const { backend, rounds } = farBackend(
    await local({ workDir: world.workDir, home: world.home, outputFolder: `${world.stateDir}/outputs` }),
  );
  return { world, rounds, files: backend.files };
}

describe("the look-ups of a decision", () => {
  test("the folder of a command is not looked up again, and everything in it is", async () => {
    const { world, rounds, files } = await place();
    await world.link("link", world.outside);
    const look = createLookUps(files, new Set([world.workDir]));
    expect(await look.realPath(world.workDir)).toBe(world.workDir);
    expect(rounds()).toEqual([]);
    expect(await look.realPath(`${world.workDir}/link`)).toBe(world.outside);
    expect(rounds()).toEqual([[`realPath ${world.workDir}/link`]]);
  });

  test("a path that is too long is not looked up", async () => {
    const { rounds, files } = await place();
    const look = createLookUps(files);
    for (const path of ["/a".repeat(257), `/${"a".repeat(4_096)}`]) {
      expect(await look.realPath(path)).toBeInstanceOf(Error);
      await expect(look.info(path)).rejects.toThrow("more than 4096 bytes or 256 names");
      expect(await look.list(path)).toEqual([]);
    }
    expect(rounds()).toEqual([]);
  });

  test("what is written is looked up in one round, if no link is on the way", async () => {
    const { world, rounds, files } = await place();
    for (const path of [await world.file("there"), `${world.workDir}/missing`]) {
      const before = rounds().length;
      const look = createLookUps(files);
      await look.lookAt(path);
      expect(await look.realPath(path)).toBe(path);
      expect((await look.infoAt(path))?.kind).toBe(path.endsWith("there") ? "file" : undefined);
      expect(rounds().length - before).toBe(1);
    }
  });

  test("a link is followed, also to nothing, in a known folder too", async () => {
    const { world, files } = await place();
    await world.link("link", `${world.outside}/secret.txt`);
    await world.link("to-nothing", `${world.outside}/made`);
    for (const how of [undefined, "at-once"] as const) {
      const look = createLookUps(files, new Set([world.workDir]));
      await Promise.all([look.lookAt(`${world.workDir}/link`, how), look.lookAt(`${world.workDir}/to-nothing`, how)]);
      expect(await look.realPath(`${world.workDir}/link`)).toBe(`${world.outside}/secret.txt`);
      expect(await look.realPath(`${world.workDir}/to-nothing`)).toBe(`${world.outside}/made`);
    }
  });
});

describe("a command that writes through a dangling link out of the workspace is refused", () => {
  test.each(["echo x > out", "touch out", "cp a out", "cd sub; echo x > ../out", "rm -r out/"])(
    "%s",
    async (command) => {
      const { world } = await place();
      await world.file("a");
      await world.folder("sub");
      await world.link("out", `${world.outside}/made`);
      const toolkit = await world.toolkit({ policy: { forbiddenPaths: world.forbiddenPaths, autonomy: "full" } });
      expect(await toolkit.judge([{ kind: "exec", command }])).toMatchObject({
        verdict: "deny",
        rule: "workspace_only",
      });
    },
  );
});

test("a link that replaces the folder of a command is noticed before the command runs", async () => {
  const { world } = await place();
  await world.file("found-here");
  const toolkit = await world.toolkit({
    policy: { forbiddenPaths: world.forbiddenPaths },
    approver: async () => ({ answer: "once" }),
    preset: "all",
  });
  await rename(world.workDir, `${world.root}/moved`);
  await symlink(world.outside, world.workDir);
  const result = await toolkit.call({ name: "bash", input: { command: "find ." } });
  expect(result).toMatchObject({ status: "failed" });
  expect(JSON.stringify(result)).toContain("which was not approved; nothing was run");
});
