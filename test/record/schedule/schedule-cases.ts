import { expect, test } from "vitest";
import type { NewSchedule, RunState } from "../../../src/core/contract/schedule.ts";
import { GRACE_MS, type SchedulesOptions, openSchedules } from "../../../src/record/schedule/schedules.ts";
import { type WrittenTiming, loadCron, nextRuns, readTiming } from "../../../src/record/schedule/timing.ts";

const START = Date.parse("2026-01-01T00:00:00Z");
const MINUTE = 60_000;
const TARGET = "local:/w";

type Place = Pick<SchedulesOptions, "file" | "url">;

/** Several processes on one database, with one clock, some of which can be dead. */
function processesOn(place: Place) {
  const clock = { now: START };
  const dead = new Set<string>();
  const opened = (name: string) =>
    openSchedules({
      ...place,
      process: { own: () => name, isDead: (identity) => dead.has(identity) },
      mask: (text) => text,
      now: () => clock.now,
    });
  return { clock, dead, opened };
}

await loadCron();

const schedule = (written: WrittenTiming, more: Partial<NewSchedule> = {}): NewSchedule => ({
  name: "job",
  timing: readTiming({ tz: "UTC", ...written }, START),
  work: { command: "true" },
  deleteAfterRun: written.kind === "at",
  overlap: "skip",
  maxSeconds: 120,
  ...more,
});
const origin = { target: TARGET, thread: "main" };
const all = { limit: 10, may: () => true };
const minutes = (times: readonly { readonly plannedMs: number }[]) =>
  times.map(({ plannedMs }) => (plannedMs - START) / MINUTE);

