import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { sqliteStore } from "../../../src/record/activity/sqlite-store.ts";
import type { ActivityEvent } from "../../../src/core/contract/activity.ts";
import type { Json } from "../../../src/core/contract/schema.ts";
import { storeSuite } from "../../suites/store-suite.ts";
import { until } from "../../support/until.ts";
import { temporaryFolder } from "../../support/workspace.ts";
import { all, event, following, idsOf } from "./events.ts";
import { besides, callsOf, heavy, newFile, started, storeOn } from "./stores.ts";

const places = temporaryFolder();
storeSuite(
  { name: "sqlite", open: async (place) => sqliteStore({ file: `${places}/${place}/handrail.db` }) },
  { describe, test, afterAll },
);

test("a search of a large record stops after 64 MB, and continues where it stopped", async () => {
  const store = storeOn(newFile());
  await store.commit({ ...started("sought"), input: { command: "the needle" } });
  const calls = Array.from({ length: 9 }, (_, index) => `call-${index}`);
  for (const call of calls) await store.commit(heavy(call, 8_000_000));
  const ids = idsOf(await all(store));
  const first = await store.search({ text: "needle" });
  expect(first).toEqual({ hits: [], next: { before: ids[1], at: expect.any(Number) as number } });
  const last = await store.search({ text: "needle", before: first.next?.before ?? 0 });
  expect(last).toMatchObject({ hits: [{ call: "sought" }] });
  expect(last.next).toBeUndefined();
});

describe("the file", () => {
  test("is created for this user alone with the first event, and not before", async () => {
    const file = newFile();
    const store = storeOn(file);
    await store.close();
    expect(existsSync(dirname(file))).toBe(false);
    const used = storeOn(file);
    await used.commit(event("a"));
    const modes = readdirSync(dirname(file)).map((name) => [name, statSync(join(dirname(file), name)).mode & 0o777]);
    expect(modes.map(([name]) => name)).toContain("handrail.db-wal");
    expect(new Set(modes.map(([, mode]) => mode))).toEqual(new Set([0o600]));
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
  });

  test("keeps its content, and its ids are never reused", async () => {
    const file = newFile();
    const first = storeOn(file);
    for (const call of ["a", "b"]) first.append(event(call));
    await first.close();
    (await besides(file)).exec("DELETE FROM events WHERE call = 'b'");
    const second = storeOn(file);
    await second.commit(event("c"));
    expect((await all(second)).map(({ id, call }) => [id, call])).toEqual([
      [1, "a"],
      [3, "c"],
    ]);
  });

  test("can be followed by other processes", async () => {
    const file = newFile();
    const [writer, reader] = [storeOn(file), storeOn(file)];
    const feed = following(reader);
    for (let index = 0; index < 5; index++) {
      writer.append(event(`call-${index}`));
      await until("the other store has seen it", () => feed.seen.length === index + 1);
    }
    await reader.close();
    await feed.ended;
    expect(callsOf(feed.seen)).toEqual(["call-0", "call-1", "call-2", "call-3", "call-4"]);
  });
});

