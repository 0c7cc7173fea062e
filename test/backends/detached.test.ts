import { existsSync, readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { local } from "../../src/backends/local/backend.ts";
import { detachedProcesses } from "../../src/backends/local/detached.ts";
import type { Backend, Command } from "../../src/contract/backend.ts";
import { isAlive, until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { LIBRARY, type Program, pipesFolders, program, runningPid, said, spawnerOf } from "./program.ts";

const bash = (script: string): Command["argv"] => ["bash", "--noprofile", "--norc", "-c", script];

interface Place {
  readonly folder: string;
  readonly detachedFolder: string;
  readonly backend: Backend;
}

async function place(folder = temporaryFolder()): Promise<Place> {
  const detachedFolder = join(folder, "detached");
  folders.push(detachedFolder);
  const backend = await local({ workDir: folder, outputFolder: join(folder, "outputs"), detachedFolder });
  return { folder, detachedFolder, backend };
}

/** A program that starts this detached, says its id, and waits. */
const starting = (script: string) => `
  const { local } = await import(${JSON.stringify(LIBRARY)});
  const backend = await local({ workDir: ".", outputFolder: "outputs", detachedFolder: "detached" });
  const child = await backend.spawn({ argv: ["bash", "-c", ${JSON.stringify(script)}], detached: { label: "the label" } });
  say(child.id);`;

// What a test that failed has left: it would live for ever.
const folders: string[] = [];
afterAll(async () => {
  const lists = await Promise.all(folders.map((folder) => detachedProcesses(folder).list()));
  await Promise.all(lists.flat().map((found) => found.process.kill()));
});

/** The shell that such a program has started, once the program knows that it has. */
async function shellOf(running: Program): Promise<number> {
  folders.push(join(running.folder, "detached"));
  await until("it was started", () => running.stdout() !== "");
  return runningPid(running.folder, "shell");
}

describe.concurrent("a detached process", () => {
  test("goes on when its backend is closed, and a later one knows its label, output and exit code", async () => {
    const { folder, backend } = await place();
    const child = await backend.spawn({
      argv: bash("echo before; echo $$ >shell.pid; while [ ! -e go ]; do sleep 0.02; done; echo after; exit 7"),
      detached: { label: "npm start" },
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

  test("goes on when its owner is killed, and its end is told all the same; then its watcher goes", async () => {
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
    const [found] = await detachedProcesses(join(running.folder, "detached")).list();
    expect(found?.ended).toBeUndefined();
    await writeFile(join(running.folder, "go"), "");
    expect(await found!.process.exit).toEqual({ how: "exited", code: 9 });
    expect(Buffer.from(await found!.process.output.tail(100)).toString()).toBe("done\n");
    await until("its watcher has gone", async () => !(await isAlive(spawner)));
  });

  test("does not keep the program that started it", async () => {
    const running = program(starting("echo $$ >shell.pid; exec sleep 1000"));
    expect(await running.ended).toMatchObject({ code: 0, stderr: "" });
    const shell = await shellOf(running);
    await detachedProcesses(join(running.folder, "detached"))
      .list()
      .then(([found]) => found!.process.kill());
    expect(await isAlive(shell)).toBe(false);
  });

  test("is stopped by a later program with all that it started, and that is how it ended", async () => {
    const script =
      "setsid sh -c 'echo $$ >away.pid; exec sleep 1000' & sh -c 'trap \"\" TERM; echo $$ >deaf.pid; while :; do sleep 1; done' & echo $$ >shell.pid; wait";
    const first = program(starting(script) + `await there("never");`);
    const pids = await Promise.all(["away", "deaf", "shell"].map((name) => runningPid(first.folder, name)));
    await shellOf(first);
    process.kill(first.pid, "SIGKILL");
    await first.ended;
    const second = program(
      `const { local } = await import(${JSON.stringify(LIBRARY)});
       const backend = await local({ workDir: ".", outputFolder: "outputs", detachedFolder: "detached" });
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

  test("whose watcher was killed goes on, and its end is lost", async () => {
    const { folder, detachedFolder } = await place();
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
    const [found] = await detachedProcesses(detachedFolder).list();
    expect(found?.ended).toBeUndefined();
    await writeFile(join(folder, "go"), "");
    expect(await found!.process.exit).toEqual({ how: "lost", reason: "what watched over it has died too" });
    expect(Buffer.from(await found!.process.output.tail(8)).toString()).toBe("199\n200\n");
    const [lost] = await detachedProcesses(detachedFolder).list();
    expect(lost?.ended).toMatchObject({ how: "lost" });
    expect((await detachedProcesses(detachedFolder).list())[0]?.endedMs).toBe(lost?.endedMs);
    expect(readdirSync(join(detachedFolder, lost!.id)).filter((name) => name.startsWith("exit."))).toEqual([
      "exit.json",
    ]);
    const weekLater = (lost?.endedMs ?? 0) + 8 * 24 * 60 * 60 * 1_000;
    expect(await detachedProcesses(detachedFolder, () => weekLater).list()).toEqual([]);
  });

  test("whose watcher was killed can still be stopped", async () => {
    const { folder, detachedFolder } = await place();
    const running = program(starting("echo $$ >shell.pid; exec sleep 1000") + `await there("never");`, { folder });
    const shell = await shellOf(running);
    process.kill(await spawnerOf(running.pid), "SIGKILL");
    process.kill(running.pid, "SIGKILL");
    await running.ended;
    const [found] = await detachedProcesses(detachedFolder).list();
    await found!.process.kill();
    expect(await isAlive(shell)).toBe(false);
    expect(await found!.process.exit).toEqual({ how: "aborted" });
  });

  test("goes on when its watcher is killed while its owner lives, who starts another for what comes", async () => {
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

  test("that ends at once is known to have ended", async () => {
    const { backend } = await place();
    const children = await Promise.all(
      [0, 1, 2, 3].map((code) =>
        backend.spawn({ argv: bash(`echo hi; exit ${code}`), detached: { label: String(code) } }),
      ),
    );
    expect(await Promise.all(children.map((child) => child.exit))).toEqual(
      [0, 1, 2, 3].map((code) => ({ how: "exited", code })),
    );
    for (const child of children) expect(Buffer.from(await child.output.tail(9)).toString()).toBe("hi\n");
    await backend.close();
  });

  test("writes to a file for this user alone, which has a limit, and is not stopped at it", async () => {
    const { detachedFolder, backend, folder } = await place();
    const child = await backend.spawn({
      argv: bash("head -c 300000000 /dev/zero; echo done >finished"),
      detached: { label: "much" },
    });
    expect(await child.exit).toEqual({ how: "exited", code: 0 });
    expect(existsSync(join(folder, "finished"))).toBe(true);
    expect(child.output.kept).toBe(268_435_456);
    const { mode } = await stat(join(detachedFolder, child.id, "output"));
    expect((mode & 0o777).toString(8)).toBe("600");
    expect(((await stat(join(detachedFolder, child.id))).mode & 0o777).toString(8)).toBe("700");
    await backend.detached!.remove(child.id);
    expect(readdirSync(detachedFolder)).toEqual([]);
    await backend.close();
  });

  test("can be removed when it has ended, not before", async () => {
    const { backend, folder } = await place();
    const child = await backend.spawn({
      argv: bash("echo $$ >shell.pid; exec sleep 1000"),
      detached: { label: "sleep" },
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

  test("is removed by its id, never by a path to another", async () => {
    const { backend, folder, detachedFolder } = await place();
    const child = await backend.spawn({ argv: ["true"], detached: { label: "true" } });
    await child.exit;
    const beside = join(folder, "beside");
    renameSync(join(detachedFolder, child.id), beside);
    await expect(backend.detached!.remove("../beside")).rejects.toThrow("there is no detached process ../beside");
    expect(existsSync(join(beside, "job.json"))).toBe(true);
    await backend.close();
  });

  test("that ended a week ago is forgotten when it is listed, one that runs never is", async () => {
    const { detachedFolder, backend } = await place();
    const ended = await backend.spawn({ argv: bash("exit 1"), detached: { label: "ended" } });
    const running = await backend.spawn({ argv: bash("sleep 600"), detached: { label: "running" } });
    await ended.exit;
    const day = 24 * 60 * 60 * 1_000;
    const labels = async (days: number) => {
      const all = await detachedProcesses(detachedFolder, () => Date.now() + days * day).list();
      return all.map(({ label }) => label);
    };
    expect(await labels(6)).toEqual(["ended", "running"]);
    expect(await labels(8)).toEqual(["running"]);
    expect(existsSync(join(detachedFolder, ended.id))).toBe(false);
    await running.kill();
    await backend.close();
  });

  test("has no stdin", async () => {
    const { backend } = await place();
    const child = await backend.spawn({ argv: bash("cat; echo end of input"), detached: { label: "cat" } });
    await expect(child.write("x")).rejects.toThrow("a detached process has no stdin");
    await child.endInput();
    expect(await child.exit).toEqual({ how: "exited", code: 0 });
    expect(Buffer.from(await child.output.tail(99)).toString()).toBe("end of input\n");
    await backend.close();
  });

  test("that cannot be started leaves nothing of itself", async () => {
    const { backend, detachedFolder } = await place();
    await expect(backend.spawn({ argv: ["no-such-program-at-all"], detached: { label: "x" } })).rejects.toThrow(
      "cannot start no-such-program-at-all: no such program on the PATH",
    );
    expect(readdirSync(detachedFolder)).toEqual([]);
    await backend.close();
  });

  test("is not confused by what else is in its folder", async () => {
    const { backend, detachedFolder } = await place();
    await mkdir(join(detachedFolder, "half"), { recursive: true });
    await mkdir(join(detachedFolder, "broken"));
    writeFileSync(join(detachedFolder, "broken", "job.json"), '{"label":');
    await mkdir(join(detachedFolder, "never started"));
    writeFileSync(
      join(detachedFolder, "never started", "job.json"),
      '{"label":"x","cwd":"/","startedMs":1,"mark":":x:"}',
    );
    writeFileSync(join(detachedFolder, "file"), "");
    expect(await backend.detached!.list()).toEqual([]);
    await backend.close();
  });

  test("is not to be had from a backend without a folder for them", async () => {
    const backend = await local({ workDir: ".", outputFolder: temporaryFolder() });
    expect(backend.detached).toBeUndefined();
    await expect(backend.spawn({ argv: ["true"], detached: { label: "x" } })).rejects.toThrow(
      "keeps no detached processes",
    );
    await backend.close();
  });

  test("that is another one by now, under the same number, is not taken for it", async () => {
    const { backend, detachedFolder } = await place();
    const child = await backend.spawn({ argv: ["true"], detached: { label: "true" } });
    await child.exit;
    const own = join(detachedFolder, child.id);
    const plan = readFileSync(join(own, "job.json"));
    // As after a death of all: no end was told, and the number is ours now.
    await mkdir(join(detachedFolder, "copy"));
    writeFileSync(join(detachedFolder, "copy", "job.json"), plan);
    writeFileSync(join(detachedFolder, "copy", "process.json"), JSON.stringify({ pid: process.pid, start: "1" }));
    const found = (await backend.detached!.list()).find(({ id }) => id === "copy");
    expect(found?.ended).toMatchObject({ how: "lost" });
    await backend.close();
  });
});
