import { CronExpressionParser } from "cron-parser";
import { describe, expect, test } from "vitest";
import {
  inWords,
  loadCron,
  loadWords,
  newestDue,
  nextAfter,
  nextRuns,
  readTiming,
  shortestGap,
  timeWithZone,
} from "../../../src/record/schedule/timing.ts";

await loadCron();

const ms = (time: string) => Date.parse(time);
const DAY = 86_400_000;

describe("times around the changes of daylight saving, against a table written by hand", () => {
  // Berlin: 2026-03-29 02:00 -> 03:00 and 2026-10-25 03:00 -> 02:00. New York: 2026-03-08 and 2026-11-01, at 02:00.
  // Lord Howe: half an hour, 2026-04-05 02:00 -> 01:30 and 2026-10-04 02:00 -> 02:30.
  const table: readonly (readonly [tz: string, expr: string, after: string, times: readonly string[]])[] = [
    // A time that does not exist is run after the gap, once.
    ["Europe/Berlin", "30 2 * * *", "2026-03-28T12:00Z", ["2026-03-29T01:00Z", "2026-03-30T00:30Z"]],
    // A time that comes twice is run at the first, once.
    ["Europe/Berlin", "30 2 * * *", "2026-10-24T12:00Z", ["2026-10-25T00:30Z", "2026-10-26T01:30Z"]],
    ["America/New_York", "30 2 * * *", "2026-03-07T12:00Z", ["2026-03-08T07:00Z", "2026-03-09T06:30Z"]],
    ["America/New_York", "30 1 * * *", "2026-10-31T12:00Z", ["2026-11-01T05:30Z", "2026-11-02T06:30Z"]],
    // Several times, each once.
    ["Europe/Berlin", "30 2,14 * * *", "2026-03-28T14:00Z", ["2026-03-29T01:00Z", "2026-03-29T12:30Z"]],
    [
      "Europe/Berlin",
      "30 2,14 * * *",
      "2026-10-24T14:00Z",
      ["2026-10-25T00:30Z", "2026-10-25T13:30Z", "2026-10-26T01:30Z"],
    ],
    ["Europe/Berlin", "15,45 2 * * *", "2026-10-25T00:50Z", ["2026-10-26T01:15Z"]], // after the clock was set back
    ["Europe/Berlin", "15,45 2-3 * * *", "2026-03-29T00:00Z", ["2026-03-29T01:00Z", "2026-03-29T01:15Z"]],
    ["America/New_York", "0 30 1,2,3 * * *", "2026-11-01T05:00Z", ["2026-11-01T05:30Z", "2026-11-01T07:30Z"]],
    ["America/New_York", "0 0-4 * * *", "2026-03-08T06:30Z", ["2026-03-08T07:00Z", "2026-03-08T08:00Z"]],
    ["Australia/Lord_Howe", "45 1,13 * * *", "2026-04-04T12:00Z", ["2026-04-04T14:45Z", "2026-04-05T03:15Z"]],
    ["Australia/Lord_Howe", "15 2,3 * * *", "2026-10-03T14:00Z", ["2026-10-03T15:30Z", "2026-10-03T16:15Z"]],
    ["Africa/Casablanca", "30 2,4 * * *", "2026-02-14T12:00Z", ["2026-02-15T01:30Z", "2026-02-15T04:30Z"]],
    // An interval goes on in real time: no run in the gap, and runs in both of the repeated hours.
    ["Europe/Berlin", "0 * * * *", "2026-03-29T00:30Z", ["2026-03-29T01:00Z", "2026-03-29T02:00Z"]],
    [
      "Europe/Berlin",
      "0 * * * *",
      "2026-10-24T23:30Z",
      ["2026-10-25T00:00Z", "2026-10-25T01:00Z", "2026-10-25T02:00Z"],
    ],
    ["Asia/Kolkata", "30 2 * * *", "2026-03-28T12:00Z", ["2026-03-28T21:00Z", "2026-03-29T21:00Z"]],
    ["Australia/Lord_Howe", "0 12 * * *", "2026-04-04T00:00Z", ["2026-04-04T01:00Z", "2026-04-05T01:30Z"]],
  ];
  test.each(table)("%s, %s after %s", (tz, expr, after, times) => {
    const timing = readTiming({ kind: "cron", expr, tz }, ms(after));
    expect(nextRuns(timing, ms(after), times.length).map((time) => new Date(time).toISOString())).toEqual(
      times.map((time) => new Date(time).toISOString()),
    );
  });
});

