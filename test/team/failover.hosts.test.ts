// Calls on workers while PostgreSQL fails over to a standby: real servers, and an address that leads to the primary.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { postgresStore } from "../../src/record/activity/postgres-store.ts";
import type { StoredEvent } from "../../src/core/contract/activity.ts";
import type { CallId } from "../../src/core/contract/identity.ts";
import { createToolkit } from "../../src/app/toolkit.ts";
import { commandLine } from "../cli/program.ts";
import { mustBeHere } from "../support/here.ts";
import { type PostgresServer, postgresProblem, postgresServer } from "../support/postgres.ts";
import { proxyTo } from "../support/proxy.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";

const problem = postgresProblem();
mustBeHere("PostgreSQL", problem);

describe.skipIf(problem !== undefined)("calls on workers while PostgreSQL fails over", { timeout: 120_000 }, () => {
  /** A primary and its standby, a worker and a caller that reach the primary, and how the primary is lost. */
  async function team() {
    const primary = await postgresServer();
    const direct = await primary.create("team");
    const standby = await postgresServer({ standbyOf: primary });
    const proxy = await proxyTo(primary.port);
    const url = direct.replace(`:${primary.port}/`, `:${proxy.port}/`);
    const worker = async () => {
      const line = await commandLine();
      mkdirSync(join(line.configHome, "handrail"), { recursive: true });
      const settings = `store: ${url}\nundo: off\npolicy: { autonomy: full, sandbox: off }\n`;
      writeFileSync(join(line.configHome, "handrail", "config.yaml"), settings);
      const running = line.start(["worker", "--name", "build"]);
      onTestFinished(async () => {
        running.kill("SIGKILL");
        await running.ended;
      });
      await until("the worker has reported", () => running.stdout().includes("makes calls"), 60_000);
      const runs = () =>
        existsSync(join(line.folder, "runs")) ? readFileSync(join(line.folder, "runs"), "utf8").trim().split("\n") : [];
      return { running, runs, go: () => writeFileSync(join(line.folder, "go"), "") };
    };
    const first = await worker();
    const store = postgresStore({ url });
    const toolkit = await createToolkit({
      ...{ target: "worker:build", store, stateDir: temporaryFolder(), preset: "all", policy: { autonomy: "full" } },
    });
    onTestFinished(() => toolkit.close());
    const call = (id: string) =>
      toolkit.call({
        ...{ name: "bash", id, thread: id },
        input: { command: `echo ${id} >> runs; while ! [ -e go ]; do sleep 0.05; done; echo done` },
      });
    const ends = async (id: CallId) => {
      const found: StoredEvent[] = [];
      for await (const event of store.events({ types: ["call.finished"] })) if (event.call === id) found.push(event);
      return found.map((event) => (event.type === "call.finished" ? event.status : ""));
    };
    const failOver = async () => {
      await primary.crash();
      const there = await standby.connect(standby.url("postgres"));
      await there.query("SELECT pg_promote()");
      proxy.leadTo(standby.port);
    };
    return { ...{ primary, standby, direct, worker, first, call, ends, failOver, toolkit } };
  }

  const countOf = async (client: Client, what: string) =>
    Number((await client.query<{ count: string }>(`SELECT count(*) AS count FROM handrail.${what}`)).rows[0]?.count);

  /** From now on, the standby receives no commits. */
  async function cutOff(standby: PostgresServer) {
    const there = await standby.connect(standby.url("postgres"));
    await there.query("ALTER SYSTEM SET primary_conninfo = ''");
    await there.query("SELECT pg_reload_conf()");
    await until(
      "it receives nothing",
      async () => (await there.query("SELECT FROM pg_stat_wal_receiver")).rowCount === 0,
    );
  }

  test("a standby that has not received the claim of a call: it ends as unknown, and nobody runs it again", async () => {
    const { standby, worker, first, call, ends, failOver, toolkit } = await team();
    first.running.kill("SIGSTOP");
    const result = call("claimed");
    const there = await standby.connect(standby.url("team"));
    await until("the standby has the call", async () => (await countOf(there, "parked_calls")) === 1);
    await cutOff(standby);
    first.running.kill("SIGCONT");
    await until("it runs", () => first.runs().length === 1);
    await failOver();
    const second = await worker();
    expect(await result).toMatchObject({
      ...{ status: "failed", message: expect.stringContaining("Whether it ran is unknown") },
    });
    first.go();
    second.go();
    expect((await call("after")).status).toBe("ok");
    expect([...first.runs(), ...second.runs()].toSorted()).toEqual(["after", "claimed"]);
    expect(await ends("claimed")).toEqual(["interrupted"]);
    expect(await toolkit.store.parked()).toEqual([]);
  });

  test("a standby that has not received a call at all: its end is recorded and arrives all the same", async () => {
    const { standby, first, call, ends, failOver } = await team();
    await cutOff(standby);
    const result = call("unseen");
    await until("it runs", () => first.runs().length === 1);
    await failOver();
    first.go();
    expect((await result).status).toBe("ok");
    expect((await call("after")).status).toBe("ok");
    expect(first.runs()).toEqual(["unseen", "after"]);
    expect(await ends("unseen")).toEqual(["ok"]);
  });

  test("a standby that has not received a call whose worker then dies: its caller learns that it is unknown", async () => {
    const { standby, first, call, failOver } = await team();
    await cutOff(standby);
    const result = call("gone");
    await until("it runs", () => first.runs().length === 1);
    first.running.kill("SIGKILL");
    await failOver();
    expect(await result).toMatchObject({
      ...{ status: "failed", message: expect.stringContaining("Whether it ran is unknown") },
    });
  });

  test("a synchronous standby: calls that run during the failover end once, and none is lost", async () => {
    const { primary, first, call, ends, failOver, toolkit } = await team();
    const there = await primary.connect(primary.url("postgres"));
    await there.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
    await there.query("SELECT pg_reload_conf()");
    const state = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'";
    await until("commits wait for the standby", async () => (await there.query(state)).rowCount === 1);
    const names = ["a", "b", "c", "d"];
    const results = names.map(call);
    await until("they run", () => first.runs().length === names.length);
    const waiting = call("waits"); // the worker has four places
    await until("it waits", async () => (await toolkit.store.parked({ states: ["ready"] })).length === 1);
    await failOver();
    first.go();
    expect((await Promise.all(results)).map(({ status }) => status)).toEqual(names.map(() => "ok"));
    expect(await waiting).toMatchObject({ message: expect.stringContaining("Whether it ran is unknown") });
    expect(first.runs().toSorted()).toEqual(names);
    for (const name of names) expect(await ends(name)).toEqual(["ok"]);
    expect(await ends("waits")).toEqual(["interrupted"]);
  });
});
