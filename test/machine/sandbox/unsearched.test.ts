// A workspace that is too large to be searched before the first command: what has not been searched is read-only.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { protectedFinder } from "../../../src/machine/sandbox/mounts/protected.ts";
import { describeRefusals } from "../../../src/core/output/describe-refusals.ts";
import { startUpFile } from "../../../src/machine/places/start-up.ts";
import { isInside } from "../../../src/core/util/paths.ts";
import { mustBeHere } from "../../support/here.ts";
import { until } from "../../support/until.ts";
import { temporaryFolder } from "../../support/workspace.ts";
import { type World, noSandbox, world } from "./world.ts";

mustBeHere("the sandbox", noSandbox);

const worlds: World[] = [];
afterAll(() => Promise.all(worlds.map(({ backend }) => backend.close())));

/** A search that goes on only when the test says so, and takes a while for each path in `many`. */
function byHand() {
  const slices: (() => void)[] = [];
  const busy = () => {
    for (const end = performance.now() + 0.5; performance.now() < end;);
  };
  return {
    search: { patienceMs: 0, later: (slice: () => void) => void slices.push(slice) },
    isProtected: (path: string) => (path.includes("/many/") && busy(), startUpFile(path) !== undefined),
    /** Reads a few folders. False: everything has been read. */
    goOn() {
      const [slice] = slices.splice(0, 1);
      slice?.();
      return slice !== undefined;
    },
  };
}

const put = (root: string, files: readonly string[]) => {
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), "as it was\n");
  }
};

const MANY = Array.from({ length: 300 }, (_, number) => `many/f${number}/a/file`);

