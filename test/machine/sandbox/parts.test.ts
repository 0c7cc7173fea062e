// Parts of the sandbox that only look and decide: no sandbox is needed.
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { privateCaches } from "../../../src/machine/sandbox/session/caches.ts";
import { exitInside } from "../../../src/machine/sandbox/wrap/exit-status.ts";
import { hiddenPaths } from "../../../src/machine/sandbox/mounts/hidden.ts";
import { protectedFinder } from "../../../src/machine/sandbox/mounts/protected.ts";
import { putAside } from "../../../src/machine/sandbox/mounts/put-aside.ts";
import { heldRepository } from "../../../src/machine/sandbox/mounts/repositories.ts";
import { socketNames } from "../../../src/machine/sandbox/mounts/sockets.ts";
import { DISK } from "../../../src/machine/git/disk.ts";
import { linkedWorktree } from "../../../src/machine/git/folders.ts";
import { thisProcess } from "../../../src/machine/programs/process-identity.ts";
import { until } from "../../support/until.ts";
import { temporaryFolder } from "../../support/workspace.ts";

const made = (files: readonly string[]): string => {
  const root = temporaryFolder();
  for (const file of files) {
    mkdirSync(join(root, file, ".."), { recursive: true });
    writeFileSync(join(root, file), "x");
  }
  return root;
};

describe("protected files", () => {
  const find = (root: string, isProtected = (path: string) => /\/secret(\/|$)/.test(path)) =>
    protectedFinder(isProtected).find(root);

  test("are found at any depth, also repositories, except in node_modules or behind links", () => {
    const root = made([
      "secret",
      "a/b/c/secret",
      "a/b/c/d/secret",
      "node_modules/secret",
      "a/secret/inner",
      "sub/.git/HEAD",
      "target/secret",
    ]);
    symlinkSync(join(root, "target"), join(root, "a/link"));
    const { paths, repositories } = find(root);
    expect(paths).toEqual(
      ["secret", "a/secret", "target/secret", "a/b/c/secret", "a/b/c/d/secret"].map((path) => join(root, path)),
    );
    expect(repositories).toEqual([join(root, "sub")]);
  });

  test("are found among many; with more than 400, whole folders of the root are protected", () => {
    const folders = Array.from({ length: 450 }, (_, n) => `f${String(n).padStart(3, "0")}`);
    const root = made([...folders.map((name) => `${name}/a/secret`), "secret"]);
    const { paths } = find(root);
    expect(paths).toHaveLength(451);
    expect(paths).toContain(join(root, "secret"));
    expect(paths).toContain(join(root, "f000/a/secret"));
    expect(paths).toContain(join(root, "f449"));
  });

  test("that are added and removed are noticed the next time, also within one clock tick", () => {
    const root = made(["a/plain"]);
    const finder = protectedFinder((path) => path.endsWith("/secret"));
    for (let round = 0; round < 20; round++) {
      expect(finder.find(root).paths).toEqual([]);
      writeFileSync(join(root, "a/secret"), "");
      expect(finder.find(root).paths).toEqual([join(root, "a/secret")]);
      rmSync(join(root, "a/secret"));
    }
  });

  test("of folders without recent changes are not read again, whatever their modification time", async () => {
    const root = made(["a/plain"]);
    const changed = Math.max(...[root, join(root, "a")].map((folder) => statSync(folder).ctimeMs));
    await until("they have not changed for long", () => Date.now() - changed > 200);
    let asked = 0;
    const finder = protectedFinder((path) => ((asked += 1), path.endsWith("/secret")));
    finder.find(root);
    finder.find(root);
    expect(asked).toBe(2);
    const { atime, mtime } = statSync(join(root, "a"));
    writeFileSync(join(root, "a/secret"), "");
    utimesSync(join(root, "a"), atime, mtime);
    expect(finder.find(root).paths).toEqual([join(root, "a/secret")]);
  });

  test("of a missing folder are none", () => {
    expect(find("/no/such/folder")).toEqual({ paths: [], all: [], repositories: [], sensitive: [], old: [] });
  });
});

