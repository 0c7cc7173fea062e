// What was judged or mounted is replaced before it is used: links in place of folders, between two commands or before
// one.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { ToolFailure } from "../../../src/core/contract/failure.ts";
import { mustBeHere, requireProgram } from "../../support/here.ts";
import { until } from "../../support/until.ts";
import { type World, noSandbox, world } from "./world.ts";

const worlds: World[] = [];
afterAll(async () => {
  await Promise.all(worlds.map(({ backend }) => backend.close()));
});
const newWorld = async (...options: Parameters<typeof world>) => {
  const made = await world(...options);
  worlds.push(made);
  return made;
};

mustBeHere("the sandbox", noSandbox);

describe.skipIf(noSandbox !== undefined)("a link in the place of", () => {
  let one: World;
  let outside: string;
  beforeEach(async () => {
    one = await newWorld();
    outside = dirname(one.file("outside/file"));
  });

  test("a granted folder opens nothing, for writing or reading", async () => {
    const key = one.file("home/.ssh/key", "secret\n");
    const granted = join(one.root, "granted");
    mkdirSync(granted);
    const write = { within: { write: [granted] } };
    expect((await one.bash(`echo x >${granted}/new`, write)).exit).toEqual({ how: "exited", code: 0 });
    rmSync(granted, { recursive: true });
    symlinkSync(outside, granted);
    await expect(one.bash(`echo x >${granted}/new`, write)).rejects.toThrow(ToolFailure);
    await expect(one.bash(`echo x >${granted}/new/new`, { within: { write: [`${granted}/new/`] } })).rejects.toThrow(
      /does not open .*granted\/new\/ .*outside\/new/,
    );
    expect(readdirSync(outside)).toEqual(["file"]);
    rmSync(granted);
    symlinkSync(dirname(key), granted);
    await expect(one.bash(`cat ${granted}/key`, { within: { read: [granted] } })).rejects.toThrow(ToolFailure);
  });

  test("a writable folder next to the workspace opens nothing", async () => {
    const two = await newWorld({ root: one.root, writable: [join(one.workDir, "part"), join(one.root, "shared")] });
    mkdirSync(join(two.workDir, "part"));
    await two.bash("mv part p; ln -s ../outside part");
    rmSync(join(one.root, "shared"), { recursive: true, force: true });
    symlinkSync(outside, join(one.root, "shared"));
    await two.bash(`echo x >part/new; echo x >${one.root}/shared/new; echo x >${outside}/new`);
    expect(readdirSync(outside)).toEqual(["file"]);
  });

  test("the workspace opens nothing", async () => {
    await one.bash("true");
    rmSync(one.workDir, { recursive: true });
    symlinkSync(outside, one.workDir);
    await one.bash(`echo x >${outside}/new; echo x >${one.workDir}/new`);
    expect(readdirSync(outside)).toEqual(["file"]);
  });

  test("a cache, or a file in it, or a link to nothing, does not harm the next command", async () => {
    for (const put of ["ln -s /nowhere/at/all", `ln -s ${outside}`, "echo x >", "mkfifo"]) {
      await one.bash(`rm -rf "$npm_config_cache"; ${put} "$npm_config_cache"`);
      const { exit, output } = await one.bash('echo x >"$npm_config_cache/new" && echo fine');
      expect([put, output, exit]).toEqual([put, "fine\n", { how: "exited", code: 0 }]);
    }
    expect(readdirSync(outside)).toEqual(["file"]);
  });

  test("a repository removes nothing outside", async () => {
    const other = one.file("other/.git/worktrees/x/commondir", "../..\n");
    mkdirSync(join(one.workDir, ".git"));
    await one.bash(`rm -rf .git; ln -s ${dirname(other)} .git`);
    expect(readFileSync(other, "utf8")).toBe("../..\n");
    await one.bash("mkdir -p sub; ln -s ../../other/.git sub/.git; ln -s ../other/.git index");
    one.file("other/.git/config", "[alias]\n\tx = !x\n");
    one.file("other/.git/HEAD", "ref: refs/heads/main\n");
    await one.bash("mkdir -p sub/objects; ln -sf index .git");
    expect(readFileSync(join(one.root, "other/.git/config"), "utf8")).toBe("[alias]\n\tx = !x\n");
  });

  test("files of a repository, a pipe, a circle of links, blocks nothing", async () => {
    const made =
      "rm -rf .git; git init -q . && cd .git && rm -rf index config hooks && mkfifo commondir && ln -s index index && mkfifo config && ln -s .. hooks; cd ..; mkdir -p a; mkfifo a/.git";
    expect((await one.bash(made)).exit).toMatchObject({ how: "exited" });
    expect((await one.bash("echo fine")).output).toBe("fine\n");
    expect(existsSync(join(one.workDir, ".git/config"))).toBe(false);
  });

  test("the private temporary files removes nothing when they are deleted", async () => {
    await one.bash(`ln -s ${outside} /tmp/way; mkdir -p /tmp/a && ln -s ${outside} /tmp/a/b; chmod 0 /tmp/a`);
    await one.backend.close();
    expect(readdirSync(outside)).toEqual(["file"]);
  });
});

