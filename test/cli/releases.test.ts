// What this program makes of what earlier releases wrote (`npm run keep-release`), and what an earlier one makes of ours.
import { cpSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { readThread } from "../../src/record/activity/messages.ts";
import { REMOVED_KEYS } from "../../src/core/util/removed.ts";
import { besides, started, storeOn } from "../record/activity/stores.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { commandLine } from "./program.ts";

const releases = fileURLToPath(new URL("../fixtures/releases/", import.meta.url));
const { here } = await commandLine();

/** A copy of what a release wrote, and the program on it. */
function copied(release: string) {
  const folder = temporaryFolder();
  cpSync(join(releases, release), folder, { recursive: true });
  const environment = { XDG_CONFIG_HOME: join(folder, "config"), XDG_STATE_HOME: join(folder, "state") };
  const fileOf = (name: string) => join(folder, "state", "handrail", `${name}.db`);
  return { folder, fileOf, run: (...args: string[]) => here(args, environment) };
}

describe.each(readdirSync(releases))("what release %s wrote", (release) => {
  test("its configuration is read without a word", async () => {
    const { run } = copied(release);
    expect(await run("tools")).toMatchObject({ code: 0, stderr: "" });
  });

  test("every key that its configuration could have is still a key, but for those that were removed", () => {
    const now = keysOf(readFileSync(fileURLToPath(new URL("../../handrail.schema.json", import.meta.url)), "utf8"));
    const then = keysOf(readFileSync(join(releases, release, "handrail.schema.json"), "utf8"));
    const ofHttpHooks = /^\.hooks\.hooks\.(?:url|headers|allowedEnvVars)$/; // their type is an error that says what to do
    const isRemoved = (key: string) => key.split(".").some((part) => REMOVED_KEYS.has(part)) || ofHttpHooks.test(key);
    expect(then.filter((key) => !now.includes(key) && !isRemoved(key))).toEqual([]);
    expect(then.length).toBeGreaterThan(50);
  });

  test("its record is read, added to and verified", async () => {
    const { fileOf, run } = copied(release);
    const file = fileOf("handrail");
    const [first] = (await besides(file)).all<{ at: number }>("SELECT min(at) AS at FROM events");
    const store = storeOn(file, { now: () => first?.at ?? 0 }); // nothing is too old
    const [question] = await store.questions();
    expect(question?.name).toBe("bash");
    const threads = await store.threads();
    const messages = (await Promise.all(threads.map(({ thread }) => readThread(store, thread)))).flat();
    expect(JSON.stringify(messages)).toContain("This folder has 1 entries");
    await store.commit(started("later"));
    await store.close();
    const verified = await run("verify");
    expect(verified).toMatchObject({ code: 0, stderr: "" });
    expect(verified.stdout).toContain("Nothing was changed, removed, added or moved.");
  });

  test("its memories and schedules are there", async () => {
    const { run } = copied(release);
    expect((await run("memory", "list")).stdout).toContain("tea");
    expect((await run("cron", "list")).stdout).toContain("nightly");
  });
});

describe("a database of a newer release", () => {
  test.each([
    ["handrail", ["threads", "list"]],
    ["memory", ["memory", "list"]],
    ["schedule", ["cron", "list"]],
  ])("%s.db is not touched, and the message says to update", async (name, args) => {
    const { fileOf, run } = copied(readdirSync(releases).at(-1) ?? "");
    const connection = await besides(fileOf(name));
    connection.exec("PRAGMA user_version = 9999; PRAGMA wal_checkpoint(TRUNCATE)");
    const before = readFileSync(fileOf(name));
    const { code, stderr } = await run(...args);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/was made by a newer Handrail \(database version 9999; this one knows up to \d+\)\. Update/);
    expect(readFileSync(fileOf(name)).equals(before)).toBe(true);
  });
});

/** The paths of all properties of a JSON Schema. */
function keysOf(schema: string): readonly string[] {
  const keys = (part: unknown, path: string): readonly string[] => {
    if (typeof part !== "object" || part === null) return [];
    return Object.entries(part).flatMap(([name, value]: [string, unknown]) =>
      name === "properties"
        ? Object.entries(Object(value)).flatMap(([key, inner]) => [`${path}.${key}`, ...keys(inner, `${path}.${key}`)])
        : keys(value, path),
    );
  };
  return [...new Set(keys(JSON.parse(schema), ""))];
}