test("sockets with a listener are read from the kernel's list: no abstract ones, no clients", () => {
  const listing = `Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 20001 /run/docker.sock
0000000000000000: 00000002 00000000 00010000 0005 01 20002 /run/udev/control with space
0000000000000000: 00000003 00000000 00000000 0001 03 20003 /run/docker.sock
0000000000000000: 00000003 00000000 00000000 0001 03 20004 /srv/client.sock
0000000000000000: 00000002 00000000 00000000 0002 01 20005 /run/systemd/notify
0000000000000000: 00000002 00000000 00010000 0001 01 20006 @/tmp/.X11-unix/X0
0000000000000000: 00000003 00000000 00000000 0001 03 20007
`;
  expect(socketNames(listing).map(({ name }) => name)).toEqual([
    "/run/docker.sock",
    "/run/udev/control with space",
    "/run/systemd/notify",
  ]);
  expect(socketNames("")).toEqual([]);
});

describe("how a contained command ended", () => {
  const status = (text: string): string => {
    const file = join(temporaryFolder(), "status");
    writeFileSync(file, text);
    return file;
  };
  const started = '{ "child-pid": 7 }\n{ "exit-code": 143 }\n';
  const exited = (code: number) => ({ how: "exited", code }) as const;

  test.each([
    ["the watcher's word counts: an exit code", `${started}ended ${143 << 8}\n`, exited(143), exited(143)],
    [
      "the watcher's word counts: a signal",
      `${started}ended 15\n`,
      exited(143),
      { how: "signaled", signal: "SIGTERM" },
    ],
    [
      "the watcher's word counts: a core was left",
      `${started}ended 139\n`,
      exited(139),
      { how: "signaled", signal: "SIGSEGV" },
    ],
    ["without a watcher, bwrap's: a signal", started, exited(143), { how: "signaled", signal: "SIGTERM" }],
    ["without a watcher, bwrap's: no signal has that number", started, exited(255), exited(255)],
    ["without a watcher, bwrap's: an exit code", started, exited(3), exited(3)],
    ["what ended it from outside stays", started, { how: "timed-out", afterMs: 5 }, { how: "timed-out", afterMs: 5 }],
    [
      "nothing was started",
      "",
      exited(1),
      { how: "lost", reason: "the sandbox could not be set up, so nothing ran: bwrap: Can't find source path /x" },
    ],
    [
      "the program was not there inside",
      `${started}failed No such file or directory\n`,
      exited(127),
      { how: "lost", reason: "prog could not be started in the sandbox: No such file or directory" },
    ],
  ] as const)("%s", (_, text, exit, expected) => {
    expect(exitInside(exit, "prog", status(text), "note\nbwrap: Can't find source path /x\n")).toEqual(expected);
  });
});

describe("repositories", () => {
  test("a folder that is no repository, a link and a foreign pointer get nothing", () => {
    const root = made(["plain/a", "other/.git/HEAD", "pointer/.git"]);
    mkdirSync(join(root, "link"));
    symlinkSync(join(root, "other/.git"), join(root, "link/.git"));
    writeFileSync(join(root, "pointer/.git"), `gitdir: ${join(root, "other/.git")}\n`);
    const heldIn = (folder: string) => {
      const { writable, readOnly, watched } = heldRepository({ ...DISK, isHere: true }, join(root, folder));
      return [...writable, ...readOnly, ...watched];
    };
    expect(heldIn("plain")).toEqual([]);
    expect(heldIn("link")).toEqual([]);
    expect(linkedWorktree(DISK, join(root, "pointer"))).toBeUndefined();
    expect(heldIn("pointer")).toEqual([join(root, "pointer/.git")]);
  });

  test("what is put aside keeps its content under a free name; a link is removed; its target is unchanged", () => {
    const root = made(["a", "b/c", "b.held-back", "other/d"]);
    symlinkSync(join(root, "other"), join(root, "link"));
    expect(["a", "b", "none", "link/d", "link"].map((name) => putAside(join(root, name)))).toEqual([
      true,
      true,
      false,
      false,
      true,
    ]);
    expect(readdirSync(root, { recursive: true, encoding: "utf8" }).toSorted()).toEqual([
      "a.held-back",
      "b.held-back",
      "b.held-back-2",
      "b.held-back-2/c",
      "other",
      "other/d",
    ]);
  });
});

