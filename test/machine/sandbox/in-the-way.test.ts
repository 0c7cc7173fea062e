// What a sandbox that is too strict would prevent: everyday actions that once failed in it.
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { startUpFile } from "../../../src/machine/places/start-up.ts";
import { mustBeHere } from "../../support/here.ts";
import { type World, noSandbox, world } from "./world.ts";

mustBeHere("the sandbox", noSandbox);

const DONE = { how: "exited", code: 0 };
const worlds: World[] = [];
afterAll(() => Promise.all(worlds.map(({ backend }) => backend.close())));

async function newWorld(): Promise<World> {
  const one = await world({ isProtected: (path) => startUpFile(path) !== undefined });
  worlds.push(one);
  return one;
}

function git(folder: string, ...args: readonly string[]): void {
  execFileSync("git", ["-C", folder, "-c", "user.name=T", "-c", "user.email=t@example.org", ...args], {
    stdio: "pipe",
  });
}

describe.skipIf(noSandbox !== undefined)("a contained command", () => {
  test("removes repositories and worktrees that commands have created", async () => {
    const one = await newWorld();
    git(one.workDir, "init", "-q", "-b", "main");
    git(one.workDir, "commit", "-q", "--allow-empty", "-m", "first");
    expect((await one.bash("git clone -q . clone && git worktree add -q tree")).exit).toEqual(DONE);
    expect((await one.bash("git -C clone status && git -C tree status")).exit).toEqual(DONE);
    expect(await one.bash("rm -rf clone && git worktree remove tree && git worktree prune")).toMatchObject({
      exit: DONE,
      refusals: [],
    });
    expect([existsSync(join(one.workDir, "clone")), existsSync(join(one.workDir, "tree"))]).toEqual([false, false]);
  });

  test("cannot remove a repository that existed before, unless that is granted", async () => {
    const one = await newWorld();
    one.file("ws/vendor/lib/file");
    git(join(one.workDir, "vendor/lib"), "init", "-q");
    const repository = join(one.workDir, "vendor/lib/.git");
    const { exit, refusals } = await one.bash("rm -rf vendor");
    expect(exit).not.toEqual(DONE);
    expect(refusals).toEqual([{ kind: "likely", what: "write" }]);
    expect(existsSync(join(repository, "config"))).toBe(true);
    expect((await one.bash("rm -rf vendor", { within: { write: [repository] } })).exit).toEqual(DONE);
    expect(existsSync(join(one.workDir, "vendor"))).toBe(false);
  });

  test("writes a protected file that does not exist yet if that is granted; if not written, none is left", async () => {
    const one = await newWorld();
    git(one.workDir, "init", "-q");
    const hook = join(one.workDir, ".git/hooks/pre-push");
    expect((await one.bash(`echo x >${hook}`)).exit).not.toEqual(DONE);
    expect((await one.bash("true", { within: { write: [hook] } })).exit).toEqual(DONE);
    expect(existsSync(hook)).toBe(false);
    expect((await one.bash(`echo x >${hook}`, { within: { write: [hook] } })).exit).toEqual(DONE);
    expect(readFileSync(hook, "utf8")).toBe("x\n");
  });

  test("runs although a granted path in the workspace is missing", async () => {
    const one = await newWorld();
    const config = join(one.workDir, ".git/config");
    expect(
      (await one.bash("echo A=1 >.env && cat .env", { within: { write: [config, join(one.workDir, ".env")] } })).output,
    ).toBe("A=1\n");
    expect(existsSync(join(one.workDir, ".git"))).toBe(false);
  });

  test.skipIf(process.getuid?.() !== 0)(
    "of root runs although somebody listens in a folder that he may not enter inside",
    async () => {
      const one = await newWorld();
      const closed = join(one.root, "private");
      mkdirSync(closed);
      const server = createServer().listen(join(closed, "socket"));
      try {
        chownSync(closed, 65_534, 65_534);
        chmodSync(closed, 0o700);
        const ran = await one.bash(`true; test -S ${closed}/socket || echo hidden`);
        expect(ran).toMatchObject({ exit: DONE, output: "hidden\n" });
      } finally {
        server.close();
      }
    },
  );

  test("has no variable that npm does not know", async () => {
    const one = await newWorld();
    one.file("ws/package-lock.json", "{}\n");
    const { output } = await one.bash("env | grep -i '^npm_config_'");
    expect(output).toContain("npm_config_cache=");
    expect(output).not.toContain("store_dir");
  });
});
