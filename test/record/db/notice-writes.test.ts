import { spawn } from "node:child_process";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { sqliteStore } from "../../../src/record/activity/sqlite-store.ts";
import type { StoredEvent } from "../../../src/core/contract/activity.ts";
import { loadEngine } from "../../../src/record/db/driver.ts";
import { noticeWrites } from "../../../src/record/db/notice-writes.ts";
import { until } from "../../support/until.ts";
import { temporaryFolder } from "../../support/workspace.ts";

/** Looks that are due only in an hour: what is noticed before was reported by the system. */
const lookMs = 3_600_000;

afterEach(() => void vi.unstubAllGlobals());

/** Follows a store in this process. Returns what it has seen so far. */
async function following(file: string): Promise<readonly StoredEvent[]> {
  const store = sqliteStore({ file, lookMs });
  const stop = new AbortController();
  onTestFinished(async () => {
    stop.abort();
    await store.close();
  });
  const seen: StoredEvent[] = [];
  await new Promise<void>((begun) => {
    void (async () => {
      for await (const event of store.events({ follow: true, begun, signal: stop.signal })) seen.push(event);
    })();
  });
  return seen;
}

/** A database with the tables of the record, and a connection to it that rings for nobody. */
async function silently(file: string) {
  const store = sqliteStore({ file });
  store.append({ type: "call.started", call: "first", thread: "t", at: 1, name: "noop", input: {} });
  await store.close();
  const connection = (await loadEngine())(file);
  onTestFinished(() => connection.close());
  const insert = (call: string) =>
    connection.run(
      "INSERT INTO events (session, call, thread, at, type, body) SELECT session, ?, thread, at, type, replace(body, " +
        "'\"first\"', ?) FROM events WHERE call = 'first'",
      [call, JSON.stringify(call)],
    );
  return { connection, insert };
}

describe("a follower that never looks by itself", () => {
  test("gets the events of processes that are killed while they write, and of those that come after", async () => {
    const file = `${temporaryFolder()}/state/events.db`;
    const seen = await following(file);
    for (const name of ["one", "two"]) {
      const program = new URL("../../fixtures/activity/calls.mjs", import.meta.url).pathname;
      const child = spawn(process.execPath, [program, file, name, "2"], { stdio: "ignore" });
      const ended = new Promise((resolve) => child.once("close", resolve));
      await until("an end", () =>
        seen.some(({ call, type }) => call?.startsWith(name) === true && type === "call.finished"),
      );
      child.kill("SIGKILL");
      expect(await ended).toBe(null);
    }
  });

  test("gets what is committed without a ring, and what a transaction commits long after its last write", async () => {
    const file = `${temporaryFolder()}/events.db`;
    const { connection, insert } = await silently(file);
    const seen = await following(file);
    insert("second");
    await until("the event", () => seen.some(({ call }) => call === "second"));
    let looks = 0;
    onTestFinished(noticeWrites(file, () => (looks += 1) < 0, lookMs));
    connection.exec("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE");
    for (let row = 0; row < 500; row++) insert(`spilled-${row}`);
    await until("looks that find nothing", () => looks > 5);
    expect(seen.some(({ call }) => call === "spilled-0")).toBe(false);
    connection.exec("COMMIT");
    await until("the event", () => seen.some(({ call }) => call === "spilled-499"));
  });

  test("gets events that are written after the log was emptied", async () => {
    const file = `${temporaryFolder()}/events.db`;
    const { connection, insert } = await silently(file);
    const seen = await following(file);
    connection.all("PRAGMA wal_checkpoint(TRUNCATE)");
    insert("second");
    await until("the event", () => seen.some(({ call }) => call === "second"));
    expect(seen.map(({ call }) => call)).toEqual(["first", "second"]);
  });
});

test("the log may be removed with its last connection, and created again, while it is watched", async () => {
  const folder = temporaryFolder();
  const file = `${folder}/events.db`;
  const first = await silently(file);
  let looks = 0;
  onTestFinished(noticeWrites(file, () => (looks += 1) > 0, lookMs));
  first.connection.close();
  const before = looks;
  const { insert } = await silently(file);
  insert("second");
  await until("a look", () => looks > before);
  expect(looks).toBeGreaterThan(before);
});

test("where the system reports no writes, the database is looked at regularly", async () => {
  const file = `${temporaryFolder()}/events.db`;
  await silently(file);
  vi.stubGlobal("process", { ...process, platform: "aix" });
  let looks = 0;
  onTestFinished(noticeWrites(file, () => (looks += 1) > 0, 5));
  await until("a look", () => looks > 3);
  expect(looks).toBeGreaterThan(3);
});
