import { describe, expect, test } from "vitest";
import { createAlarms } from "../../src/activity/alarms.ts";
import type { Refusal } from "../../src/contract/containment.ts";

const REFUSED: readonly Refusal[] = [{ kind: "network" }];

describe("an alarm", () => {
  test("comes when more is refused within a minute than is usual, and says how much", () => {
    let at = 0;
    const alarms = createAlarms({ perMinute: 3, now: () => at });
    expect(alarms(REFUSED)).toBeUndefined();
    at = 10_000;
    expect(alarms(REFUSED)).toBeUndefined();
    at = 20_000;
    expect(alarms(REFUSED)).toEqual({ refused: 3, withinMs: 20_000 });
  });

  test("does not come for what is refused now and then", () => {
    let at = 0;
    const alarms = createAlarms({ perMinute: 2, now: () => at });
    for (; at < 1_000_000; at += 60_000) expect(alarms(REFUSED)).toBeUndefined();
  });

  test("comes once in its cooldown, then again", () => {
    let at = 0;
    const alarms = createAlarms({ perMinute: 1, cooldownMs: 5_000, now: () => at });
    expect(alarms(REFUSED)).toBeDefined();
    at = 4_999;
    expect(alarms(REFUSED)).toBeUndefined();
    at = 5_000;
    expect(alarms(REFUSED)).toEqual({ refused: 3, withinMs: 5_000 });
  });

  test("comes at once for many refusals of one command, and never where it is turned off or nothing was refused", () => {
    const many = Array.from({ length: 10 }, (_, port): Refusal => ({ kind: "host", host: `a:${port}` }));
    expect(createAlarms()(many)).toMatchObject({ refused: 10 });
    expect(createAlarms()([])).toBeUndefined();
    expect(createAlarms({ perMinute: 0 })(many)).toBeUndefined();
  });
});
