// `git push` and `git fetch` outside the sandbox: allowed always, as long as what git obeys is unchanged.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { local } from "../../src/machine/local/backend.ts";
import type { Approval, Decision } from "../../src/core/contract/decision.ts";
import { DISK } from "../../src/machine/git/disk.ts";
import { withFiles } from "../../src/machine/git/reader.ts";
import { transferDigest } from "../../src/machine/git/transfer.ts";
import { type Layout, layout } from "../support/layout.ts";

const ORIGIN = "https://127.0.0.1:9/ada/project.git";

interface Place extends Layout {
  git(...args: readonly string[]): string;
  put(path: string, content: string): string;
  /** Runs a command with a person who gives the answer. Resolves to the questions. */
  run(command: string, answer: Approval["answer"]): Promise<readonly Decision[]>;
}

async function place(): Promise<Place> {
  const world = await layout();
  const git = (...args: readonly string[]) =>
    execFileSync("git", ["-C", world.workDir, ...args], {
      encoding: "utf8",
      stdio: "pipe",
      env: { ...process.env, HOME: world.home, GIT_CEILING_DIRECTORIES: world.root },
    });
  git("init", "-q", "-b", "main", ".");
  git("remote", "add", "origin", ORIGIN);
  git("config", "user.email", "ada@example.org");
  git("config", "user.name", "Ada");
  git("commit", "-q", "--allow-empty", "-m", "one");
  return {
    ...world,
    git,
    put(path, content) {
      const at = path.startsWith("/") ? path : join(world.workDir, path);
      mkdirSync(dirname(at), { recursive: true });
      writeFileSync(at, content, { flag: "a" });
      chmodSync(at, 0o755);
      return at;
    },
    async run(command, answer) {
      const asked: Decision[] = [];
      const toolkit = await world.toolkit({
        preset: "coding",
        approver: async (_, decision) => {
          asked.push(decision);
          return { answer };
        },
      });
      await toolkit.call({ name: "bash", input: { command } });
      await toolkit.close();
      return asked;
    },
  };
}

const lengths = (asked: readonly Decision[]) =>
  asked.flatMap(({ scopes = [] }) => scopes.map(({ upTo = "always" }) => upTo));

/** What leads git elsewhere, or to another program. */
const CHANGES: readonly (readonly [what: string, change: (place: Place) => void])[] = [
  ["the URL", ({ git }) => git("remote", "set-url", "origin", "https://evil.example/x.git")],
  ["a URL for pushing", ({ git }) => git("config", "remote.origin.pushurl", "https://evil.example/x.git")],
  ["a URL that is a helper", ({ git }) => git("config", "remote.origin.pushurl", "ext::sh -c id")],
  ["a URL that is a folder", ({ git }) => git("remote", "set-url", "origin", "./bare.git")],
  ["a second remote that is a folder", ({ git }) => git("remote", "add", "other", "/srv/x")],
  ["a helper by its name", ({ git }) => git("config", "remote.origin.vcs", "evil")],
  ["a program at the other end", ({ git }) => git("config", "remote.origin.receivepack", "./receive")],
  ["another name for URLs", ({ git }) => git("config", "url.file:///srv/.insteadOf", "https://127.0.0.1:9/")],
  ["a hook", ({ put }) => put(".git/hooks/pre-push", "#!/bin/sh\n")],
  ["a hook of transactions", ({ put }) => put(".git/hooks/reference-transaction", "#!/bin/sh\n")],
  ["a folder of hooks", ({ git }) => git("config", "core.hooksPath", ".githooks")],
  ["a credential helper", ({ git }) => git("config", "credential.helper", "!sh tools/helper.sh")],
  ["a credential helper of one host", ({ git }) => git("config", "credential.https://x.helper", "store --file=a")],
  ["a program for ssh", ({ git }) => git("config", "core.sshCommand", "ssh -F ./config")],
  ["a program for passwords", ({ git }) => git("config", "core.askPass", "tools/ask")],
  ["a proxy", ({ git }) => git("config", "http.proxy", "http://evil.example:1")],
  ["an included file", ({ git }) => git("config", "include.path", "../shared")],
  ["an included file that comes later", ({ put }) => put("included", "[http]\n\tproxy = http://evil.example\n")],
  ["a conditional include", ({ git }) => git("config", "includeIf.onbranch:main.path", "../shared")],
  ["the person's configuration", ({ put, home }) => put(join(home, ".gitconfig"), "[http]\n\tproxy = x\n")],
  [
    "the person's other configuration",
    ({ put, home }) => put(join(home, ".config/git/config"), "[core]\n\tpager = x\n"),
  ],
  ["a configuration of the work tree", ({ put }) => put(".git/config.worktree", "[http]\n\tproxy = x\n")],
  ["a file of remotes as git had them once", ({ put }) => put(".git/remotes/origin", "URL: /srv/x\n")],
  ["the branch's remote", ({ git }) => git("config", "branch.main.remote", "../other")],
  ["the default for pushing", ({ git }) => git("config", "remote.pushDefault", "./bare.git")],
  ["a shared repository", ({ put }) => put(".git/commondir", "../other\n")],
  [
    "a link in place of the repository",
    ({ workDir, root }) => {
      renameSync(join(workDir, ".git"), join(root, "moved"));
      symlinkSync(join(root, "moved"), join(workDir, ".git"));
    },
  ],
  ["a hook's command in the configuration", ({ git }) => git("config", "hook.x.command", "sh x.sh")],
  [
    "a submodule with a helper",
    ({ git, put }) => {
      put("sub/.git/HEAD", "ref: refs/heads/main\n");
      mkdirSync(join(git("rev-parse", "--show-toplevel").trim(), "sub/.git/objects"));
      mkdirSync(join(git("rev-parse", "--show-toplevel").trim(), "sub/.git/refs"));
      put("sub/.git/config", "[core]\n\tsshCommand = ./evil\n");
      git("update-index", "--add", "--cacheinfo", `160000,${git("rev-parse", "HEAD").trim()},sub`);
    },
  ],
];