describe("appending", () => {
  test("keeps an event as it was, also when the object is changed later", async () => {
    const store = storeOn(newFile());
    const input = { command: "ls", list: ["a"] };
    const data: { [key: string]: string } = { step: "one" };
    const at = Date.now();
    store.append({ call: "a", thread: "main", at, type: "call.started", name: "bash", input });
    store.append({ call: "a", thread: "main", at, type: "call.updated", update: { data } });
    input.list.push("b");
    data["step"] = "two";
    expect(await all(store)).toMatchObject([
      { input: { command: "ls", list: ["a"] } },
      { update: { data: { step: "one" } } },
    ]);
  });

  test("refuses what cannot be recorded, and keeps the rest", async () => {
    const store = storeOn(newFile());
    const circle: { [key: string]: Json } = {};
    circle["self"] = circle;
    const circular: ActivityEvent = { ...started("x"), input: circle };
    const wrong = [
      { ...event("x"), call: undefined },
      { ...event("x"), at: NaN },
      { ...event("x"), thread: 7 },
    ] as unknown as ActivityEvent[];
    store.append(event("a"));
    for (const each of wrong)
      expect(() => store.append(each)).toThrow("expected an event with call, thread and type as text");
    expect(() => store.append(circular)).toThrow("circular");
    await expect(store.commit(circular)).rejects.toThrow("circular");
    await store.commit(event("b"));
    expect(callsOf(await all(store))).toEqual(["a", "b"]);
  });

  test("faster than the event loop is written in between, completely and in order", async () => {
    const store = storeOn(newFile(), { maxEvents: 1_000_000 });
    await store.commit(event("first"));
    for (let index = 0; index < 5_000; index++) store.append(heavy(`call-${index}`, 2_000));
    const calls = callsOf(await all(store));
    expect(calls).toEqual(["first", ...Array.from({ length: 5_000 }, (_, index) => `call-${index}`)]);
  });

  test("is refused with the reason when too much waits and cannot be written", async () => {
    const folder = temporaryFolder();
    const store = storeOn(folder); // a folder cannot be a database
    await expect(store.commit(event("a"))).rejects.toThrow("cannot be opened");
    const appendMany = () => {
      for (let index = 0; index < 20; index++) store.append(heavy(`call-${index}`, 8_000_000));
    };
    expect(appendMany).toThrow(/^6\dMB of events wait to be recorded, which is the limit: .* cannot be opened/);
    await expect(store.close()).rejects.toThrow("8 events could not be recorded");
  });

  test("a flood of updates becomes few rows, and the state of the call and its output stay the same", async () => {
    const store = storeOn(newFile());
    const at = Date.now();
    const update = (number: number) => ({
      displayMessage: `${number}`,
      data: { [`key${number % 3}`]: number },
      output: `${number}\n`,
    });
    for (let number = 0; number < 5_000; number++) {
      store.append({ call: "a", thread: "main", at, type: "call.updated", update: update(number) });
    }
    const kept = await all(store);
    const updates = kept.map((each) => (each.type === "call.updated" ? each.update : {}));
    expect(kept.length).toBeLessThan(50);
    expect(updates.at(-1)?.displayMessage).toBe("4999");
    expect(Object.assign({}, ...updates.map(({ data }) => data))).toEqual({ key0: 4_998, key1: 4_999, key2: 4_997 });
    expect(updates.map(({ output }) => output).join("")).toBe(
      Array.from({ length: 5_000 }, (_, number) => `${number}\n`).join(""),
    );
  });

  test("live output above the limit is omitted with a notice, for each call separately", async () => {
    const store = storeOn(newFile(), { liveOutput: 10 });
    const output = (call: string, text: string): ActivityEvent => {
      return { call, thread: "main", at: Date.now(), type: "call.updated", update: { output: text } };
    };
    for (const text of ["12345", "67890abc", "more", "and more"]) await store.commit(output("a", text));
    await store.commit(output("b", "1234567890"));
    await store.commit({
      ...output("a", "beyond"),
      update: { output: "beyond", displayMessage: "kept" },
    } as ActivityEvent);
    const kept = (await all(store)).map((each) => (each.type === "call.updated" ? each.update : each));
    expect(kept).toEqual([
      { output: "12345" },
      { output: "67890…\n[more live output of this call is not recorded: it is over 10B]\n" },
      { output: "1234567890" },
      { displayMessage: "kept" },
    ]);
  });
});

