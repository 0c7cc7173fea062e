// Calls that workers make: real workers (the built program), PostgreSQL and Redis. Each has a state folder of its own.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { CallEvent } from "../../src/core/contract/activity.ts";
import type { Approver } from "../../src/core/contract/policy.ts";
import { asText } from "../../src/core/call/result.ts";
import { pointsOfWorker } from "../../src/team/undo.ts";
import { commandLine } from "../cli/program.ts";
import { mustBeHere } from "../support/here.ts";
import { postgresProblem, postgresServer } from "../support/postgres.ts";
import { redisProblem, redisServer } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { machines } from "./machines.ts";

/** A picture of one pixel. */
const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const problem = postgresProblem() ?? redisProblem();
mustBeHere("PostgreSQL and Redis", problem);

describe.skipIf(problem !== undefined)("calls on workers", { timeout: 60_000 }, async () => {
  if (problem !== undefined) return;
  const [postgres, redis] = [await postgresServer(), await redisServer()];

  const { worker, caller } = machines(redis.url);

  test("files, commands and saved outputs of a call are those of the worker", async () => {
    const url = await postgres.create("simple");
    const { folder } = await worker(url);
    const toolkit = await caller(url);
    expect(toolkit.backend.workDir).toBe(folder);
    const events: CallEvent[] = [];
    const call = (name: string, input: object) =>
      toolkit.call({ name, input }, { onEvent: (event) => events.push(event) });
    expect(asText(await call("read", { path: "README.md" }))).toContain("# Read me");
    expect(asText(await call("write", { path: "made.txt", content: "made\n" }))).toContain("made.txt");
    expect(readFileSync(join(folder, "made.txt"), "utf8")).toBe("made\n");
    expect(asText(await call("bash", { command: "pwd; seq 20000" }))).toContain("Full output saved to: output://");
    const [, output] = /output:\/\/(\w+)/.exec(asText(await call("bash", { command: "seq 20000" }))) ?? [];
    expect(asText(await call("grep", { path: `output://${output}`, pattern: "^777$" }))).toContain("777");
    expect(events.map(({ type }) => type)).toContain("call.taken");
    expect(asText(await call("time", {}))).toMatch(/\d{4}/);
  });

  const bash = (command: string, more: object = {}) => ({ name: "bash", input: { command, ...more } });

  test("a question of a worker goes to the caller's approver or the store; the worker has room meanwhile", async () => {
    const url = await postgres.create("questions");
    const { folder } = await worker(url, ["--concurrency", "1"], "policy: { sandbox: off, shell_confirm: true }\n");
    const shown: string[] = [];
    const approver: Approver = async ({ effects }) => {
      shown.push(JSON.stringify(effects));
      return { answer: shown.length === 2 ? "refuse" : "once", by: "me" };
    };
    const asked = await caller(url, { approver });
    expect(asText(await asked.call(bash("echo one > one.txt && cat one.txt")))).toContain("one");
    expect(shown[0]).toContain(`"real":"${folder}"`);
    expect(await asked.call(bash("touch never"))).toMatchObject({ status: "denied", by: "person" });

    const alone = await caller(url);
    expect(await alone.call(bash("touch never"))).toMatchObject({ status: "denied", by: "nobody" });

    const parking = await caller(url, { park: "now" });
    const parked = await parking.call(bash("echo later > later.txt; cat later.txt"));
    expect(parked.status).toBe("parked");
    expect(asText(await asked.call({ name: "read", input: { path: "README.md" } }))).toContain("# Read me");
    const [question] = await parking.store.questions();
    await parking.store.answer(question?.question ?? "", { answer: "once" }, "a phone");
    expect(asText(await parking.resume(parked.id ?? ""))).toContain("later");
    expect(existsSync(join(folder, "never"))).toBe(false);
  });

  test("the stricter policy of caller and worker counts", async () => {
    const url = await postgres.create("policies");
    const { folder } = await worker(url, [], "policy: { autonomy: full, commands: { deny: ['git *'] } }\n");
    const write = { name: "write", input: { path: "w.txt", content: "w" } };
    const readonly = await caller(url, { policy: { autonomy: "readonly" } });
    expect(await readonly.call(write)).toMatchObject({
      status: "denied",
      reason: expect.stringContaining("Read-only"),
    });
    const own = await caller(url, {
      policies: [async () => ({ verdict: "deny", risk: "high", reason: "No calls today" })],
    });
    expect(await own.call(write)).toMatchObject({ status: "denied", reason: "No calls today" });
    const full = await caller(url);
    expect(await full.call(bash("git status"))).toMatchObject({ status: "denied" });
    expect(existsSync(join(folder, "w.txt"))).toBe(false);
    expect((await full.call(write)).status).toBe("ok");
  });

  test("a stop reaches a running call, and withdraws one that waits", async () => {
    const url = await postgres.create("stops");
    const { folder } = await worker(url, ["--concurrency", "1"]);
    const toolkit = await caller(url);
    const [first, second] = [new AbortController(), new AbortController()];
    const running = toolkit.call(bash("touch begun; sleep 600; touch ended"), { signal: first.signal });
    await until("it runs", () => existsSync(join(folder, "begun")));
    const waiting = toolkit.call(bash("touch waited"), { signal: second.signal });
    await until("it waits", async () => (await toolkit.store.parked({ states: ["ready"] })).length === 1);
    second.abort();
    expect((await waiting).status).toBe("aborted");
    const begun = performance.now();
    first.abort();
    expect((await running).status).toBe("aborted");
    console.log(`stopped and ended after ${Math.round(performance.now() - begun)} ms`);
    expect((await toolkit.call(bash("ls"))).status).toBe("ok");
    expect(["ended", "waited"].filter((name) => existsSync(join(folder, name)))).toEqual([]);
  });

  test("a call whose worker dies ends as interrupted, and one that only reads goes to another worker", async () => {
    const url = await postgres.create("deaths");
    const { folder, running } = await worker(url);
    const toolkit = await caller(url);
    const call = toolkit.call(bash("echo run >> runs; sleep 600"));
    await until("it runs", () => existsSync(join(folder, "runs")));
    running.kill("SIGKILL");
    await running.ended;
    const reading = toolkit.call({ name: "read", input: { path: "README.md" } });
    expect(await call).toMatchObject({ status: "failed", message: expect.stringContaining("It was not run again") });
    const { folder: other } = await worker(url);
    expect(asText(await reading)).toContain("# Read me");
    expect([existsSync(join(other, "runs")), readFileSync(join(folder, "runs"), "utf8")]).toEqual([false, "run\n"]);
  });

  test("a worker that was cut off for long is taken for dead, and its late result is refused", async () => {
    const url = await postgres.create("zombie");
    const { folder, running } = await worker(url);
    const toolkit = await caller(url);
    const call = toolkit.call(bash("touch begun; while ! [ -e go ]; do sleep 0.05; done; echo late", { timeout: 60 }));
    await until("it runs", () => existsSync(join(folder, "begun")));
    running.kill("SIGSTOP");
    const database = await postgres.connect(url); // as if it were a process of another machine, which nobody here sees
    await database.query("UPDATE handrail.sessions SET host = 'another' WHERE pid = $1", [running.pid]);
    const beats = `replace(process, '"${hostname()}"', '"another"')`;
    await database.query(`UPDATE handrail.beats SET process = ${beats} WHERE process LIKE '%"pid":${running.pid},%'`);
    const result = await call;
    expect(result).toMatchObject({ status: "failed", message: expect.stringContaining("It was not run again") });
    writeFileSync(join(folder, "go"), "");
    running.kill("SIGCONT");
    expect((await toolkit.call(bash("echo back"))).status).toBe("ok");
    const ends: unknown[] = [];
    for await (const event of toolkit.store.events({ types: ["call.finished"] }))
      if (event.type === "call.finished" && event.call === result.id) ends.push(event.status);
    expect(ends).toEqual(["interrupted"]);
  });

  test("what calls changed on a worker is undone from another machine, by calls that its policy judges", async () => {
    const url = await postgres.create("undo");
    const { folder, id } = await worker(url, [], "policy: { autonomy: full }\n");
    const toolkit = await caller(url);
    const write = (content: string) => toolkit.call({ name: "write", input: { path: "made.txt", content } });
    expect((await write("one\n")).status).toBe("ok");
    expect((await toolkit.call(bash("echo two > README.md"))).status).toBe("ok");
    const machine = await commandLine();
    mkdirSync(join(machine.configHome, "handrail"), { recursive: true });
    writeFileSync(join(machine.configHome, "handrail", "config.yaml"), `store: ${url}\nqueue: ${redis.url}\n`);
    const undo = (...args: string[]) => machine.here(["undo", "--worker", `build#${id}`, ...args]);
    expect((await undo("--diff")).stdout).toContain("+# Read me");
    expect((await undo("--yes")).stdout).toContain("2 paths restored");
    expect(readFileSync(join(folder, "README.md"), "utf8")).toContain("# Read me");
    expect(existsSync(join(folder, "made.txt"))).toBe(false);
    const readonly = pointsOfWorker(await caller(url, { policy: { autonomy: "readonly" } }));
    const last = (await readonly.list()).find(({ by }) => by === "undo");
    const preview = await readonly.preview(last?.id ?? "");
    await expect(readonly.restore(preview)).rejects.toThrow("Read-only");
  });

  test("images of a worker's tool arrive at the caller; hooks of the worker hold", async () => {
    const url = await postgres.create("images");
    const hook =
      "hooks: { PreToolUse: [{ matcher: Write, hooks: [{ type: command, command: 'echo not here >&2; exit 2' }] }] }";
    const { folder } = await worker(url, [], `policy: { autonomy: full }\nundo: off\n${hook}\n`);
    const toolkit = await caller(url);
    writeFileSync(join(folder, "dot.png"), Buffer.from(DOT, "base64"));
    const read = await toolkit.call({ name: "read", input: { path: "dot.png" } });
    expect(read.status === "ok" && read.content).toContainEqual({ type: "image", mimeType: "image/png", data: DOT });
    const written = await toolkit.call({ name: "write", input: { path: "a.txt", content: "a" } });
    expect(written).toMatchObject({ status: "denied", reason: expect.stringContaining("not here") });
  });

  test("a full queue is refused at once, threads take turns, and a tool has its own limit", async () => {
    const url = await postgres.create("pressure");
    const { folder } = await worker(url, ["--concurrency", "2", "--max-waiting", "4", "--limit", "bash=1"]);
    const toolkit = await caller(url);
    const log = (name: string) => bash(`echo ${name} >> order`);
    const first = toolkit.call(bash("touch begun; while ! [ -e go ]; do sleep 0.05; done"));
    await until("it runs", () => existsSync(join(folder, "begun")));
    const many: Promise<unknown>[] = [];
    const wait = async (name: string, thread: string) => {
      many.push(toolkit.call({ ...log(name), thread }));
      await until("it waits", async () => (await toolkit.store.parked({ states: ["ready"] })).length === many.length);
    };
    for (const name of ["a1", "a2", "a3"]) await wait(name, "a");
    await wait("b1", "b");
    expect(asText(await toolkit.call(log("none")))).toMatch(/worker:build has no room: 4 calls wait there, for about/);
    writeFileSync(join(folder, "go"), "");
    await Promise.all([first, ...many]);
    expect(readFileSync(join(folder, "order"), "utf8").split("\n").slice(0, 2)).toEqual(["a1", "b1"]);
    expect(asText(await toolkit.call({ name: "jobs", input: { action: "list" } }))).toContain("no jobs");
  });

  test("jobs of a worker are listed, read and stopped by the caller; without Redis calls are made too", async () => {
    const url = await postgres.create("jobs");
    const { folder, id, here } = await worker(url);
    const toolkit = await caller(url);
    await redis.crash();
    expect(asText(await toolkit.call(bash("echo hello; sleep 600", { background: true })))).toContain(`${id}1`);
    const jobs = (input: object) => toolkit.call({ name: "jobs", input });
    await until("its output is there", async () =>
      /hello/.test(asText(await jobs({ action: "output", id: `${id}1` }))),
    );
    expect(asText(await jobs({ action: "list" }))).toContain(`${id}1`);
    expect(asText(await toolkit.call({ name: "read", input: { path: `output://job-${id}1` } }))).toContain("hello");
    expect((await here(["workers"])).stdout).toContain(`build ${id}`);
    expect(asText(await jobs({ action: "kill", id: `${id}1` }))).toContain(`Job ${id}1`);
    await redis.start();
    expect(folder).toBe(toolkit.backend.workDir);
  });

  test("calls that a failover may have lost the claim of are not run; the caller learns that it is unknown", async () => {
    const url = await postgres.create("failover");
    const { folder, running } = await worker(url);
    const toolkit = await caller(url);
    running.kill("SIGSTOP");
    const call = toolkit.call(bash("touch ran"));
    await until("it waits", async () => (await toolkit.store.parked({ states: ["ready"] })).length === 1);
    await (await postgres.connect(url)).query("UPDATE handrail.parked_calls SET timeline = timeline - 1");
    running.kill("SIGCONT");
    expect(await call).toMatchObject({
      status: "failed",
      message: expect.stringContaining("Whether it ran is unknown"),
    });
    expect(existsSync(join(folder, "ran"))).toBe(false);
  });
});
