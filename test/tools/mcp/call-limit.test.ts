import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { callLimit } from "../../../src/tools/mcp/call-limit.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a call ends after the time without progress, and after an hour in any case", () => {
  const limit = callLimit("mcp:x", 1_000);
  const progress = limit.progressTo({ report: () => {} });
  for (let second = 0; second < 3_600; second++) {
    expect(limit.signal.aborted).toBe(false);
    progress({ progress: second });
    vi.advanceTimersByTime(999);
  }
  vi.advanceTimersByTime(1);
  expect(limit.signal.reason).toMatchObject({ message: "mcp:x has not answered within 1 s" });
  const lively = callLimit("mcp:x", 4_000_000);
  vi.advanceTimersByTime(3_600_000);
  expect(lively.signal.reason).toMatchObject({ message: "mcp:x has not answered within 3600 s" });
});

test("the limit is paused while people are asked, also with progress; an ended call leaves no timer", () => {
  const limit = callLimit("mcp:x", 1_000);
  const releases = [limit.hold(), limit.hold()];
  limit.progressTo({ report: () => {} })({ progress: 1 });
  releases[0]?.();
  vi.advanceTimersByTime(5_000);
  expect(limit.signal.aborted).toBe(false);
  limit.end();
  releases[1]?.();
  expect(vi.getTimerCount()).toBe(0);
});