describe("a database that others lock", () => {
  test("is waited for without blocking the event loop, and then everything is recorded in order", async () => {
    const file = newFile();
    const store = storeOn(file);
    await store.commit(event("a"));
    const other = await besides(file);
    other.exec("BEGIN IMMEDIATE");
    store.append(event("b"));
    let done = false;
    const commit = store.commit(event("c")).then(() => (done = true));
    let turns = 0;
    await until("the event loop has turned many times meanwhile", () => ++turns > 50);
    expect(done).toBe(false);
    expect(callsOf(await all(storeOn(file)))).toEqual(["a"]);
    other.exec("COMMIT");
    await commit;
    expect(callsOf(await all(store))).toEqual(["a", "b", "c"]);
  });

  test("for too long is an error: the commit is withdrawn, and appended events are recorded later", async () => {
    const file = newFile();
    const store = storeOn(file, { patienceMs: 50 });
    await store.commit(event("a"));
    const other = await besides(file);
    other.exec("BEGIN IMMEDIATE");
    store.append(event("b"));
    await expect(store.commit(event("c"))).rejects.toThrow(/handrail\.db is locked by another process \(for \d/);
    store.append(event("d"));
    expect(callsOf(await all(store))).toEqual(["a"]); // it can still be read
    other.exec("COMMIT");
    const reader = storeOn(file);
    await until("what was appended is there", async () => (await all(reader)).length === 3);
    await store.commit(event("e"));
    expect(callsOf(await all(reader))).toEqual(["a", "b", "d", "e"]);
  });

  test("while the store closes loses nothing silently: closing reports how many events, and why", async () => {
    const file = newFile();
    const store = storeOn(file, { patienceMs: 50 });
    await store.commit(event("a"));
    const other = await besides(file);
    other.exec("BEGIN IMMEDIATE");
    store.append(event("b"));
    store.append(event("c"));
    await expect(store.close()).rejects.toThrow(/^2 events could not be recorded: .*handrail\.db is locked/);
    await expect(store.close()).rejects.toThrow("2 events could not be recorded");
  });
});

describe("a file that cannot be used is refused with a sentence that names it", () => {
  const refusal = async (file: string) => {
    const store = storeOn(file);
    store.append(event("appended"));
    const error = await store.commit(event("a")).then(
      () => undefined,
      (reason: Error) => reason,
    );
    await expect(all(store)).rejects.toThrow(error?.message ?? "the same");
    await expect(store.close()).rejects.toThrow("1 event could not be recorded");
    return error?.message;
  };

  test("no database", async () => {
    const file = join(temporaryFolder(), "notes.txt");
    const text = "Dear diary, this is no database. ".repeat(100);
    writeFileSync(file, text);
    expect(await refusal(file)).toBe(
      `${file} is not a SQLite database. Move it away, or name another file; a missing file is created.`,
    );
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  test("a folder, and a file in a folder that cannot be made", async () => {
    const folder = temporaryFolder();
    expect(await refusal(folder)).toContain(`${folder} cannot be opened`);
    writeFileSync(join(folder, "file"), "");
    expect(await refusal(join(folder, "file", "x.db"))).toContain(
      `${join(folder, "file", "x.db")} cannot be made (ENOTDIR`,
    );
  });

  test("the database of another program", async () => {
    const file = join(temporaryFolder(), "theirs.db");
    const theirs = await besides(file);
    theirs.exec("CREATE TABLE recipes (name TEXT)");
    expect(await refusal(file)).toContain(`${file} is the database of another program`);
    expect(theirs.all("SELECT name FROM sqlite_schema")).toMatchObject([{ name: "recipes" }]);
  });

  test("one of a newer version", async () => {
    const file = newFile();
    await storeOn(file).commit(event("a"));
    (await besides(file)).exec("PRAGMA user_version = 999");
    expect(await refusal(file)).toMatch(
      /was made by a newer Handrail \(database version 999; this one knows up to \d+\)\. Update/,
    );
  });

  test("a damaged one, and after it is moved away recording continues", async () => {
    const file = newFile();
    const store = storeOn(file);
    for (let index = 0; index < 200; index++) store.append(event(`call-${index}`));
    await store.close();
    (await besides(file)).exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const bytes = readFileSync(file);
    bytes.fill(0xa5, 4_096);
    for (const suffix of ["-wal", "-shm"]) rmSync(file + suffix, { force: true });
    writeFileSync(file, bytes);
    const next = storeOn(file);
    next.append(event("appended"));
    await expect(next.commit(event("a"))).rejects.toThrow(`${file} is damaged`);
    for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
    await next.commit(event("b"));
    expect(callsOf(await all(next))).toEqual(["appended", "b"]);
  });

  test.skipIf(process.platform !== "linux" || process.getuid?.() !== 0)(
    "one on a full disk (NOT RUN without root on Linux: it needs a mount)",
    async () => {
      const disk = temporaryFolder();
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=512k", "tmpfs", disk]);
      onTestFinished(() => void execFileSync("umount", ["-l", disk]));
      const file = join(disk, "handrail.db");
      const store = storeOn(file);
      await store.commit(event("a"));
      writeFileSync(join(disk, "ballast"), new Uint8Array(statSync(disk).blksize));
      await expect(store.commit(heavy("big", 600_000))).rejects.toThrow(
        /handrail\.db (cannot grow: the disk is full|cannot be read or written)/,
      );
      await store.commit(event("b"));
      expect(callsOf(await all(store))).toEqual(["a", "b"]);
      await store.close();
      expect((await besides(file)).all("PRAGMA integrity_check")).toMatchObject([{ integrity_check: "ok" }]);
    },
  );

  test("invalid limits", () => {
    for (const name of ["maxAgeDays", "maxEvents", "maxBytes", "liveOutput", "patienceMs"])
      for (const limit of [0, -1, 1.5, NaN, Infinity])
        expect(() => sqliteStore({ file: "x.db", [name]: limit })).toThrow(
          `${name} ${limit}: expected a whole number above 0`,
        );
  });
});
