// What a contained command can and cannot do, with the real bubblewrap. Skipped with a report if it is missing.
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ToolFailure } from "../../../src/core/contract/failure.ts";
import { startUpFile } from "../../../src/machine/places/start-up.ts";
import { mustBeHere, requireProgram } from "../../support/here.ts";
import { isAlive, until } from "../../support/until.ts";
import { type World, noSandbox, run, world, worldFolder } from "./world.ts";

mustBeHere("the sandbox", noSandbox);

const worlds: World[] = [];
afterAll(async () => {
  await Promise.all(worlds.map(({ backend }) => backend.close()));
});
const newWorld = async (...options: Parameters<typeof world>) => {
  const made = await world(...options);
  worlds.push(made);
  return made;
};

const failureOf = async (work: Promise<unknown>): Promise<ToolFailure> => {
  const error: unknown = await work.catch((reason: unknown) => reason);
  if (error instanceof ToolFailure) return error;
  throw new Error(`expected a ToolFailure, got ${String(error)}`);
};

describe.skipIf(noSandbox !== undefined)("a contained command", () => {
  let one: World;
  beforeAll(async () => {
    one = await newWorld({ isProtected: (path) => startUpFile(path) !== undefined });
  });

  test("the sandbox works here, under its name", async () => {
    expect(one.backend.name).toBe("sandbox(local)");
    expect(await one.backend.sandbox?.state()).toMatchObject({ works: true });
  });

  describe("ends as it would without a sandbox", () => {
    test.each([0, 1, 3, 126, 127, 128, 130, 137, 143, 255])("with exit code %i", async (code) => {
      expect((await one.bash(`exit ${code}`)).exit).toEqual({ how: "exited", code });
    });

    test.each(["TERM", "KILL", "HUP", "INT", "PIPE", "SEGV", "ABRT", "USR1"])("by SIG%s", async (signal) => {
      expect((await one.bash(`ulimit -c 0; kill -${signal} $$; sleep 1000`)).exit).toEqual({
        how: "signaled",
        signal: `SIG${signal}`,
      });
    });

    test("when it signals its own group", async () => {
      expect((await one.bash("trap 'exit 4' TERM; kill -TERM 0; sleep 1000")).exit).toEqual({ how: "exited", code: 4 });
      expect((await one.bash("kill -KILL 0")).exit).toEqual({ how: "signaled", signal: "SIGKILL" });
    });

    test("when one of its children is killed", async () => {
      expect((await one.bash("sh -c 'kill -9 $$'; exit $?")).exit).toEqual({ how: "exited", code: 137 });
    });

    test("when it times out", async () => {
      expect((await one.bash("sleep 1000", { timeoutMs: 300 })).exit).toMatchObject({ how: "timed-out" });
    });

    test("when it is stopped before or while it runs", async () => {
      expect((await failureOf(one.bash("touch ran", { signal: AbortSignal.abort() }))).message).toBe(
        "bash was stopped before it was started",
      );
      const stop = new AbortController();
      const running = one.bash("touch running; sleep 1000", { signal: stop.signal });
      await until("it runs", () => existsSync(join(one.workDir, "running")));
      stop.abort();
      expect((await running).exit).toEqual({ how: "aborted" });
      expect(existsSync(join(one.workDir, "ran"))).toBe(false);
    });
  });

  test.each<[string, Parameters<World["backend"]["spawn"]>[0], RegExp]>([
    [
      "a program that is not there",
      { argv: ["no-such-program"] },
      /^cannot start no-such-program: no such program on the PATH$/,
    ],
    ["a path that is not there", { argv: ["./none"] }, /^cannot start \.\/none: no such file/],
    ["a folder that is not there", { argv: ["true"], cwd: "none" }, /^cannot start true: there is no folder .*\/none$/],
    ["a file that is not executable", { argv: ["./plain"] }, /^cannot start \.\/plain: it is not executable/],
    ["a folder in place of a file", { argv: ["./folder"] }, /^cannot start \.\/folder: it is a folder$/],
    ["no name", { argv: [""] }, /^cannot start : /],
    ["a NUL byte in an argument", { argv: ["echo", "a\0b"] }, /^cannot start echo: .*null bytes/],
    ["a NUL byte in a variable", { argv: ["echo"], env: { A: "a\0--bind\0/\0/" } }, /^cannot start echo: .*null bytes/],
    ["too long arguments", { argv: ["echo", "x".repeat(3_000_000)] }, /^cannot start echo: its arguments are too long/],
  ])("%s is a failure in the words of the plain backend", async (_, command, message) => {
    one.file("ws/plain");
    mkdirSync(join(one.workDir, "folder"), { recursive: true });
    expect((await failureOf(one.backend.spawn(command))).message).toMatch(message);
  });

  test("its streams are separate or merged, its stdin is read, its bytes are unchanged", async () => {
    expect(await one.bash("echo out; echo err >&2", { streams: "split" })).toMatchObject({
      output: "out\n",
      errors: "err\n",
    });
    expect((await one.bash("for i in 1 2 3; do echo o$i; echo e$i >&2; done")).output).toBe("o1\ne1\no2\ne2\no3\ne3\n");
    expect((await one.bash("echo a >/dev/stderr; echo b | tee /dev/stderr; cat; echo $?")).output).toBe("a\nb\nb\n0\n");
    const child = await one.backend.spawn({ argv: ["cat"], stdin: "pipe" });
    await child.write("x".repeat(1_000_000));
    await child.endInput();
    expect(await child.exit).toEqual({ how: "exited", code: 0 });
    expect(child.output.size).toBe(1_000_000);
    await child.output.dispose();
  });

  test("its variables are passed only to it, and do not affect the programs around it", async () => {
    const { output } = await one.bash('echo "$A|$LD_PRELOAD|$HANDRAIL_SANDBOX|$TMPDIR"; env | grep -c "^B-B="', {
      env: { A: "1 \n2", LD_PRELOAD: "/nowhere/evil.so", "B-B": "odd", "": "no", HANDRAIL_SANDBOX: "x" },
    });
    expect(output).toMatch(/1 \n2\|\/nowhere\/evil.so\|x\|\/tmp\n/);
    expect(output).not.toMatch(/bwrap|perl:/);
  });

  test("it gets only its own three descriptors, and those of the processes around it lead nowhere", async () => {
    expect((await one.bash("for each in /proc/self/fd/*; do echo ${each##*/}; done; exit 0")).output).toMatch(
      /^0\n1\n2\n(\d+\n)?$/,
    );
    // The names of pipes are removed right after the start.
    const waiting = "while ls -l /proc/1/fd /proc/2/fd | grep -q 'handrail-pipes[^ ]*$'; do sleep 0.05; done";
    const { output } = await one.bash(`${waiting}; ls -l /proc/1/fd /proc/2/fd; exit 0`);
    const leading = [...output.matchAll(/-> (\/.*)/g)].map(([, to = ""]) =>
      to.replace(/^.*\/(handrail-pipes|sessions)/, "$1"),
    );
    const expected = /^(\/dev\/null|handrail-pipes.* \(deleted\)|sessions\/\w+\/\d+\.status)$/;
    expect(leading.filter((to) => !expected.test(to))).toEqual([]);
  });

  test("what it writes to the status channel does not change its reported exit status", async () => {
    const flood = "for fd in /proc/2/fd/6; do { yes 'ended 0' | head -c 1000000; } >>$fd; done; exit 9";
    expect((await one.bash(flood)).exit).toEqual({ how: "exited", code: 9 });
  });

  test("TERM reaches it and not its wrapper, so that it can clean up", async () => {
    const child = await one.backend.spawn({
      argv: ["bash", "-c", "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.05; done"],
    });
    await until("it is ready", async () => child.output.size > 0);
    await child.kill();
    expect(Buffer.from(await child.output.tail(100)).toString()).toMatch(/^ready\n(Terminated\n)?bye\n$/);
    expect(await child.exit).toEqual({ how: "exited", code: 5 });
  });

  test("one that ignores TERM is killed after the grace period, with all its processes", async () => {
    const child = await one.backend.spawn({
      argv: ["bash", "-c", "trap '' TERM; setsid sh -c 'echo; exec sleep 1000' & while :; do sleep 0.1; done"],
    });
    await until("it runs", () => child.output.size > 0);
    await child.kill();
    expect(await child.exit).toEqual({ how: "signaled", signal: "SIGKILL" });
  });

  test("what it leaves in the background ends with it, also after setsid and a double fork", async () => {
    const mark = `h${process.pid}-${Date.now()}`;
    const { exit } = await one.bash(
      `setsid sh -c 'exec -a ${mark} sleep 1000' & (setsid bash -c 'exec -a ${mark} sleep 1000 &' &); sleep 0.3; echo ok`,
    );
    expect(exit).toEqual({ how: "exited", code: 0 });
    await until("nothing of it runs", () => !processesNamed(mark));
  });

  describe("writes", () => {
    test("in the workspace and its private temporary folders, which only later commands see", async () => {
      const mine = `mine-${randomUUID()}`;
      const places = ["/tmp", "/var/tmp", "/dev/shm", "/run"].map((folder) => `${folder}/${mine}`);
      const made = await one.bash(
        `echo a >new && mkdir d && for each in ${places.join(" ")}; do echo b >$each || exit; done`,
      );
      expect(made.exit).toEqual({ how: "exited", code: 0 });
      expect(readFileSync(join(one.workDir, "new"), "utf8")).toBe("a\n");
      expect((await one.bash(`cat ${places.slice(0, 2).join(" ")}`)).output).toBe("b\nb\n");
      expect(places.filter((place) => existsSync(place))).toEqual([]);
    });

    test("nowhere else: not next to it, not through a link made inside, not in the machine's settings", async () => {
      const other = one.file("other/file");
      const script = await Promise.all(
        [
          `echo x >${other}`,
          `echo x >/etc/handrail-test`,
          `ln -s ${other} link && echo x >link`,
          "echo x >/proc/sys/kernel/hostname",
          "echo core >/proc/sys/kernel/core_pattern",
          "hostname changed && false",
          `rm -rf ${one.home}`,
        ].map(async (line) => [line, (await one.bash(line)).exit] as const),
      );
      for (const [line, exit] of script) expect([line, exit]).not.toEqual([line, { how: "exited", code: 0 }]);
      expect(readFileSync(other, "utf8")).toBe("content\n");
      expect(existsSync("/etc/handrail-test")).toBe(false);
      expect(existsSync(one.home)).toBe(true);
    });

    test("to granted paths: a file, a folder; not to the folder above it, and none is created for it", async () => {
      const file = one.file("granted/file");
      const beside = one.file("granted/beside");
      const made = join(one.root, "granted", "made");
      await expect(one.bash("true", { within: { write: [`${made}/`] } })).rejects.toThrow(/made: it does not exist/);
      expect(existsSync(made)).toBe(false);
      mkdirSync(made);
      const { output } = await one.bash(`echo x >${file}; echo x >${beside}; echo x >${made}/new; ls ${made}`, {
        within: { write: [file, `${made}/`] },
      });
      expect(output).toMatch(/beside: Read-only file system\nnew\n$/);
      expect([readFileSync(file, "utf8"), readFileSync(beside, "utf8")]).toEqual(["x\n", "content\n"]);
      expect(
        (await failureOf(one.bash("true", { within: { write: [join(one.root, "granted/none")] } }))).message,
      ).toMatch(/granted\/none: it does not exist$/);
      expect((await one.bash(`echo y >${file}`)).exit).not.toEqual({ how: "exited", code: 0 });
    });

    test("everywhere if it is not contained", async () => {
      const other = one.file("other/free");
      expect((await one.bash(`echo free >${other}`, { within: "none" })).exit).toEqual({ how: "exited", code: 0 });
      expect(readFileSync(other, "utf8")).toBe("free\n");
    });
  });

  describe("reads", () => {
    test("no secrets of the home or the user's own hidden paths, until they are opened for it", async () => {
      const two = await newWorld({ hidden: ["~/mine", "~/mine.txt"] });
      const secrets = [
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".config/gh/hosts.yml",
        ".config/git/credentials",
        ".npmrc",
        ".netrc",
        "mine/a",
        "mine.txt",
      ];
      for (const name of secrets) two.file(join("home", name), "secret\n");
      const settings = two.file("home/.config/git/config", "[user]\n\tname = Somebody\n");
      two.file("home/plain", "plain\n");
      const all = await two.bash(
        `cd ~ && cat ${secrets.join(" ")}; cat plain; git config --global user.name; ls -a ~/.config ~/.ssh ~/mine`,
      );
      expect(all.output).not.toMatch(/secret/);
      expect(all.output).toMatch(/plain\nSomebody\n/);
      expect(all.output).toMatch(/\.ssh\/id_ed25519: Permission denied/);
      expect(all.output).toMatch(/\.config:\n\.\n\.\.\ngit\n/);
      expect(readFileSync(settings, "utf8")).toMatch("Somebody");
      const opened = await two.bash(
        "cd ~ && cat .ssh/id_ed25519 mine.txt mine/a; echo x >mine/a; cat .aws/credentials",
        {
          within: { read: [join(two.home, ".ssh"), join(two.home, "mine.txt"), join(two.home, "mine/a")] },
        },
      );
      expect(opened.output).toMatch(/^secret\nsecret\nsecret\n.*Read-only file system\n.*Permission denied\n$/s);
      expect(two.backend.sandbox?.hidden).toEqual(
        expect.arrayContaining([join(two.home, ".ssh"), join(two.home, "mine"), two.folder]),
      );
    });

    test("paths opened for reading in a writable home are read-only", async () => {
      const two = await newWorld({ workDir: "home" });
      const key = two.file("home/.ssh/key", "secret\n");
      const { output } = await two.bash(`cat ${key}; echo x >${key}`, { within: { read: [join(two.home, ".ssh")] } });
      expect(output).toMatch(/^secret\n.*Read-only file system\n$/);
    });

    test("none of the sandbox's own files, and no process of the machine", async () => {
      const { output } = await one.bash(
        `ls ${one.folder} ${one.folder}/sessions; ls -d /proc/[0-9]* | wc -l; cat /proc/${process.pid}/environ`,
      );
      expect(output).toMatch(/cannot open directory .*sandbox': Permission denied/);
      expect(output).toMatch(/sessions': (No such file|Permission denied)/);
      expect(Number(/^\d+$/m.exec(output)?.[0])).toBeLessThan(12);
      expect(output).toMatch(/environ: No such file/);
    });

    test("no home that is a link, and no secrets that are links", async () => {
      const root = worldFolder();
      mkdirSync(join(root, "real-home"));
      mkdirSync(join(root, "elsewhere"));
      writeFileSync(join(root, "elsewhere/key"), "secret\n");
      symlinkSync(join(root, "real-home"), join(root, "home"));
      symlinkSync(join(root, "elsewhere"), join(root, "real-home/.ssh"));
      const two = await newWorld({ root });
      expect((await two.bash(`cat ~/.ssh/key ${root}/elsewhere/key ${root}/real-home/.ssh/key`)).output).not.toMatch(
        /secret/,
      );
    });
  });

  describe("a workspace anywhere", () => {
    test.each(["ws", "home", "home/.config/project", "home/.ssh/project"])(
      "at %s works, and what is hidden around it stays hidden",
      async (workDir) => {
        const two = await newWorld({ workDir });
        two.file("home/.ssh/key", "secret\n");
        two.file("home/.config/token", "secret\n");
        two.file("home/.aws/credentials", "secret\n");
        const { output, exit } = await two.bash(
          "pwd; echo x >made; cat made; cat ~/.ssh/key ~/.config/token ~/.aws/credentials; ls ..; exit 0",
        );
        expect(exit).toEqual({ how: "exited", code: 0 });
        expect(output.startsWith(`${two.workDir}\nx\n`)).toBe(true);
        expect(output).not.toMatch(/secret/);
        expect(readFileSync(join(two.workDir, "made"), "utf8")).toBe("x\n");
      },
    );

    test.each(["/var/tmp", "/run", "/dev/shm"])("under %s works", async (folder) => {
      try {
        chmodSync(folder, existsSync(folder) ? 0o1777 & (await import("node:fs")).statSync(folder).mode : 0);
      } catch {
        // not ours
      }
      let root: string;
      try {
        root = execFileSync("mktemp", ["-d", `${folder}/handrail-test-XXXXXX`], {
          encoding: "utf8",
          stdio: ["ignore", "pipe", "ignore"],
        }).trim();
      } catch {
        return; // an ordinary user may not write there
      }
      try {
        const two = await newWorld({ root });
        expect((await two.bash("echo x >made; cat made; ls -A ../..")).output).toMatch(
          /^x\nhandrail-test-\w+\n$|^x\n(.*\n)*handrail-test-\w+\n/,
        );
        expect(existsSync(join(two.workDir, "made"))).toBe(true);
        await two.backend.close();
      } finally {
        execFileSync("rm", ["-rf", root]);
      }
    });

    test("that is the whole machine has no sandbox, with a message", async () => {
      const two = await newWorld({ root: worldFolder(), required: false });
      const { local } = await import("../../../src/machine/local/backend.ts");
      const { sandbox } = await import("../../../src/machine/sandbox/sandbox.ts");
      const inner = await local({ workDir: "/", home: two.home, outputFolder: join(two.root, "outputs") });
      const whole = await sandbox(inner, { folder: two.folder });
      expect(await whole.sandbox?.state()).toMatchObject({
        works: false,
        reason: expect.stringMatching("whole machine"),
      });
      expect((await run(whole, ["true"])).exit).toEqual({ how: "exited", code: 0 });
      const strict = await sandbox(inner, { folder: two.folder, required: true });
      const failure = await failureOf(strict.spawn({ argv: ["true"] }));
      expect(failure.message).toMatch(
        /^cannot start true: the sandbox is required but does not work here\. The working directory is \//,
      );
      expect(failure.hint).toMatch("folder of a project");
      await strict.close();
    });
  });

  describe("protected files", () => {
    test("cannot be written, moved or replaced, until they are named", async () => {
      const two = await newWorld({ isProtected: (path) => startUpFile(path) !== undefined });
      two.file("ws/.vscode/settings.json");
      two.file("ws/sub/.cargo/config.toml");
      two.file("ws/handrail.yaml");
      const settings = join(two.workDir, ".vscode/settings.json");
      const { output } = await two.bash(
        "echo x >.vscode/settings.json; echo x >.vscode/new; mv .vscode away; mv sub/.cargo sub/away; mv sub away; echo x >handrail.yaml; rm -f handrail.yaml; echo x >sub/ordinary",
      );
      expect(output.trim().split("\n")).toHaveLength(7);
      expect([
        readFileSync(settings, "utf8"),
        readdirSync(two.workDir).toSorted(),
        readdirSync(join(two.workDir, "sub")).toSorted(),
      ]).toEqual(["content\n", [".vscode", "handrail.yaml", "sub"], [".cargo", "ordinary"]]);
      expect((await two.bash("echo x >.vscode/settings.json", { within: { write: [settings] } })).exit).toEqual({
        how: "exited",
        code: 0,
      });
      expect(readFileSync(settings, "utf8")).toBe("x\n");
    });

    test("that a command creates are read-only from the next command on", async () => {
      const two = await newWorld({ isProtected: (path) => startUpFile(path) !== undefined });
      expect((await two.bash("mkdir .husky && echo x >.husky/pre-commit")).exit).toEqual({ how: "exited", code: 0 });
      expect((await two.bash("echo y >.husky/pre-commit")).output).toMatch("Read-only file system");
    });
  });

  describe("a repository", () => {
    const git = (folder: string, ...args: readonly string[]) =>
      execFileSync("git", ["-C", folder, "-c", "user.name=T", "-c", "user.email=t@example.org", ...args], {
        stdio: "pipe",
        encoding: "utf8",
      });
    const commit =
      "git add -A && git -c user.name=T -c user.email=t@example.org commit -qm work && git log --oneline | wc -l";

    test("is usable: add, commit, branch, stash, merge", async () => {
      const two = await newWorld({ isProtected: (path) => startUpFile(path) !== undefined });
      git(two.workDir, "init", "-q", "-b", "main");
      two.file("ws/a");
      const ran = await two.bash(
        `${commit} && git checkout -qb other && echo b >b && ${commit} && git checkout -q main && git merge -q other && echo c >>a && git stash -q -m x 2>&1; git status --short`,
        {
          env: {
            GIT_COMMITTER_NAME: "T",
            GIT_COMMITTER_EMAIL: "t@example.org",
            GIT_AUTHOR_NAME: "T",
            GIT_AUTHOR_EMAIL: "t@example.org",
          },
        },
      );
      expect(ran).toMatchObject({ exit: { how: "exited", code: 0 }, output: "1\n2\n" });
    });

    test("keeps its configuration, hooks and place; what would redirect it is removed and reported", async () => {
      const two = await newWorld();
      git(two.workDir, "init", "-q");
      execFileSync("rm", ["-rf", join(two.workDir, ".git/hooks")]);
      const ran = await two.bash(
        "git config core.fsmonitor evil; echo x >>.git/config; echo x >.git/hooks/pre-commit; mv .git away; mv .git/config .git/c2; rm -rf .git/hooks; mkdir evil; echo ../evil >.git/commondir; echo x >.git/config.worktree; true",
      );
      expect(readFileSync(join(two.workDir, ".git/config"), "utf8")).not.toMatch(/evil|^x$/m);
      expect(readdirSync(join(two.workDir, ".git/hooks"))).toEqual([]);
      expect([
        existsSync(join(two.workDir, ".git/commondir")),
        existsSync(join(two.workDir, ".git/config.worktree")),
      ]).toEqual([false, false]);
      expect(ran.refusals).toEqual(
        expect.arrayContaining([
          { kind: "held-back", path: join(two.workDir, ".git/commondir") },
          { kind: "held-back", path: join(two.workDir, ".git/config.worktree") },
        ]),
      );
      const config = join(two.workDir, ".git/config");
      expect((await two.bash("git config user.name Granted", { within: { write: [config] } })).exit).toEqual({
        how: "exited",
        code: 0,
      });
      expect(readFileSync(config, "utf8")).toMatch("Granted");
    });

    test("of a linked worktree is usable too, if it knows the workspace", async () => {
      const root = worldFolder();
      const main = join(root, "main");
      mkdirSync(main);
      git(main, "init", "-q", "-b", "main");
      git(main, "commit", "-q", "--allow-empty", "-m", "first");
      git(main, "worktree", "add", "-q", join(root, "ws"), "-b", "side");
      const two = await newWorld({ root });
      two.file("ws/a");
      expect(await two.bash(commit)).toMatchObject({ exit: { how: "exited", code: 0 }, output: "2\n" });
      const { output } = await two.bash(
        `echo x >>${main}/.git/config; echo x >${main}/.git/hooks/post-commit; echo x >${main}/file; echo x >.git; true`,
      );
      expect(output.match(/Read-only file system/g)).toHaveLength(4);
      const stranger = join(root, "stranger");
      mkdirSync(stranger);
      writeFileSync(join(stranger, ".git"), readFileSync(join(root, "ws/.git")));
      const three = await newWorld({ root, workDir: "stranger" });
      expect((await three.bash(`touch ${main}/.git/made`)).output).toMatch("Read-only file system");
    });
  });

  describe("the network", () => {
    test("is absent, but one command reaches a server of another", async () => {
      const server = createServer((socket) => socket.end("outside"));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as { port: number };
      const { output } = await one.bash(
        `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3; exec 3<>/dev/tcp/1.1.1.1/80; cat /proc/net/dev | grep -c :`,
      );
      expect(output).not.toMatch("outside");
      expect(output).toMatch(/\n1\n$/);
      server.close();
    });

    test("sockets of others are not reached through their files", async () => {
      requireProgram("perl");
      const two = await newWorld();
      const listen = async (path: string) => {
        mkdirSync(join(path, ".."), { recursive: true });
        const server = createServer((socket) => socket.end("reached\n"));
        await new Promise<void>((resolve) => server.listen(path, resolve));
        return server;
      };
      const outside = await listen(join(two.root, "other/agent.sock"));
      const inside = await listen(join(two.workDir, "own.sock"));
      const connect = (path: string) =>
        `perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un("${path}")) or die "$!\\n"; print <S>'`;
      for (const path of [join(two.workDir, "own.sock"), join(two.root, "other/agent.sock")])
        expect((await two.bash(connect(path))).output).toMatch(/refused|[Dd]enied|No such file/);
      Object.assign(process.env, { SSH_AUTH_SOCK: join(two.root, "other/agent.sock"), OTHER: "other" });
      const three = await newWorld({ root: two.root, passEnv: ["SSH_AUTH_SOCK", "OTHER"] });
      expect((await three.bash('echo "$SSH_AUTH_SOCK$OTHER"')).output).toBe("other\n");
      outside.close();
      inside.close();
    });
  });

  test("does not affect the backend's own search and files", async () => {
    one.file("ws/needle.txt", "needle\n");
    const query = { path: one.workDir, pattern: "needle", maxMatches: 9, maxCharacters: 9 };
    expect((await one.backend.search(query)).matches).toBe(1);
    expect((await one.backend.files.stat("needle.txt"))?.size).toBe(7);
  });

  test("package managers have private caches that persist, the home is read-only", async () => {
    const two = await newWorld();
    const { output } = await two.bash('echo "$npm_config_cache"; echo x >"$XDG_CACHE_HOME/kept"; mkdir -p ~/.cache/x');
    const [cache = ""] = output.split("\n");
    expect(cache.startsWith(`${two.folder}/caches/`)).toBe(true);
    expect(output).toMatch("Read-only file system");
    await two.backend.close();
    expect((await (await newWorld({ root: two.root })).bash('cat "$XDG_CACHE_HOME/kept"')).output).toBe("x\n");
  });

  test("what a command plants in a private cache is in no cache of the same program outside", async () => {
    const two = await newWorld({ passEnv: Object.keys(process.env).filter((name) => /cache/i.test(name)) });
    for (const script of ["echo ${XDG_CACHE_HOME:-$HOME/.cache}", "npm config get cache"]) {
      const plant = `folder=$(${script}) && mkdir -p "$folder" && echo planted >"$folder/planted" && echo "$folder"`;
      const inside = (await two.bash(plant)).output.trim();
      expect(readFileSync(join(inside, "planted"), "utf8")).toBe("planted\n");
      expect(inside.startsWith(`${two.folder}/caches/`), inside).toBe(true);
      const outside = await two.bash(`folder=$(${script}); echo "$folder"; ls "$folder"`, { within: "none" });
      expect(outside.output).not.toMatch(/planted|\/caches\//);
      expect(outside.output).toMatch(/^\/\S+\n/);
    }
    expect((await two.bash("env", { within: "none" })).output).not.toContain(`${two.folder}/`);
  });

  test("the user's own caches are read until something is downloaded", async () => {
    const two = await newWorld();
    two.file("home/.cargo/registry/index");
    expect((await two.bash('echo "[$CARGO_HOME]"')).output).toBe("[]\n");
    expect((await two.bash('echo "[$GOMODCACHE]"')).output).toMatch("/caches/");
  });

  test("hard links to files outside cannot be made", async () => {
    const other = one.file("other/linked");
    expect((await one.bash(`ln ${other} hard`)).exit).not.toEqual({ how: "exited", code: 0 });
    expect(() => linkSync(other, join(one.root, "other/again"))).not.toThrow();
  });
});

describe.skipIf(noSandbox !== undefined)("closing", () => {
  test("ends jobs and removes the temporary files", async () => {
    const one = await newWorld();
    const child = await one.backend.spawn({ argv: ["bash", "-c", "echo; sleep 1000"] });
    await until("it runs", () => child.output.size > 0);
    expect(readdirSync(join(one.folder, "sessions"))).toHaveLength(1);
    await one.backend.close();
    expect(await isAlive(Number(child.id))).toBe(false);
    expect(readdirSync(join(one.folder, "sessions"))).toEqual([]);
    expect((await failureOf(one.backend.spawn({ argv: ["true"] }))).message).toMatch("the backend is closed");
  });

  test("leaves nothing open and none of a command's files", async () => {
    const one = await newWorld();
    await one.bash("true");
    const count = () => readdirSync("/proc/self/fd").length;
    const [session = ""] = readdirSync(join(one.folder, "sessions"));
    const reports = () =>
      readdirSync(join(one.folder, "sessions", session)).filter((name) => /^\d+\.status$/.test(name));
    const isReady = (name: string) =>
      /^ready$/m.test(readFileSync(join(one.folder, "sessions", session, name), "utf8"));
    await until("the next sandbox waits", () => reports().some(isReady));
    const before = count();
    for (let round = 0; round < 5; round++) await one.bash("echo x; exit 1");
    await until("all is closed", () => count() <= before);
    expect(
      readdirSync(join(one.folder, "sessions", session)).filter((name) => /^\d+\.(args|status)$/.test(name)).length,
    ).toBeLessThanOrEqual(4); // of the test of the sandbox, and of the next sandbox, which waits
  });

  test("keeps a detached command running, contained, and able to clean up", async () => {
    const one = await newWorld();
    const job = await one.backend.spawn({
      argv: [
        "bash",
        "-c",
        "trap 'echo bye; exit' TERM; echo y >/etc/handrail-test; echo x >/tmp/mine; echo ready; while :; do sleep 0.05; cat /tmp/mine >>beats; done",
      ],
      lifetime: "detached",
      label: "beats",
    });
    const beats = () => (existsSync(join(one.workDir, "beats")) ? readFileSync(join(one.workDir, "beats")).length : 0);
    await until("it runs", () => beats() > 0);
    await one.backend.close();
    const before = beats();
    await until("it goes on", () => beats() > before + 4);
    const two = await one.again();
    worlds.push(two);
    await two.bash("true"); // removes what is left over
    const kept = beats();
    await until("it goes on with its own temporary files", () => beats() > kept + 4);
    const [listed] = (await two.backend.detached?.list()) ?? [];
    expect(listed?.id).toBe(job.id);
    await listed?.process.kill();
    expect(Buffer.from((await listed?.process.output.tail(1_000)) ?? []).toString()).toMatch(
      /Read-only file system\nready\n(Terminated\n)?bye\n$/,
    );
    const three = await one.again();
    worlds.push(three);
    await three.bash("true");
    expect(readdirSync(join(one.folder, "sessions"))).toHaveLength(2);
  });
});

function processesNamed(mark: string): boolean {
  return readdirSync("/proc").some((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, "latin1").startsWith(mark);
    } catch {
      return false;
    }
  });
}