describe("a year of runs in three zones is what a second library says, except on days of a change", () => {
  const changes: { readonly [tz: string]: readonly string[] } = {
    "Europe/Berlin": ["2026-03-29", "2026-10-25"],
    "America/New_York": ["2026-03-08", "2026-11-01"],
    "Asia/Kolkata": [],
  };
  const expressions = ["30 2 * * *", "*/30 1-2 * * 0,6", "15 0 1,15 * *", "5 4 L * *"];
  const cases = Object.keys(changes).flatMap((tz) => expressions.map((expr) => [tz, expr] as const));
  test.each(cases)("%s, %s", (tz, expr) => {
    const [first, last] = [ms("2026-01-01T00:00Z"), ms("2027-01-01T00:00Z")];
    const isOfChange = (time: number) => (changes[tz] ?? []).some((day) => Math.abs(time - ms(`${day}T04:00Z`)) < DAY);
    const timing = readTiming({ kind: "cron", expr, tz }, first);
    const own: number[] = [];
    for (let at = nextAfter(timing, first); at !== undefined && at < last; at = nextAfter(timing, at)) own.push(at);
    const other: number[] = [];
    const parsed = CronExpressionParser.parse(expr, { tz, currentDate: new Date(first) });
    for (let at = parsed.next().getTime(); at < last; at = parsed.next().getTime()) other.push(at);
    const usual = (times: readonly number[]) => times.filter((time) => !isOfChange(time));
    expect(usual(own)).toEqual(usual(other));
    expect(own).toEqual([...new Set(own)].toSorted((one, two) => one - two));
  });
});

test.each([
  ["2026-10-25T00:30Z", "Europe/Berlin", "2026-10-25 02:30:00 +02:00 (Europe/Berlin)"],
  ["2026-10-25T01:30Z", "Europe/Berlin", "2026-10-25 02:30:00 +01:00 (Europe/Berlin)"],
  ["2026-10-25T02:30Z", "Europe/Berlin", "2026-10-25 03:30:00 (Europe/Berlin)"],
  ["2026-03-29T01:00Z", "Europe/Berlin", "2026-03-29 03:00:00 (Europe/Berlin)"],
  ["2026-11-01T06:30Z", "America/New_York", "2026-11-01 01:30:00 -05:00 (America/New_York)"],
  ["2026-11-01T06:30Z", "UTC", "2026-11-01 06:30:00 (UTC)"],
])("%s in %s is shown with its zone, and its offset if its local time comes twice", (time, tz, shown) => {
  expect(timeWithZone(ms(time), tz)).toBe(shown);
});

test("a local time of `at` is a time of its zone, and an offset is one of its own", () => {
  const now = ms("2026-01-01T00:00Z");
  const atOf = (at: string, tz: string) => readTiming({ kind: "at", at, tz }, now);
  expect(atOf("2026-07-01T09:00", "Europe/Berlin")).toMatchObject({ atMs: ms("2026-07-01T07:00Z") });
  expect(atOf("2026-07-01 09:00:30", "America/New_York")).toMatchObject({ atMs: ms("2026-07-01T13:00:30Z") });
  expect(atOf("2026-07-01T09:00Z", "Europe/Berlin")).toMatchObject({ atMs: ms("2026-07-01T09:00Z") });
  expect(atOf("2026-07-01T09:00+02:00", "Asia/Tokyo")).toMatchObject({ atMs: ms("2026-07-01T07:00Z") });
});

test("an interval is counted from its start, whatever the clock did in between", () => {
  const from = ms("2026-01-01T00:00:05Z");
  const timing = readTiming({ kind: "every", every_ms: 60_000, tz: "UTC" }, from);
  expect(nextAfter(timing, from)).toBe(from + 60_000);
  expect(nextAfter(timing, from - DAY)).toBe(from + 60_000);
  expect(nextAfter(timing, from + 60_000)).toBe(from + 120_000);
  expect(newestDue(timing, from + 60_000, from + 600_001)).toBe(from + 600_000);
  expect(shortestGap(timing, from)).toBe(60_000);
});

test.each([
  [{ kind: "cron" }, "schedule.expr: expected a cron expression"],
  [{ kind: "cron", expr: "61 * * * *" }, "5 fields, or 6 with seconds first"],
  [{ kind: "cron", expr: "0 0 30 2 *" }, "names no time that ever comes"],
  [{ kind: "cron", expr: "* * * * *", tz: "Mars/Olympus" }, "schedule.tz: expected an IANA time zone"],
  [{ kind: "at", at: "2020-01-01T00:00Z" }, "expected a time in the future"],
  [{ kind: "at", at: "tomorrow" }, 'expected a time such as "2027-01-31T09:00"'],
  [{ kind: "at", at: "2027-02-30T09:00" }, "expected a time such as"],
  [{ kind: "every", every_ms: 10 }, "expected at least 1000, got 10"],
  [{ kind: "file" }, "schedule.path"],
] as const)("%j is refused, with what was expected", (written, message) => {
  expect(() => readTiming(written, ms("2026-01-01T00:00Z"))).toThrow(message);
});

test("a schedule is put into words", async () => {
  await loadWords();
  const now = ms("2026-01-01T00:00Z");
  expect(inWords(readTiming({ kind: "cron", expr: "30 2 * * 1-5", tz: "Europe/Berlin" }, now))).toBe(
    "At 02:30, Monday through Friday (Europe/Berlin)",
  );
  expect(inWords(readTiming({ kind: "every", every_ms: 5_400_000, tz: "UTC" }, now))).toBe("Every 90 minutes");
  expect(inWords(readTiming({ kind: "at", at: "2026-07-01T09:00", tz: "Europe/Berlin" }, now))).toBe(
    "Once, at 2026-07-01 09:00:00 (Europe/Berlin)",
  );
});
