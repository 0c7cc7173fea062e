import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { insertEvents, rowOf } from "../../../src/record/activity/event-rows.ts";
import { postgresStore } from "../../../src/record/activity/postgres-store.ts";
import type { StoredEvent } from "../../../src/core/contract/activity.ts";
import { verifyRecord } from "../../../src/record/activity/verify.ts";
import { inOneState, openPostgres } from "../../../src/record/db/postgres.ts";
import type { Sql } from "../../../src/record/db/sql.ts";
import { all as rows } from "../../../src/record/db/work.ts";
import { overviewTests } from "../../serve/overviews.ts";
import { storeSuite } from "../../suites/store-suite.ts";
import { asked, finished } from "../../suites/store/scene.ts";
import { mustBeHere } from "../../support/here.ts";
import { postgresProblem, postgresServer } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";
import { all, event, following, idsOf } from "./events.ts";
import { callsOf, started } from "./stores.ts";

const problem = postgresProblem();
mustBeHere("PostgreSQL", problem);

describe.skipIf(problem !== undefined)("a store on PostgreSQL", async () => {
  if (problem !== undefined) return;
  const server = await postgresServer();
  let opened = 0;
  /** Another name of the program has connections of its own, as another process has. */
  const apart = (url: string) => `${url}?application_name=test-${++opened}`;

  const storeOn = (url: string) => {
    const store = postgresStore({ url: apart(url) });
    onTestFinished(() => store.close().catch(() => {}));
    return store;
  };
  const sqlOn = async (url: string): Promise<Sql> => {
    const sql = await openPostgres(apart(url));
    onTestFinished(() => sql.close());
    return sql;
  };

  overviewTests(async () => storeOn(await server.create(`overview${++opened}`)), 5);

  storeSuite(
    { name: "postgres", open: async (place) => postgresStore({ url: apart(await server.create(place)) }) },
    { describe, test, afterAll },
  );

  /** Begins a transaction that records an event, and commits when the returned function is called. */
  async function openTransaction(url: string, call: string, number: number) {
    const gate = await server.connect(url);
    await gate.query(`SELECT pg_advisory_lock(7, ${number})`);
    const sql = await sqlOn(url);
    const ended = sql
      .transaction(function* () {
        yield* insertEvents(0, [rowOf(event(call))]);
        yield* rows(`SELECT 1 FROM pg_advisory_xact_lock(7, ${number})`);
      })
      .catch((error: unknown) => error);
    const waits = `SELECT 1 FROM pg_locks WHERE classid = 7 AND objid = ${number} AND NOT granted`;
    await until("it waits", async () => (await gate.query(waits)).rowCount === 1);
    return async () => {
      await gate.query(`SELECT pg_advisory_unlock(7, ${number})`);
      await ended;
    };
  }

  test("an event that is committed late is not skipped, whichever of two open transactions ends first", async () => {
    const url = await server.create("late");
    const store = storeOn(url);
    const feed = following(store);
    const [first, second] = [await openTransaction(url, "first", 1), await openTransaction(url, "second", 2)];
    await storeOn(url).commit(event("later"));
    await second();
    const sql = await sqlOn(url);
    const committed = await sql.read(() =>
      rows<{ id: number; call: string }>("SELECT id, call FROM events ORDER BY id"),
    );
    expect(callsOf(committed)).toEqual(["second", "later"]);
    const known = (to?: number) =>
      rows<{ id: number; readable: number }>(
        `SELECT id, ${sql.dialect.readable} AS readable FROM events ${to === undefined ? "" : `WHERE id <= ${to}`}`,
      );
    for (const lagMs of [0, 20]) {
      const read = await sql.readKnown(known, { lagMs, until: undefined });
      expect(read).toEqual({ rows: [], lagMs: expect.any(Number) });
      expect(read.lagMs).toBeGreaterThan(0);
    }
    const whole = all(store); // waits for what is open
    await first();
    await until("all are seen", () => feed.seen.length === 3);
    expect(callsOf(feed.seen)).toEqual(["first", "second", "later"]);
    expect(idsOf(await whole)).toEqual(idsOf(feed.seen));
    const resumed = await all(store, { after: feed.seen[0]?.id ?? 0 });
    expect(callsOf(resumed)).toEqual(["second", "later"]);
  });

  test("an open transaction of another program stops no reader", async () => {
    const url = await server.create("foreign");
    const other = await server.connect(url);
    await other.query("BEGIN; SELECT pg_current_xact_id()");
    const store = storeOn(url);
    const feed = following(store);
    await storeOn(url).commit(event("a"));
    await until("it is seen", () => feed.seen.length === 1);
    expect(callsOf(await all(store))).toEqual(["a"]);
    await other.query("ROLLBACK");
  });

  test("a follower whose connection is lost again and again leaves no listener behind", async () => {
    const warnings: string[] = [];
    const warned = ({ name }: Error) => void warnings.push(name);
    process.on("warning", warned);
    onTestFinished(() => void process.off("warning", warned));
    const url = await server.create("listening");
    const store = storeOn(url);
    const feed = following(store);
    const other = await server.connect(url);
    const lost = new Set<number>();
    await until("the connection that listens was lost twelve times", async () => {
      const { rows: ended } = await other.query<{ pid: number }>(
        `SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = 'listening' AND query = 'LISTEN handrail'`,
      );
      for (const { pid } of ended) lost.add(pid);
      return lost.size >= 12;
    });
    await storeOn(url).commit(event("a"));
    await until("it is seen", () => feed.seen.length === 1);
    expect(warnings).toEqual([]);
  });

  test("sixteen readers, more than the connections of a process, do not wait for one another", async () => {
    const url = await server.create("many");
    const other = await server.connect(url);
    await other.query("BEGIN; SELECT pg_current_xact_id()"); // each reader must ask for the exact bound
    const store = storeOn(url);
    const threads = Array.from({ length: 16 }, (_, number) => `thread-${number}`);
    const feeds = threads.map((thread) => following(store, { thread }));
    for (const name of ["a", "b"]) await Promise.all(threads.map((thread) => store.commit(event(name, thread))));
    await until("each has seen its events", () => feeds.every(({ seen }) => seen.length === 2), 60_000);
    expect(feeds.map(({ seen }) => callsOf(seen))).toEqual(threads.map(() => ["a", "b"]));
    await other.query("ROLLBACK");
  });

  test("ids go on after the newest when the database was restored on a younger server", async () => {
    const url = await server.create("restored");
    const other = await server.connect(url);
    await other.query(
      `INSERT INTO handrail.events SELECT 9007199254000, 1, 'old', 'main', ${Date.now()}, 'job.ended', '{"call":"old"}', NULL`,
    );
    const store = storeOn(url);
    await store.commit(event("new"));
    expect(callsOf(await all(store))).toEqual(["old", "new"]);
  });

  test("a call ends once, and a process of another machine that does not report is dead", async () => {
    const url = await server.create("silent");
    const writer = storeOn(url);
    await writer.takeThread("main", new AbortController().signal);
    for (const call of ["a", "b"]) await writer.commit(started(call));
    const other = await server.connect(url);
    const move = (table: string) => other.query(`UPDATE handrail.${table} SET host = 'another'`);
    await Promise.all([move("sessions"), move("taken_threads")]);
    const reader = storeOn(url);
    expect(await reader.jobs()).toEqual([]);
    const ends = () => all(reader, { types: ["call.finished"] });
    expect(await ends()).toEqual([]); // nobody knows
    await other.query(`INSERT INTO handrail.beats
      SELECT regexp_replace(process, '"host":"[^"]*"', '"host":"another"'), 0 FROM handrail.beats`);
    expect(await reader.jobs()).toEqual([]);
    expect((await ends()).map(({ call, ...rest }) => [call, (rest as { status?: string }).status])).toEqual([
      ["a", "interrupted"],
      ["b", "interrupted"],
    ]);
    await writer.commit(finished("a"));
    expect((await ends()).length).toBe(2);
    await expect(reader.takeThread("main", new AbortController().signal)).resolves.toBeTypeOf("function");
  });

  const LIBRARY = JSON.stringify(new URL("../../../dist/index.js", import.meta.url).href);

  test("what many writers record at once is sealed, and a change of it is found", async () => {
    const url = await server.create("sealed");
    const verify = () => inOneState(url, (ask) => verifyRecord(ask));
    const stores = Array.from({ length: 6 }, () => storeOn(url));
    await Promise.all(
      stores.map(async (store, number) => {
        for (let call = 0; call < 20; call++) {
          store.append(started(`${number}-${call}`));
          await store.commit(finished(`${number}-${call}`));
        }
        await store.commit(finished("0-0")); // a second end is dropped, in any order
      }),
    );
    expect(await verify()).toMatchObject({ events: 240, unsealed: 0, removed: 0 });
    expect(await verify()).not.toHaveProperty("fault");
    await (await server.connect(url)).query("UPDATE handrail.events SET body = body || ' ' WHERE call = '3-7'");
    expect((await verify()).fault).toMatch(/events of call 3-7 .* were changed/);
  });

  test("two processes that answer one question at the same time: one wins", async () => {
    const url = await server.create("answers");
    const store = storeOn(url);
    for (let round = 0; round < 5; round++) {
      await store.commit(started(`call-${round}`));
      await store.commit(asked(`call-${round}`, `question-${round}`));
    }
    const script = `
      import { postgresStore } from ${LIBRARY};
      const store = postgresStore({ url: ${JSON.stringify(url)} });
      await store.questions();
      process.stdout.write("ready\\n");
      await new Promise((resolve) => process.stdin.once("data", resolve));
      const answers = [0, 1, 2, 3, 4].map((round) => store.answer("question-" + round, { answer: "once" }, "process"));
      process.stdout.write(JSON.stringify((await Promise.all(answers)).map(({ status }) => status)));
      await store.close();
      process.exit();`;
    const processes = [0, 1].map(() => {
      const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
        stdio: ["pipe", "pipe", "inherit"],
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      let output = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
      const ended = new Promise((resolve) => child.once("close", resolve));
      return { child, ended, output: () => output };
    });
    await until("both are ready", () => processes.every(({ output }) => output() === "ready\n"));
    for (const { child } of processes) child.stdin.write("go\n");
    await Promise.all(processes.map(({ ended }) => ended));
    const [one = [], two = []] = processes.map(({ output }) => JSON.parse(output().split("\n")[1] ?? "[]") as string[]);
    const outcomes = one.map((status, round) => new Set([status, two[round]]));
    expect(outcomes).toEqual(outcomes.map(() => new Set(["answered", "closed"])));
    expect(one.length).toBe(5);
    expect((await all(store, { types: ["approval.decided"] })).length).toBe(5);
  });

  test("kill -9 of the server between and during writes: nothing acknowledged is lost, nothing is twice", async () => {
    const url = await server.create("crashes");
    const program = fileURLToPath(new URL("../../fixtures/activity/calls.mjs", import.meta.url));
    const reader = storeOn(url);
    const feed = following(reader);
    const lines: string[] = [];
    const writers = [0, 1, 2].map((number) => {
      const child = spawn(process.execPath, [program, url, `p${number}`, "3"], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      let output = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        const parts = (output + text).split("\n");
        output = parts.pop() ?? "";
        lines.push(...parts);
      });
      return { child, ended: new Promise((resolve) => child.once("close", resolve)) };
    });
    const beginnings = [0, 1, 2].map((number) => `p${number}-`);
    await until("all write", () => beginnings.every((name) => lines.some((line) => line.startsWith(name))), 60_000);
    for (let crash = 0; crash < 4; crash++) {
      const before = lines.length;
      await until("they write", () => lines.length >= before + 100, 60_000);
      await server.crash();
      if (crash % 2 === 0) reader.append(event(`meanwhile-${crash}`));
      await server.start();
    }
    const before = lines.length;
    await until("they write again", () => lines.length >= before + 100, 60_000);
    for (const { child } of writers) child.kill("SIGKILL");
    await Promise.all(writers.map(({ ended }) => ended));
    await reader.commit(event("last"));
    await until("the follower has everything", () => feed.seen.some(({ call }) => call === "last"));
    const kept = await all(reader);
    const seen = new Set(idsOf(feed.seen));
    expect(seen.size).toBe(feed.seen.length);
    expect(kept.filter(({ id }) => !seen.has(id) && id <= (feed.seen.at(-1)?.id ?? 0))).toEqual([]);
    const once = new Map<string, StoredEvent>();
    for (const each of kept) {
      const key = `${each.call} ${each.type}`;
      if (each.type !== "call.updated") expect(once.has(key), key).toBe(false);
      once.set(key, each);
    }
    for (const line of lines) {
      const [call, stage] = line.split(" ");
      for (const type of ["call.started", `call.${stage}`]) expect(once.has(`${call} ${type}`), line).toBe(true);
    }
    for (const crash of [0, 2]) expect(once.has(`meanwhile-${crash} job.ended`)).toBe(true);
    await reader.close();
    await feed.ended;
  }, 240_000);
});