/** What schedules do, in the databases that `place` gives. */
export function scheduleCases(place: () => Promise<Place>): void {
  test("of three processes one claims each time of a year of a fake clock, which is also set back", async () => {
    const { clock, opened } = processesOn(await place());
    const three = ["a", "b", "c"].map(opened);
    const [one] = three as [(typeof three)[0]];
    const ran = new Map<string, number[]>();
    // The changes of daylight saving are on Sundays.
    for (const tz of ["Europe/Berlin", "America/New_York", "Asia/Kolkata"]) {
      await one.add(schedule({ kind: "cron", expr: "30 2 * * 0", tz }, { name: tz }), origin);
      ran.set(tz, []);
    }
    const step = async () => {
      for (const { claimed } of await Promise.all(three.map((each) => each.claim(TARGET, all)))) {
        for (const { run } of claimed) {
          ran.get(run.name)?.push(run.plannedMs);
          await one.end(run.id, { state: "succeeded" });
        }
      }
    };
    const end = START + 365 * 86_400_000;
    for (let index = 0; ; index++) {
      const next = (await one.list())[0]?.nextMs ?? end;
      if (next >= end) break;
      clock.now = next;
      await step();
      if (index % 10 !== 7) continue;
      clock.now -= 60 * MINUTE;
      await step();
      clock.now += 60 * MINUTE;
      await step();
    }
    for (const [tz, times] of ran) {
      const { timing } = schedule({ kind: "cron", expr: "30 2 * * 0", tz });
      expect(times).toEqual(nextRuns(timing, START, 60).filter((time) => time < end));
      expect(times).toHaveLength(52);
    }
    expect(await one.runs({ states: ["skipped"] })).toEqual([]);
    for (const each of three) await each.close();
  });

  test("a missed time is made up once, and those before it are one line of the log", async () => {
    const { clock, opened } = processesOn(await place());
    const store = opened("a");
    await store.add(schedule({ kind: "cron", expr: "*/10 * * * *" }), origin);
    clock.now = START + 45 * MINUTE;
    const { claimed, told } = await store.claim(TARGET, all);
    expect(minutes(claimed.map(({ run }) => run))).toEqual([40]);
    expect(told).toMatchObject([
      { plannedMs: START + 10 * MINUTE, state: "skipped", note: expect.stringContaining("missed") },
    ]);
    await store.end(claimed[0]?.run.id ?? 0, { state: "succeeded" });
    expect(await store.claim(TARGET, all)).toMatchObject({ claimed: [], told: [] });
    await store.close();
  });

  test("a single time that was missed by more than the grace is skipped, and stays to be run by hand", async () => {
    const { clock, opened } = processesOn(await place());
    const store = opened("a");
    const { id } = await store.add(schedule({ kind: "at", at: "2026-01-01T01:00Z" }), origin);
    clock.now = START + 61 * MINUTE + GRACE_MS;
    expect(await store.claim(TARGET, all)).toMatchObject({ claimed: [], told: [{ state: "skipped" }] });
    expect(await store.get(id)).not.toHaveProperty("nextMs");
    expect(await store.fire(id, "person")).toEqual({});
    const { claimed } = await store.claim(TARGET, all);
    await store.end(claimed[0]?.run.id ?? 0, { state: "succeeded" });
    expect(await store.get(id)).toBeUndefined(); // it has run once
    await store.close();
  });

  test("a clock that is set back repeats no planned time, and starts the next one when it comes", async () => {
    const { clock, opened } = processesOn(await place());
    const store = opened("a");
    await store.add(schedule({ kind: "every", every_ms: MINUTE }), origin);
    const ran: number[] = [];
    for (const at of [1, 2, -58, -30, 1, 2, 3, 4]) {
      clock.now = START + at * MINUTE;
      const { claimed } = await store.claim(TARGET, all);
      ran.push(...minutes(claimed.map(({ run }) => run)));
      for (const { run } of claimed) await store.end(run.id, { state: "succeeded" });
    }
    expect(ran).toEqual([1, 2, 3, 4]);
    await store.close();
  });

  test("the run of a dead process ends as interrupted, once, and is not repeated", async () => {
    const { clock, dead, opened } = processesOn(await place());
    const [one, two] = [opened("a"), opened("b")];
    await one.add(schedule({ kind: "every", every_ms: MINUTE }), origin);
    clock.now += MINUTE;
    const { claimed } = await one.claim(TARGET, all);
    expect(await two.claim(TARGET, all)).toEqual({ claimed: [], told: [], replaced: [] });
    dead.add("a");
    expect(await two.claim(TARGET, all)).toMatchObject({
      claimed: [],
      told: [{ id: claimed[0]?.run.id, state: "interrupted" }],
    });
    expect(await two.claim(TARGET, all)).toMatchObject({ claimed: [], told: [] });
    expect((await two.list())[0]).toMatchObject({ failures: 0, nextMs: START + 2 * MINUTE });
    await Promise.all([one.close(), two.close()]);
  });

  test.each([
    ["skip", [1], "run 1 has not ended yet"],
    ["queue", [1, 2], undefined],
    ["replace", [1, 2], undefined],
  ] as const)("a run that is due while another one runs: %s", async (overlap, expected, note) => {
    const { clock, opened } = processesOn(await place());
    const store = opened("a");
    await store.add(schedule({ kind: "every", every_ms: MINUTE }, { overlap }), origin);
    const claimed = async () => minutes((await store.claim(TARGET, all)).claimed.map(({ run }) => run));
    clock.now += MINUTE;
    const ran = await claimed();
    clock.now += MINUTE;
    const { replaced, told } = await store.claim(TARGET, all);
    expect(told.map((run) => run.note)).toEqual(note === undefined ? [] : [note]);
    expect(minutes(replaced)).toEqual(overlap === "replace" ? [1] : []);
    expect(await claimed()).toEqual([]);
    await store.end(1, { state: overlap === "replace" ? "interrupted" : "succeeded" });
    ran.push(...(await claimed()));
    expect(ran).toEqual(expected);
    await store.close();
  });

  test("failures back off, and the fifth in a row pauses the schedule", async () => {
    const { clock, opened } = processesOn(await place());
    const store = opened("a");
    const { id } = await store.add(schedule({ kind: "every", every_ms: 10_000 }), origin);
    const waits: number[] = [];
    for (let run = 1; run <= 5; run++) {
      clock.now = (await store.get(id))?.nextMs ?? 0;
      const { claimed } = await store.claim(TARGET, all);
      const after = await store.end(claimed[0]?.run.id ?? 0, {
        state: run % 2 === 1 ? "failed" : "denied",
        note: "no",
      });
      waits.push(((after?.nextMs ?? 0) - clock.now) / 1_000);
    }
    expect(waits.slice(0, 4)).toEqual([30, 60, 300, 900]);
    expect(await store.get(id)).toMatchObject({ paused: "5 runs in a row failed", failures: 5 });
    clock.now += 86_400_000;
    expect(await store.claim(TARGET, all)).toMatchObject({ claimed: [] });
    await store.pause(id, undefined);
    expect(await store.get(id)).toMatchObject({ failures: 0, nextMs: clock.now + 10_000 });
    await store.close();
  });

  test("a run that waits for a person counts as open, and fails nothing", async () => {
    const { clock, opened } = processesOn(await place());
    const store = opened("a");
    await store.add(schedule({ kind: "every", every_ms: MINUTE }), origin);
    const states: (RunState | undefined)[] = [];
    clock.now += MINUTE;
    const { claimed } = await store.claim(TARGET, all);
    await store.end(claimed[0]?.run.id ?? 0, { state: "waiting" });
    clock.now += MINUTE;
    const { told } = await store.claim(TARGET, all);
    states.push(...told.map(({ state }) => state));
    expect(told[0]?.note).toBe("run 1 still waits for a person");
    expect(await store.take(1)).toBe(true);
    expect(await store.take(1)).toBe(false);
    await store.end(1, { state: "succeeded" });
    expect((await store.runs({ run: 1 }))[0]).toMatchObject({ state: "succeeded" });
    expect(states).toEqual(["skipped"]);
    await store.close();
  });

  test("a signature is used once", async () => {
    const { opened } = processesOn(await place());
    const store = opened("a");
    expect(await store.useSignature("s", MINUTE)).toBe(true);
    expect(await store.useSignature("s", MINUTE)).toBe(false);
    await store.close();
  });
}