/** What is no matter of a push: content, branches, other hooks. */
const UNRELATED: readonly (readonly [what: string, change: (place: Place) => void])[] = [
  ["a commit", ({ git, put }) => git("add", put("src/a.ts", "x")) + git("commit", "-qm", "two")],
  ["a branch", ({ git }) => git("checkout", "-qb", "side")],
  ["a stash and a tag", ({ git, put }) => git("add", put("b", "x")) + git("stash", "-q") + git("tag", "v1")],
  ["attributes and ignored files", ({ put }) => put(".gitattributes", "* text\n") + put(".gitignore", "dist\n")],
  ["a hook of commits", ({ put }) => put(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n")],
  ["packed refs", ({ git }) => git("pack-refs", "--all")],
];

describe("git push and git fetch outside the sandbox", () => {
  const PUSH = "git push origin main";

  test("are granted always, and asked about again when another command, folder or setting comes", async () => {
    const world = await place();
    for (const command of [PUSH, "git fetch"]) {
      expect(lengths(await world.run(command, "always"))).toEqual(["always"]);
      expect(await world.run(command, "refuse")).toEqual([]);
    }
    expect(await world.run("git push origin side", "refuse")).toHaveLength(1);
    await world.folder("sub");
    expect(await world.run(`cd sub && ${PUSH}`, "refuse")).toHaveLength(1);
    world.git("config", "http.proxy", "http://evil.example");
    expect(await world.run(PUSH, "refuse")).toHaveLength(1);
    world.git("config", "--unset", "http.proxy");
    expect(await world.run(PUSH, "refuse")).toEqual([]); // as it was
  });

  const digests = async (world: Place) => {
    const files = (await local({ workDir: world.workDir, home: world.home, outputFolder: join(world.root, "outputs") }))
      .files;
    const given = { folder: world.workDir, remote: undefined, writable: [world.workDir], home: world.home };
    const [here, elsewhere] = [
      transferDigest(DISK, given),
      await withFiles(files, (reader) => transferDigest(reader, given)),
    ];
    expect(elsewhere).toBe(here); // the same on every backend
    return here;
  };

  test.each(CHANGES)("what they are bound to differs with %s", async (_, change) => {
    const world = await place();
    world.git("config", "include.path", "../included");
    const before = await digests(world);
    expect(before).toMatch(/^[0-9a-f]{64}$/);
    change(world);
    expect(await digests(world)).not.toBe(before);
  });

  test.each(UNRELATED)("what they are bound to is the same after %s", async (_, change) => {
    const world = await place();
    world.git("config", "core.hooksPath", ".git/hooks");
    const before = await digests(world);
    expect(before).toMatch(/^[0-9a-f]{64}$/);
    change(world);
    expect(await digests(world)).toBe(before);
  });

  test.each([
    ["with an option that removes or overwrites", "git push --force origin main"],
    ["with a refspec that overwrites", "git push origin +main"],
    ["with a refspec that deletes", "git push origin :main"],
    ["to a path", "git push ./bare.git main"],
    ["to a URL", "git push https://127.0.0.1:9/x.git main"],
    ["to a folder that has no remote's name", "git push bare main"],
    ["with a program at the other end", "git push --receive-pack=./x origin main"],
    ["with settings", "git -c http.proxy=http://evil.example push origin main"],
    ["of another repository", "git -C sub push origin main"],
    ["with a variable", "GIT_SSH_COMMAND=./ssh git push origin main"],
    ["that also merges", "git pull"],
    ["by a shell", "sh -c 'git push origin main'"],
  ])("are granted for a session at most %s", async (_, command) => {
    const world = await place();
    await world.folder("sub");
    expect(lengths(await world.run(command, "refuse")).filter((each) => each === "always")).toEqual([]);
  });
});