test("hidden paths are real paths, keep workspace and home visible, with or without missing ones", () => {
  const root = made(["home/.config/git/config", "elsewhere/key"]);
  symlinkSync(join(root, "elsewhere"), join(root, "home/.ssh"));
  const base = { workDir: join(root, "home"), home: join(root, "home") };
  const all = hiddenPaths(["~", "/", "~/mine"], base, "all");
  const paths = all.hidden.map(({ path }) => path);
  expect(paths).toEqual(
    expect.arrayContaining([join(root, "elsewhere"), join(root, "home/mine"), join(root, "home/.aws")]),
  );
  expect(paths).not.toEqual(expect.arrayContaining(["/"]));
  expect(paths).not.toEqual(expect.arrayContaining([base.home]));
  expect(all.reopened).toEqual([join(root, "home/.config/git")]);
  expect(hiddenPaths(["~/mine"], base, "existing").hidden.map(({ path }) => path)).toEqual(
    expect.not.arrayContaining([join(root, "home/mine"), join(root, "home/.aws")]),
  );
});

test("caches of one workspace are not those of another, and are created on request", () => {
  const root = made(["home/.m2/repository/x"]);
  const at = (workDir: string) => privateCaches({ folder: join(root, "s"), workDir, home: join(root, "home") });
  const [one, other] = [at("/one"), at("/other")];
  expect(one.folder).not.toBe(other.folder);
  expect(one.environment(false)["MAVEN_ARGS"]).toBeUndefined();
  expect(one.environment(true)["MAVEN_ARGS"]).toBe(`-Dmaven.repo.local=${one.folder}/maven`);
  expect(one.environment(false)["MAVEN_ARGS"]).toBe(`-Dmaven.repo.local=${one.folder}/maven`);
  expect(other.environment(false)["npm_config_cache"]).toBe(`${other.folder}/npm`);
});

test("caches over the cap are removed, those unused for longest first, and none that a process uses", async () => {
  const root = made(["home/x"]);
  const caches = join(root, "s/caches");
  const open = (workDir: string) => privateCaches({ folder: join(root, "s"), workDir, home: join(root, "home") });
  const filled = ["/oldest", "/used", "/newest"].map((workDir, place) => {
    const opened = open(workDir);
    mkdirSync(join(opened.folder, "npm"));
    writeFileSync(join(opened.folder, "npm/package.tgz"), Buffer.alloc(300_000, "x"));
    if (workDir !== "/used") opened.use.end();
    const at = 1_000 + place;
    utimesSync(`${opened.folder}.used`, at, at);
    return opened;
  });
  const [oldest, used, newest] = filled;
  const isThere = () => filled.map(({ folder }) => existsSync(join(folder, "npm")));
  await used?.use.cap(1_000_000);
  expect(isThere()).toEqual([true, true, true]);
  rmSync(join(caches, "measured"));
  await oldest?.use.cap(400_000);
  expect(isThere()).toEqual([false, true, true]);
  // What was too much of a workspace in use is removed when it is used next, unless another process uses it then.
  open("/used").use.end();
  expect(isThere()).toEqual([false, true, true]);
  used?.use.end();
  writeFileSync(`${newest?.folder}.user.dead`, JSON.stringify({ ...thisProcess(), processStart: "1" }));
  open("/used").use.end();
  expect(isThere()).toEqual([false, false, true]);
  rmSync(join(caches, "measured"));
  await newest?.use.cap(1);
  expect(isThere()).toEqual([false, false, false]);
  expect(existsSync(join(caches, "aside"))).toBe(false);
});
