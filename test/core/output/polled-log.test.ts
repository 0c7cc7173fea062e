import { expect, test } from "vitest";
import { type PolledOutput, polledLog } from "../../../src/core/output/polled-log.ts";

/** An output of these bytes, of which the first `there` are visible. Counts the looks. */
function outputOf(content: string) {
  const state = { there: content.length, isOver: false, looks: 0 };
  const output: PolledOutput = {
    get size() {
      return state.there;
    },
    get kept() {
      return state.there;
    },
    async look() {
      state.looks++;
      return { kept: state.there, isOver: state.isOver };
    },
    read: async (start, end) => Buffer.from(content.slice(start, Math.min(end, state.there))),
  };
  return { state, output, log: polledLog(output) };
}

const words = (bytes: Uint8Array) => Buffer.from(bytes).toString();

async function followed(log: ReturnType<typeof polledLog>, signal?: AbortSignal): Promise<readonly string[]> {
  const parts: string[] = [];
  for await (const chunk of log.follow(signal)) parts.push(words(chunk));
  return parts;
}

test("any range can be read", async () => {
  const { log } = outputOf("0123456789");
  for (const [start, end, expected] of [
    [-5, 2, "01"],
    [1.7, 3.2, "12"],
    [5, 3, ""],
    [8, Infinity, "89"],
    [Number.NaN, 3, ""],
  ] as const) {
    expect(words(await log.read(start, end))).toBe(expected);
  }
});

test("what a look has found is returned without another look", async () => {
  const { state, log } = outputOf("x".repeat(1_000_000));
  state.isOver = true;
  const parts = await followed(log);
  expect(parts.join("").length).toBe(1_000_000);
  expect(Math.max(...parts.map((part) => part.length))).toBe(65_536);
  expect(state.looks).toBe(2); // one for what is there, one for the end
});

test("no more is read at a time than requested", async () => {
  const { state, output } = outputOf("0123456789");
  state.isOver = true;
  expect(await followed(polledLog(output, { chunk: 4 }))).toEqual(["0123", "4567", "89"]);
});

test("a waiting reader is released by the signal even if a look never returns", async () => {
  const { output } = outputOf("");
  const log = polledLog({ ...output, look: () => new Promise(() => undefined) });
  const controller = new AbortController();
  const waiting = Promise.all([log.grown(0, controller.signal), followed(log, controller.signal)]);
  controller.abort();
  expect(await waiting).toEqual([undefined, []]);
});

test("if a look fails nobody waits, and a follower gets the reason", async () => {
  const { output } = outputOf("x");
  const log = polledLog({ ...output, look: () => Promise.reject(new Error("no way there")) });
  await log.grown(5);
  await expect(followed(log)).rejects.toThrow("no way there");
  await expect(log.tail(1)).rejects.toThrow("no way there");
});

test("what arrived before the end is returned when the same look finds the end", async () => {
  const { state, log } = outputOf("abc");
  state.there = 1;
  const parts = followed(log);
  state.there = 3;
  state.isOver = true;
  expect((await parts).join("")).toBe("abc");
});
