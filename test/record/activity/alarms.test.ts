import { describe, expect, test } from "vitest";
import { createAlarms } from "../../../src/record/activity/alarms.ts";
import type { Refusal } from "../../../src/core/contract/containment.ts";

const REFUSED: readonly Refusal[] = [{ kind: "likely", what: "network" }];

describe("an alarm", () => {
  test("is raised by many refusals within a minute, with their number", () => {
    let at = 0;
    const alarms = createAlarms({ perMinute: 3, now: () => at });
    expect(alarms(REFUSED)).toBeUndefined();
    at = 10_000;
    expect(alarms(REFUSED)).toBeUndefined();
    at = 20_000;
    expect(alarms(REFUSED)).toEqual({ refused: 3, withinMs: 20_000 });
  });

  test("is not raised by occasional refusals", () => {
    let at = 0;
    const alarms = createAlarms({ perMinute: 2, now: () => at });
    for (; at < 1_000_000; at += 60_000) expect(alarms(REFUSED)).toBeUndefined();
  });

  test("is raised once per cooldown", () => {
    let at = 0;
    const alarms = createAlarms({ perMinute: 1, cooldownMs: 5_000, now: () => at });
    expect(alarms(REFUSED)).toBeDefined();
    at = 4_999;
    expect(alarms(REFUSED)).toBeUndefined();
    at = 5_000;
    expect(alarms(REFUSED)).toEqual({ refused: 3, withinMs: 5_000 });
  });

  test("is raised at once by many refusals of one command, and never when it is off or nothing was refused", () => {
    const many = Array.from({ length: 10 }, (_, port): Refusal => ({ kind: "host", host: `a:${port}` }));
    expect(createAlarms()(many)).toMatchObject({ refused: 10 });
    expect(createAlarms()([])).toBeUndefined();
    expect(createAlarms({ perMinute: 0 })(many)).toBeUndefined();
  });
});
