import { describe, expect, test } from "vitest";
import type { DatabaseConnection } from "../../../src/record/db/driver.ts";
import { commandLine } from "../../cli/program.ts";
import { besides, newFile, started, storeOn } from "./stores.ts";

const ended = (call: string, at = Date.now()) =>
  ({ call, thread: "main", at, type: "call.finished", status: "ok" }) as const;

/** A record of two writers, in several transactions. */
async function recorded(calls = 6, options: Parameters<typeof storeOn>[1] = {}) {
  const file = newFile();
  const stores = [storeOn(file, options), storeOn(file, options)];
  for (let number = 0; number < calls; number++) {
    const store = stores[number % 2];
    store?.append(started(`c${number}`));
    store?.append(started(`other${number}`));
    await store?.commit(ended(`c${number}`));
  }
  await Promise.all(stores.map((store) => store.close()));
  return { file, connection: await besides(file) };
}

const { here } = await commandLine();
const verify = (file: string, ...more: readonly string[]) => here(["verify", "--store", `sqlite:${file}`, ...more]);
const headOf = (stdout: string) => /^Head: (\S+)$/m.exec(stdout)?.[1] ?? "";

test("a record is as it was recorded, and its head stays in it while it grows", async () => {
  const { file } = await recorded();
  const first = await verify(file);
  expect(first).toMatchObject({ code: 0, stderr: "" });
  expect(first.stdout).toMatch(
    /^Read 18 events in \d+ seals\.\nNothing was changed, removed, added or moved\.\nHead: /,
  );
  const store = storeOn(file);
  await store.commit(started("later"));
  await store.close();
  const later = await verify(file, "--head", headOf(first.stdout));
  expect(later).toMatchObject({ code: 0 });
  expect(headOf(later.stdout)).not.toBe(headOf(first.stdout));
});

describe("it is found that", () => {
  const move = (id: number, to: number) => `UPDATE events SET id = ${to} WHERE id = ${id};`;
  test.for<[what: string, change: string, fault: RegExp]>([
    [
      "a row was changed",
      "UPDATE events SET body = replace(body, 'bash', 'ls') WHERE id = 4",
      /call c1 .* were changed/,
    ],
    ["its type was", "UPDATE events SET type = 'call.parked' WHERE id = 5", /were changed/],
    ["its writer was", "UPDATE events SET session = 99 WHERE id = 5", /were changed/],
    ["a row was removed", "DELETE FROM events WHERE id = 6", /call c1 at or after event 4 were changed/],
    [
      "all rows of a call were",
      "DELETE FROM events WHERE call = 'other2'",
      /call other2 were removed .* not by retention/,
    ],
    ["the newest rows were", "DELETE FROM events WHERE id > 15", /were removed/],
    [
      "a row was added",
      "INSERT INTO events SELECT 1000, session, call, thread, at, type, body FROM events WHERE id = 2",
      /event 1000 was added/,
    ],
    ["two rows were exchanged", move(4, 999) + move(5, 4) + move(999, 5), /were changed/],
    ["a call was moved", "UPDATE events SET call = 'c9' WHERE call = 'c3'", /call c9 was added or moved/],
    [
      "a seal was changed",
      "UPDATE seals SET calls = '{}' WHERE first = 4",
      /the seal of the events 4 to 6 was changed/,
    ],
    [
      "a seal was removed with its rows",
      "DELETE FROM events WHERE id BETWEEN 4 AND 6; DELETE FROM seals WHERE first = 4",
      /links to a seal of event 4 that was removed/,
    ],
    [
      "the oldest were",
      "DELETE FROM events WHERE id < 7; DELETE FROM seals WHERE first < 7",
      /links to a seal of event 4 that was removed/,
    ],
  ])("%s", async ([, change, fault]) => {
    const { file, connection } = await recorded();
    connection.exec(change);
    const { code, stdout } = await verify(file);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^BROKEN: /m);
    expect(stdout).toMatch(fault);
  });

  test("the newest rows were removed with their seals, by a head that somebody kept", async () => {
    const { file, connection } = await recorded();
    const { stdout } = await verify(file);
    connection.exec("DELETE FROM events WHERE id > 15; DELETE FROM seals WHERE first > 15");
    expect(await verify(file)).toMatchObject({ code: 0 });
    const found = await verify(file, "--head", headOf(stdout));
    expect(found.code).toBe(1);
    expect(found.stdout).toMatch(/BROKEN: the head .* is not in the record/);
  });
});

describe("retention", () => {
  const countIn = (connection: DatabaseConnection, table: string) =>
    connection.all<{ count: number }>(`SELECT count(*) AS count FROM ${table}`)[0]?.count ?? 0;

  test("leaves a checkpoint and what it removed, and the record is still as it was recorded", async () => {
    const now = Date.now();
    const file = newFile();
    const store = storeOn(file, { maxAgeDays: 1 });
    const old = now - 3 * 86_400_000;
    for (let number = 0; number < 40; number++) {
      store.append({ ...started(`old${number}`), at: old });
      if (number === 20) store.append({ ...started("kept"), at: old });
      await store.commit(ended(`old${number}`, old));
    }
    await store.commit(started("new"));
    await store.close();
    const { stdout: before } = await verify(file);
    const cleared = await besides(file);
    cleared.exec("DELETE FROM chores");
    const again = storeOn(file, { maxAgeDays: 1 });
    await again.questions(); // opens it, and looks for what is too old
    await again.commit(started("newest"));
    const connection = await besides(file);
    await expect.poll(() => countIn(connection, "events"), { timeout: 20_000 }).toBe(3);
    await again.close();
    const { code, stdout } = await verify(file);
    expect({ code, stdout }).toMatchObject({ code: 0 });
    expect(stdout).toMatch(/^Retention has removed everything up to the seal \d+:/m);
    expect(stdout).toMatch(/^Retention has removed the events of 20 calls from these seals\.$/m);
    expect(await verify(file, "--head", headOf(before))).toMatchObject({ code: 0 });
    connection.exec("DELETE FROM events WHERE call = 'kept'");
    expect((await verify(file)).stdout).toMatch(/call kept were removed .* not by retention/);
  });
});

test("what has no seals is refused, with the reason", async () => {
  const empty = newFile();
  expect((await verify(empty)).stderr).toMatch(/does not exist: name the handrail.db/);
  const { file } = await recorded(1);
  expect((await verify(file, "--head", "1:x")).stderr).toMatch(/--head 1:x: expected NUMBER:HASH/);
});
