import { existsSync, readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { local } from "../../src/machine/local/backend.ts";
import { detachedIn } from "../../src/machine/local/jobs.ts";
import type { Backend, Command } from "../../src/core/contract/backend.ts";
import { isAlive, until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { LIBRARY, type Program, pipesFolders, program, runningPid, said, spawnerOf } from "./program.ts";

const bash = (script: string): Command["argv"] => ["bash", "--noprofile", "--norc", "-c", script];

interface Place {
  readonly folder: string;
  readonly jobFolder: string;
  readonly backend: Backend;
}

async function place(folder = temporaryFolder()): Promise<Place> {
  const jobFolder = join(folder, "jobs");
  folders.push(jobFolder);
  const backend = await local({ workDir: folder, outputFolder: join(folder, "outputs"), jobFolder });
  return { folder, jobFolder, backend };
}

/** A program that starts this script as detached, prints its id, and waits. */
const starting = (script: string) => `
  const { local } = await import(${JSON.stringify(LIBRARY)});
  const backend = await local({ workDir: ".", outputFolder: "outputs", jobFolder: "jobs" });
  const child = await backend.spawn({ argv: ["bash", "-c", ${JSON.stringify(script)}], lifetime: "detached", label: "the label" });
  say(child.id);`;

// Left by failed tests; otherwise they would run forever.
const folders: string[] = [];
afterAll(async () => {
  const lists = await Promise.all(folders.map((folder) => detachedIn(folder).list()));
  await Promise.all(lists.flat().map((found) => found.process.kill()));
});

/** Returns the shell that the program has started, once the program knows it. */
async function shellOf(running: Program): Promise<number> {
  folders.push(join(running.folder, "jobs"));
  await until("it was started", () => running.stdout() !== "");
  return runningPid(running.folder, "shell");
}

describe.concurrent("a detached process", () => {
  test("continues when its backend is closed, and a later one knows its label, output and exit code", async () => {
    const { folder, backend } = await place();
    const child = await backend.spawn({
      argv: bash("echo before; echo $$ >shell.pid; while [ ! -e go ]; do sleep 0.02; done; echo after; exit 7"),
      lifetime: "detached",
      label: "npm start",
    });
    const shell = await runningPid(folder, "shell");
    await backend.close();
    expect(await isAlive(shell)).toBe(true);
    const later = (await place(folder)).backend;
    const [found] = (await later.detached?.list()) ?? [];
    expect(found).toMatchObject({ id: child.id, label: "npm start", cwd: folder, ended: undefined });
    await found!.process.output.grown(6);
    expect(Buffer.from(await found!.process.output.tail(100)).toString()).toBe("before\n");
    await writeFile(join(folder, "go"), "");
    expect(await found!.process.exit).toEqual({ how: "exited", code: 7 });
    expect(await child.exit).toEqual({ how: "exited", code: 7 });
    expect(Buffer.from(await found!.process.output.tail(100)).toString()).toBe("before\nafter\n");
    const [ended] = (await later.detached?.list()) ?? [];
    expect(ended).toMatchObject({ ended: { how: "exited", code: 7 }, endedMs: expect.any(Number) });
    await later.close();
  });

  test("continues when its owner is killed, and its end is recorded; then its watcher exits", async () => {
    const running = program(
      starting("echo $$ >shell.pid; while [ ! -e go ]; do sleep 0.02; done; echo done; exit 9") +
        `await there("never");`,
    );
    const shell = await shellOf(running);
    const spawner = await spawnerOf(running.pid);
    process.kill(running.pid, "SIGKILL");
    await running.ended;
    await until("the pipes are gone", () => pipesFolders(running.temporary).length === 0);
    expect(await isAlive(shell)).toBe(true);
    const [found] = await detachedIn(join(running.folder, "jobs")).list();
    expect(found?.ended).toBeUndefined();
    await writeFile(join(running.folder, "go"), "");
    expect(await found!.process.exit).toEqual({ how: "exited", code: 9 });
    expect(Buffer.from(await found!.process.output.tail(100)).toString()).toBe("done\n");
    await until("its watcher has gone", async () => !(await isAlive(spawner)));
  });

  test("does not keep the program that started it alive", async () => {
    const running = program(starting("echo $$ >shell.pid; exec sleep 1000"));
    expect(await running.ended).toMatchObject({ code: 0, stderr: "" });
    const shell = await shellOf(running);
    await detachedIn(join(running.folder, "jobs"))
      .list()
      .then(([found]) => found!.process.kill());
    expect(await isAlive(shell)).toBe(false);
  });

  test("is stopped by a later program with all its processes, and its exit status says so", async () => {
    const script =
      "setsid sh -c 'echo $$ >away.pid; exec sleep 1000' & sh -c 'trap \"\" TERM; echo $$ >deaf.pid; while :; do sleep 1; done' & echo $$ >shell.pid; wait";
    const first = program(starting(script) + `await there("never");`);
    const pids = await Promise.all(["away", "deaf", "shell"].map((name) => runningPid(first.folder, name)));
    await shellOf(first);
    process.kill(first.pid, "SIGKILL");
    await first.ended;
    const second = program(
      `const { local } = await import(${JSON.stringify(LIBRARY)});
       const backend = await local({ workDir: ".", outputFolder: "outputs", jobFolder: "jobs" });
       const [found] = await backend.detached.list();
       await found.process.kill();
       say((await backend.detached.list())[0].ended);`,
      { folder: first.folder },
    );
    const { stdout, stderr, code } = await second.ended;
    expect({ said: said(stdout), stderr, code }).toEqual({
      said: [{ how: "signaled", signal: "SIGTERM" }],
      stderr: "",
      code: 0,
    });
    for (const pid of pids) expect(await isAlive(pid)).toBe(false);
  });

  test("continues when its watcher is killed, and its end is lost", async () => {
    const { folder, jobFolder } = await place();
    const running = program(
      starting("seq 100; echo $$ >shell.pid; while [ ! -e go ]; do sleep 0.02; done; seq 101 200") +
        `await there("never");`,
      { folder },
    );
    const shell = await shellOf(running);
    const spawner = await spawnerOf(running.pid);
    process.kill(spawner, "SIGKILL");
    process.kill(running.pid, "SIGKILL");
    await running.ended;
    await until("the watcher is gone", async () => !(await isAlive(spawner)));
    expect(await isAlive(shell)).toBe(true);
    const [found] = await detachedIn(jobFolder).list();
    expect(found?.ended).toBeUndefined();
    await writeFile(join(folder, "go"), "");
    expect(await found!.process.exit).toEqual({ how: "lost", reason: "the process that watched it has died too" });
    expect(Buffer.from(await found!.process.output.tail(8)).toString()).toBe("199\n200\n");
    const [lost] = await detachedIn(jobFolder).list();
    expect(lost?.ended).toMatchObject({ how: "lost" });
    expect((await detachedIn(jobFolder).list())[0]?.endedMs).toBe(lost?.endedMs);
    expect(readdirSync(join(jobFolder, lost!.id)).filter((name) => name.startsWith("exited-lost-"))).toHaveLength(1);
    const weekLater = (lost?.endedMs ?? 0) + 8 * 24 * 60 * 60 * 1_000;
    expect(await detachedIn(jobFolder, () => weekLater).list()).toEqual([]);
  });

  test("can still be stopped when its watcher was killed", async () => {
    const { folder, jobFolder } = await place();
    const running = program(starting("echo $$ >shell.pid; exec sleep 1000") + `await there("never");`, { folder });
    const shell = await shellOf(running);
    process.kill(await spawnerOf(running.pid), "SIGKILL");
    process.kill(running.pid, "SIGKILL");
    await running.ended;
    const [found] = await detachedIn(jobFolder).list();
    await found!.process.kill();
    expect(await isAlive(shell)).toBe(false);
    expect(await found!.process.exit).toEqual({ how: "aborted" });
  });

  test("continues when its watcher is killed while its owner lives, who starts another for later jobs", async () => {
    const running = program(
      starting("echo $$ >shell.pid; exec sleep 1000") +
        `await there("go"); say((await (await backend.spawn({ argv: ["true"] })).exit).code); await child.kill(); say(1); await backend.close();`,
    );
    const shell = await shellOf(running);
    const spawner = await spawnerOf(running.pid);
    process.kill(spawner, "SIGKILL");
    await until("it is gone", async () => !(await isAlive(spawner)));
    await until("its pipes are gone", () => pipesFolders(running.temporary).length === 0);
    expect(await isAlive(shell)).toBe(true);
    await writeFile(join(running.folder, "go"), "");
    const { stdout, stderr } = await running.ended;
    expect({ said: said(stdout).slice(1), stderr }).toEqual({ said: [0, 1], stderr: "" });
    expect(await isAlive(shell)).toBe(false);
  });

  test("that ends at once is recorded as ended", async () => {
    const { backend } = await place();
    const children = await Promise.all(
      [0, 1, 2, 3].map((code) =>
        backend.spawn({ argv: bash(`echo hi; exit ${code}`), lifetime: "detached", label: String(code) }),
      ),
    );
    expect(await Promise.all(children.map((child) => child.exit))).toEqual(
      [0, 1, 2, 3].map((code) => ({ how: "exited", code })),
    );
    for (const child of children) expect(Buffer.from(await child.output.tail(9)).toString()).toBe("hi\n");
    await backend.close();
  });

  test("writes to a private file with a limit, and is not stopped by the limit", async () => {
    const { jobFolder, backend, folder } = await place();
    const child = await backend.spawn({
      argv: bash("head -c 400000000 /dev/zero; echo the error; echo done >finished"),
      lifetime: "detached",
      label: "much",
    });
    expect(await child.exit).toEqual({ how: "exited", code: 0 });
    expect(existsSync(join(folder, "finished"))).toBe(true);
    expect(child.output.size).toBe(400_000_010);
    expect(child.output.kept).toBeLessThan(310_000_000);
    expect(Buffer.from(await child.output.tail(10)).toString()).toBe("the error\n");
    const { mode } = await stat(join(jobFolder, child.id, "out"));
    expect((mode & 0o777).toString(8)).toBe("600");
    expect(((await stat(join(jobFolder, child.id))).mode & 0o777).toString(8)).toBe("700");
    await backend.detached!.remove(child.id);
    expect(readdirSync(jobFolder)).toEqual([]);
    await backend.close();
  });

  test("can be removed once it has ended, not before", async () => {
    const { backend, folder } = await place();
    const child = await backend.spawn({
      argv: bash("echo $$ >shell.pid; exec sleep 1000"),
      lifetime: "detached",
      label: "sleep",
    });
    await runningPid(folder, "shell");
    await expect(backend.detached!.remove(child.id)).rejects.toThrow(`${child.id} still runs`);
    await child.kill();
    await child.kill();
    await backend.detached!.remove(child.id);
    expect(await backend.detached!.list()).toEqual([]);
    await expect(backend.detached!.remove(child.id)).rejects.toThrow(`there is no detached process ${child.id}`);
    await backend.close();
  });

  test("is removed by its id, never by a path to another job", async () => {
    const { backend, folder, jobFolder } = await place();
    const child = await backend.spawn({ argv: ["true"], lifetime: "detached", label: "true" });
    await child.exit;
    const beside = join(folder, "beside");
    renameSync(join(jobFolder, child.id), beside);
    await expect(backend.detached!.remove("../beside")).rejects.toThrow("there is no detached process ../beside");
    expect(existsSync(join(beside, "job"))).toBe(true);
    await backend.close();
  });

  test("that ended a week ago is removed when jobs are listed, a running one never is", async () => {
    const { jobFolder, backend } = await place();
    const ended = await backend.spawn({ argv: bash("exit 1"), lifetime: "detached", label: "ended" });
    const running = await backend.spawn({ argv: bash("sleep 600"), lifetime: "detached", label: "running" });
    await ended.exit;
    const day = 24 * 60 * 60 * 1_000;
    const labels = async (days: number) => {
      const all = await detachedIn(jobFolder, () => Date.now() + days * day).list();
      return all.map(({ label }) => label);
    };
    expect(await labels(6)).toEqual(["ended", "running"]);
    expect(await labels(8)).toEqual(["running"]);
    expect(existsSync(join(jobFolder, ended.id))).toBe(false);
    await running.kill();
    await backend.close();
  });

  test("has a stdin if requested, also for a later program", async () => {
    const { backend, folder, jobFolder } = await place();
    const argv = bash("while read -r word; do echo got $word; done; echo end of input");
    const child = await backend.spawn({ argv, lifetime: "detached", stdin: "pipe" });
    await child.write("one\n");
    await backend.close();
    const later = (await place(folder)).backend;
    const [found] = await later.detached!.list();
    await found!.process.write("two\n");
    await child.write(""); // neither prevents the other from ending the input
    await found!.process.endInput();
    expect(await found!.process.exit).toEqual({ how: "exited", code: 0 });
    expect(Buffer.from(await child.output.tail(99)).toString()).toBe("got one\ngot two\nend of input\n");
    await expect(child.write("x")).rejects.toThrow("the process no longer reads its stdin: it has ended");
    const closed = await later.spawn({ argv: bash("exec sleep 1000"), lifetime: "detached" });
    await expect(closed.write("x")).rejects.toThrow("the stdin of this process is closed");
    await closed.kill();
    expect(readdirSync(join(jobFolder, child.id)).filter((name) => name.startsWith("holder"))).toEqual([]);
    await later.close();
  });

  test("that does not read its stdin blocks nobody, and input that it did not accept is a failure", async () => {
    const { backend } = await place();
    const child = await backend.spawn({ argv: bash("sleep 0.5"), lifetime: "detached", stdin: "pipe" });
    await expect(child.write("x".repeat(1_000_000))).rejects.toThrow("the process no longer reads its stdin");
    expect(await child.exit).toEqual({ how: "exited", code: 0 });
    await backend.close();
  });

  test("that cannot be started leaves nothing behind", async () => {
    const { backend, jobFolder } = await place();
    await expect(backend.spawn({ argv: ["no-such-program-at-all"], lifetime: "detached", label: "x" })).rejects.toThrow(
      "cannot start no-such-program-at-all: no such program on the PATH",
    );
    expect(readdirSync(jobFolder)).toEqual([]);
    await backend.close();
  });

  test("is not confused by other files in its folder", async () => {
    const { backend, jobFolder } = await place();
    await mkdir(join(jobFolder, "half"), { recursive: true });
    await mkdir(join(jobFolder, "broken"));
    writeFileSync(join(jobFolder, "broken", "job"), '{"label":');
    await mkdir(join(jobFolder, "never started"));
    writeFileSync(join(jobFolder, "never started", "job"), '{"label":"x","cwd":"/","startedMs":1,"mark":":x:"}');
    writeFileSync(join(jobFolder, "file"), "");
    expect(await backend.detached!.list()).toEqual([]);
    await backend.close();
  });

  test("is not confused with another process that reuses its number", async () => {
    const { backend, jobFolder } = await place();
    const child = await backend.spawn({ argv: ["true"], lifetime: "detached", label: "true" });
    await child.exit;
    const own = join(jobFolder, child.id);
    const plan = readFileSync(join(own, "job"));
    // As after the death of all: no end was recorded, and the process id now is this process's.
    await mkdir(join(jobFolder, "copy"));
    writeFileSync(join(jobFolder, "copy", "job"), plan);
    writeFileSync(join(jobFolder, "copy", `pid-${process.pid}-1`), "");
    const found = (await backend.detached!.list()).find(({ id }) => id === "copy");
    expect(found?.ended).toMatchObject({ how: "lost" });
    await backend.close();
  });
});

describe.concurrent("a process that ends with its backend", () => {
  const leased = (script: string) => `
    const { local } = await import(${JSON.stringify(LIBRARY)});
    const backend = await local({ workDir: ".", outputFolder: "outputs", jobFolder: "jobs" });
    const child = await backend.spawn({ argv: ["bash", "-c", ${JSON.stringify(script)}], lifetime: "toolkit", stdin: "pipe" });
    say(child.id);
    await there("never");`;

  test("is in no list, and leaves nothing when the backend is closed", async () => {
    const { backend, jobFolder, folder } = await place();
    const child = await backend.spawn({ argv: bash("echo hi; exec sleep 1000"), lifetime: "toolkit", stdin: "pipe" });
    await child.output.grown(2);
    expect(await (await place(folder)).backend.detached!.list()).toEqual([]);
    expect(readdirSync(jobFolder)).toHaveLength(1);
    await backend.close();
    expect(await child.exit).toEqual({ how: "signaled", signal: "SIGTERM" });
    expect(readdirSync(jobFolder)).toEqual([]);
  });

  test("leaves nothing when its program is killed", async () => {
    const running = program(leased("echo $$ >shell.pid; exec sleep 1000"));
    const shell = await shellOf(running);
    process.kill(running.pid, "SIGKILL");
    await until("it is ended", async () => !(await isAlive(shell)));
    const left = () => readdirSync(join(running.folder, "jobs"));
    await until("its folder is gone", () => left().length === 0);
    expect(left()).toEqual([]);
  });

  test("is ended by its program when the watcher is killed", async () => {
    const running = program(leased("echo $$ >shell.pid; exec sleep 1000"));
    const shell = await shellOf(running);
    process.kill(await spawnerOf(running.pid), "SIGKILL");
    await until("it is ended", async () => !(await isAlive(shell)));
    expect(await isAlive(running.pid)).toBe(true);
    process.kill(running.pid, "SIGKILL");
  });

  test("whose program and watcher were killed is ended by the next process that lists jobs", async () => {
    const running = program(leased("echo $$ >shell.pid; exec sleep 1000"));
    const shell = await shellOf(running);
    const spawner = await spawnerOf(running.pid);
    process.kill(running.pid, "SIGSTOP"); // so that it does not notice the watcher's death
    process.kill(spawner, "SIGKILL");
    process.kill(running.pid, "SIGKILL");
    await running.ended;
    expect(await isAlive(shell)).toBe(true);
    expect(await detachedIn(join(running.folder, "jobs")).list()).toEqual([]);
    expect(await isAlive(shell)).toBe(false);
    expect(readdirSync(join(running.folder, "jobs"))).toEqual([]);
  });
});