describe.skipIf(noSandbox !== undefined)("a socket", () => {
  test("that has a listener by now is closed to the next command", async () => {
    requireProgram("perl");
    const one = await newWorld();
    await one.bash("true");
    const path = join(one.home, "late.sock");
    const server = createServer((socket) => socket.end("secret\n")).listen(path);
    await until("it listens", () => existsSync(path));
    const { output } = await one.bash(
      `perl -e 'use IO::Socket::UNIX; $c = IO::Socket::UNIX->new(Peer => "${path}") or die "no: $!"; print <$c>'`,
    );
    expect(output).toMatch(/^no: /);
    await new Promise((resolve) => server.close(resolve));
  });

  test("in the workspace is reachable only if it was made in the sandbox", async () => {
    requireProgram("perl");
    const one = await newWorld();
    mkdirSync(join(one.workDir, "run"));
    const theirs = [join(one.workDir, "theirs.sock"), join(one.workDir, "run/theirs.sock")];
    const servers = theirs.map((path) => createServer((socket) => socket.end("secret\n")).listen(path));
    for (const path of theirs) await until("it listens", () => existsSync(path));
    const server = `perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Local => "own.sock", Listen => 1) or die; $s->accept->print("ours\n"); sleep 60'`;
    const job = await one.backend.spawn({ argv: ["bash", "-c", server] });
    await until("it listens inside", () => existsSync(join(one.workDir, "own.sock")));
    const connect = (path: string) =>
      one.bash(
        `perl -MIO::Socket::UNIX -e '$c = IO::Socket::UNIX->new(Peer => "${path}") or die "no: $!"; print <$c>'`,
      );
    for (const path of theirs) {
      const { output } = await connect(path);
      expect([path, output]).toEqual([path, expect.stringMatching(/^no: /)]);
    }
    await one.bash("mv run moved; mv theirs.sock other.sock; ln theirs.sock more.sock");
    for (const path of ["other.sock", "more.sock", "moved/theirs.sock"])
      expect((await connect(path)).output).toMatch(/^no: /);
    const { output } = await connect("own.sock");
    expect(output).toBe("ours\n");
    await job.kill();
    await Promise.all(servers.map((each) => new Promise((resolve) => each.close(resolve))));
  });

  test("of a terminal server in the workspace runs no command as the user", async () => {
    requireProgram("tmux");
    const one = await newWorld();
    const socket = join(one.workDir, "t.sock");
    execFileSync("tmux", ["-S", socket, "-f", "/dev/null", "new-session", "-d", "sleep 600"], { stdio: "ignore" });
    try {
      const mark = join(one.root, "ran");
      const { output, errors } = await one.bash(`tmux -S t.sock run-shell "touch ${mark}"; echo "exit $?"`);
      expect(output + errors).toContain("exit 1");
      expect(existsSync(mark)).toBe(false);
    } finally {
      execFileSync("tmux", ["-S", socket, "kill-server"], { stdio: "ignore" });
    }
  });
});