describe.skipIf(noSandbox !== undefined)("in a large workspace", () => {
  const largeWorld = async () => {
    const hand = byHand();
    const { search, isProtected } = hand;
    const one = await world({ search, isProtected, isSensitive: (path) => basename(path) === ".env" });
    worlds.push(one);
    put(one.workDir, [...MANY, "src/a.ts", "deep/a/b/.vscode/tasks.json", "deep/a/b/.env", "deep/a/file"]);
    spawnSync("git", ["init", "-q", join(one.workDir, "deep/a")]);
    return { ...one, ...hand };
  };
  /** What a command must not change, whatever has been searched. */
  const ATTACKS = [
    "echo x >>deep/a/b/.vscode/tasks.json",
    "git -C deep/a config core.fsmonitor ./run",
    "echo x >deep/a/.git/hooks/pre-commit",
    "mv deep/a/.git/hooks deep/a/.git/other",
    "mv deep/a deep/other",
    "mv deep other",
    "rm -rf deep/a/.git/config",
  ];
  const attacked = async ({ bash, workDir }: World) => {
    const { output } = await bash(ATTACKS.map((attack) => `(${attack}) 2>/dev/null && echo '${attack}'`).join("\n"));
    expect(output).toBe("");
    expect(readFileSync(join(workDir, "deep/a/b/.vscode/tasks.json"), "utf8")).toBe("as it was\n");
    expect(readFileSync(join(workDir, "deep/a/.git/config"), "utf8")).not.toMatch("fsmonitor");
  };

  test("commands run at once, cannot write what is unread, are told so, and can when it has been read", async () => {
    const one = await largeWorld();
    expect((await one.bash("cat src/a.ts")).output).toBe("as it was\n");
    await attacked(one);
    const { exit, refusals } = await one.bash("touch many/f7/new");
    expect(exit).toMatchObject({ code: 1 });
    expect(refusals).toEqual([{ kind: "unsearched", path: one.workDir, isGoingOn: true }]);
    expect(describeRefusals(refusals)).toBe(
      `${one.workDir} cannot be written for now: it is still being looked at for files to protect. ` +
        "Try again in a moment.",
    );
    await until("small folders can be written", async () => {
      one.goOn();
      return (await one.bash("touch src/new")).exit.how === "exited" && existsSync(join(one.workDir, "src/new"));
    });
    await attacked(one);
    const unread = await one.bash("for folder in many/*; do echo x >$folder/new || exit; done");
    expect(describeRefusals(unread.refusals)).toMatch(/many.* cannot be written for now/);
    while (one.goOn());
    await attacked(one);
    expect(await one.bash("for folder in many/* deep/a/b; do echo x >$folder/new || exit; done")).toMatchObject({
      exit: { code: 0 },
      refusals: [],
    });
  });

  test("a repository that is found late is protected, and a new one is held back, however much is read", async () => {
    const one = await largeWorld();
    const config = join(one.workDir, "deep/a/.git/config");
    writeFileSync(config, `${readFileSync(config, "utf8")}[alias]\n\tco = !true\n`);
    const before = readFileSync(config, "utf8");
    const job = one.bash("until [ -e /tmp/end ]; do sleep 0.02; done");
    const make = (name: string) =>
      `git init -q ${name} && git -C ${name} config core.fsmonitor ./run && echo x >${name}/.git/hooks/pre-commit`;
    await until("small folders can be written", async () => {
      one.goOn();
      return (await one.bash("touch src/new")).exit.how === "exited" && existsSync(join(one.workDir, "src/new"));
    });
    const early = await one.bash(make("src/early"));
    expect(early.refusals.filter(({ kind }) => kind === "held-back")).toHaveLength(2);
    while (one.goOn());
    const late = await one.bash(make("deep/late"));
    expect(late.refusals.filter(({ kind }) => kind === "held-back")).toHaveLength(2);
    await one.bash("touch /tmp/end");
    // The job began when nothing had been read: it has made nothing.
    expect((await job).refusals).toEqual([]);
    expect(readFileSync(config, "utf8")).toBe(before);
    await attacked(one);
  });

  test("a command that may send something does not see what is unread", async () => {
    const one = await largeWorld();
    const within = { network: ["example.org"], hideSensitive: true };
    const script = "cat deep/a/b/.env src/a.ts; ls";
    expect(await one.bash(script, { within })).toMatchObject({ output: expect.not.stringMatching("as it was") });
    while (one.goOn());
    const { output } = await one.bash(script, { within });
    expect(output.match(/as it was/g)).toHaveLength(1);
  });

  test("what a killed command left is held back before the first command where the workspace is small", async () => {
    const one = await world({ isProtected: (path) => startUpFile(path) !== undefined });
    worlds.push(one);
    put(one.workDir, ["a/.git/HEAD", "a/.git/objects/x", "a/.git/refs/x", "a/.git/hooks/pre-commit", "b/file"]);
    const session = join(one.folder, "sessions/dead");
    mkdirSync(session, { recursive: true });
    const { workDir } = one;
    const record = { roots: [workDir], writable: [workDir], old: [], lifted: [], watched: [], leading: [] };
    const more = { operations: [], replacements: [], unread: [] };
    writeFileSync(join(session, "running-1"), JSON.stringify({ ...record, ...more }));
    writeFileSync(join(session, "running-2"), JSON.stringify({ ...record, ...more, unsearched: [workDir] }));
    await one.bash("true");
    expect(existsSync(join(workDir, "a/.git/hooks/pre-commit"))).toBe(false);
    expect(existsSync(session)).toBe(false);
  });
});

test.each([
  ["a tree", Array.from({ length: 250 }, (_, number) => `a${number % 7}/b${number % 31}/many/c${number}/file`)],
  ["a folder of hundreds", Array.from({ length: 250 }, (_, number) => `many/${number}/file`)],
  ["a root of hundreds", Array.from({ length: 250 }, (_, number) => `x${number}/many/file`)],
])("while %s is read, a few folders contain all that is unread", (_, files) => {
  const root = temporaryFolder();
  put(root, files);
  const { search, isProtected, goOn } = byHand();
  const seen = new Set<string>();
  const { find } = protectedFinder((path) => (seen.add(dirname(path)), isProtected(path)), search);
  const all = new Set(files.flatMap((file) => [dirname(file), dirname(dirname(file))]).map((each) => join(root, each)));
  let rounds = 0;
  for (let found = find(root); found.unread !== undefined; found = find(root), rounds++) {
    const { folders, read, isGoingOn } = found.unread;
    expect(isGoingOn).toBe(true);
    expect(folders.length + read.length).toBeLessThanOrEqual(200);
    const isWritable = (path: string) =>
      !folders.some((each) => isInside(path, each)) || read.some((each) => isInside(path, each));
    expect([...all].filter((path) => !seen.has(path) && isWritable(path))).toEqual([]);
    goOn();
  }
  expect(rounds).toBeGreaterThan(2);
  expect([...all].filter((path) => !seen.has(path))).toEqual([]);
  expect(goOn()).toBe(false);
});
