import { statSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { SqliteStoreOptions } from "../../../src/record/activity/sqlite-store.ts";
import { until } from "../../support/until.ts";
import { all, event, idsOf } from "./events.ts";
import { besides, callsOf, newFile, storeOn } from "./stores.ts";

describe("data that is too old or too large", () => {
  const DAY = 86_400_000;
  const NOW = 1_800_000_000_000;

  async function record(file: string, call: string, at: number, ends = true, filler = ""): Promise<void> {
    const store = storeOn(file, { now: () => 0 });
    store.append({ call, thread: "main", at, type: "call.started", name: "bash", input: { filler } });
    if (ends) store.append({ call, thread: "main", at, type: "call.finished", status: "ok" });
    await store.close();
  }

  /** Returns the remaining calls, once the daily removal has left this many. */
  async function left(
    file: string,
    count: number,
    options: Partial<SqliteStoreOptions> = {},
  ): Promise<readonly string[]> {
    const store = storeOn(file, { now: () => NOW, ...options });
    const calls = async () => [...new Set(callsOf(await all(store)))];
    await until(`only ${count} calls are left`, async () => (await calls()).length <= count);
    return await calls();
  }

  test("is removed by age in whole calls, except calls in progress", async () => {
    const file = newFile();
    await record(file, "old", NOW - 31 * DAY);
    await record(file, "old and going on", NOW - 40 * DAY, false);
    await record(file, "older still", NOW - 60 * DAY);
    await record(file, "young", NOW - 29 * DAY);
    expect(await left(file, 2)).toEqual(["old and going on", "young"]);
  });

  test("is removed by number, oldest first", async () => {
    const file = newFile();
    for (let index = 0; index < 10; index++) await record(file, `call-${index}`, NOW, index !== 3);
    expect(await left(file, 5, { maxEvents: 9 })).toEqual(["call-3", "call-6", "call-7", "call-8", "call-9"]);
  });

  test("is removed by size, and the file shrinks", async () => {
    const file = newFile();
    const store = storeOn(file, { now: () => 0 });
    for (let index = 0; index < 200; index++) {
      const call = `call-${index}`;
      store.append({ call, thread: "main", at: NOW, type: "call.started", name: "bash", input: "x".repeat(50_000) });
      store.append({ call, thread: "main", at: NOW, type: "call.finished", status: "ok" });
    }
    await store.close();
    const other = await besides(file);
    const size = () => {
      other.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      return statSync(file).size;
    };
    expect(size()).toBeGreaterThan(10_000_000);
    const clearing = storeOn(file, { now: () => NOW, maxBytes: 5_000_000 });
    await all(clearing);
    await until("the file is smaller", () => size() < 5_000_000);
    expect(callsOf(await all(clearing))).toContain("call-199");
    await clearing.close();
    expect(other.all("PRAGMA integrity_check")).toMatchObject([{ integrity_check: "ok" }]);
  });

  test("is removed by size while two stores write, and calls in progress stay", async () => {
    const file = newFile();
    const LIMIT = 4_000_000;
    const stores = [storeOn(file, { maxBytes: LIMIT }), storeOn(file, { maxBytes: LIMIT })];
    stores[0]!.append({ call: "in progress", thread: "main", at: 1, type: "call.started", name: "bash", input: {} });
    const used = async () => {
      const [found] = (await besides(file)).all<{ bytes: number }>(
        "SELECT (page_count - freelist_count) * page_size AS bytes FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
      );
      return found?.bytes ?? 0;
    };
    let most = 0;
    for (let index = 0; index < 160; index++) {
      for (const [number, store] of stores.entries()) {
        const call = `call-${number}-${index}`;
        const input = "x".repeat(50_000);
        await store.commit({ call, thread: "main", at: Date.now(), type: "call.started", name: "bash", input });
        await store.commit({ call, thread: "main", at: Date.now(), type: "call.finished", status: "ok" });
      }
      if (index % 10 === 0) most = Math.max(most, await used());
    }
    expect(most).toBeGreaterThan(LIMIT / 2);
    expect(most).toBeLessThan(1.1 * LIMIT);
    const kept = new Set(callsOf(await all(stores[0]!)));
    expect([kept.has("in progress"), kept.has("call-1-159"), kept.has("call-0-0")]).toEqual([true, true, false]);
    const size = () => statSync(file).size + statSync(`${file}-wal`).size;
    expect(size()).toBeLessThan(1.1 * LIMIT + 20_000_000);
  });

  test("is removed by number in a running session too", async () => {
    const file = newFile();
    const store = storeOn(file, { maxEvents: 320 });
    for (let index = 0; index < 800; index++) {
      await store.commit({
        call: `call-${index}`,
        thread: "main",
        at: Date.now(),
        type: "call.finished",
        status: "ok",
      });
    }
    await until("the oldest are removed", async () => (await all(store)).length <= 340);
    expect(callsOf(await all(store))).toContain("call-799");
  });

  test("is checked for age at most once a day", async () => {
    const file = newFile();
    await record(file, "one", NOW);
    expect(await left(file, 0, { now: () => NOW + 31 * DAY })).toEqual([]);
    await record(file, "two", NOW);
    const soon = storeOn(file, { now: () => NOW + 31 * DAY + 3_600_000 });
    await soon.commit({ ...event("three"), at: NOW + 31 * DAY });
    await soon.close();
    expect([...new Set(callsOf(await all(soon)))]).toEqual(["two", "three"]);
    expect(await left(file, 1, { now: () => NOW + 33 * DAY })).toEqual(["three"]);
  });

  test("and in progress on silent hosts is closed first", async () => {
    const file = newFile();
    await record(file, "lost", NOW - 40 * DAY, false);
    (await besides(file)).exec("UPDATE sessions SET host = 'elsewhere'");
    const store = storeOn(file, { now: () => NOW });
    await all(store);
    await until("it is closed", async () => (await all(store)).some(({ type }) => type === "call.finished"));
    expect(idsOf(await all(store))).toHaveLength(2);
  });
});
