import { describe, expect, test } from "vitest";
import { time } from "../../src/tools/time.ts";
import { toolsOn } from "./tools.ts";

// 2025-02-26T12:34:56.789123456Z
const NOW = 1_740_573_296_789_123_456n;

describe("by a fixed clock", () => {
  test.for([
    ["epoch", "1740573296"],
    ["epoch_ms", "1740573296789"],
    ["epoch_ns", "1740573296789123456"],
    ["iso", "2025-02-26T12:34:56.789Z"],
    ["rfc2822", "Wed, 26 Feb 2025 12:34:56 +0000"],
    ["date", "2025-02-26"],
    ["time", "12:34:56"],
  ] as const)("%s is %s", async ([format, expected]) => {
    const { call, text } = await toolsOn({}, { tools: [time({ now: () => NOW })] });
    expect(await text("time", { format })).toBe(expected);
    expect(await call("time", { format })).toMatchObject({ status: "ok", data: expected });
  });

  test("no format is epoch, and so is null", async () => {
    const { text } = await toolsOn({}, { tools: [time({ now: () => NOW })] });
    for (const input of [{}, "", undefined, { format: null }]) expect(await text("time", input)).toBe("1740573296");
  });

  test("an unknown format is refused with the known ones", async () => {
    const { text } = await toolsOn({}, { tools: [time({ now: () => NOW })] });
    expect(await text("time", { format: "unix" })).toBe(
      'validation error: parameter "format": expected one of "epoch", "epoch_ms", "epoch_ns", "iso", "rfc2822", "date", "time", got string "unix"',
    );
  });
});

describe("by the real clock", () => {
  const nanoseconds: { readonly [format: string]: (text: string) => number } = {
    epoch: (text) => Number(text) * 1e9,
    epoch_ms: (text) => Number(text) * 1e6,
    epoch_ns: (text) => Number(text),
    iso: (text) => Date.parse(text) * 1e6,
    rfc2822: (text) => Date.parse(text) * 1e6,
    date: (text) => Date.parse(text) * 1e6,
    time: (text) => lastTimeOfDay(text) * 1e6,
  };
  const coarse: { readonly [format: string]: number } = { epoch: 1_000, rfc2822: 1_000, time: 1_000, date: 86_400_000 };

  test.for(Object.keys(nanoseconds))("%s is the time between before and after the call", async (format) => {
    const { text } = await toolsOn();
    const before = Date.now();
    const told = (nanoseconds[format] ?? Number)(await text("time", { format })) / 1e6;
    const after = Date.now();
    // A format has its own precision, and the precise clock may differ a little from the other.
    expect(told).toBeGreaterThan(before - (coarse[format] ?? 0) - 3);
    expect(told).toBeLessThan(after + 3);
  });

  test("nanoseconds are integers and grow", async () => {
    const { text } = await toolsOn();
    const first = await text("time", { format: "epoch_ns" });
    const second = await text("time", { format: "epoch_ns" });
    expect(first).toMatch(/^\d{19}$/);
    expect(BigInt(second)).toBeGreaterThanOrEqual(BigInt(first));
  });
});

test("the time has no effects: it is allowed in read-only mode", async () => {
  const { call } = await toolsOn({}, { preset: "all", policy: { autonomy: "readonly" } });
  expect(await call("time", {})).toMatchObject({ status: "ok" });
});

/** Returns the last time (milliseconds since 1970) at which a clock showed "12:34:56". */
function lastTimeOfDay(shown: string): number {
  const today = Date.parse(`${new Date().toISOString().slice(0, 10)}T${shown}Z`);
  return today > Date.now() + 1_000 ? today - 86_400_000 : today;
}
