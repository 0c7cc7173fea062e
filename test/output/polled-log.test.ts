import { expect, test } from "vitest";
import { type PolledOutput, polledLog } from "../../src/output/polled-log.ts";

/** An output of these bytes, of which `there` can be seen; the looks are counted. */
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

test("any range is one that can be read", async () => {
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

test("what a look has shown is handed out without another", async () => {
  const { state, log } = outputOf("x".repeat(1_000_000));
  state.isOver = true;
  const parts = await followed(log);
  expect(parts.join("").length).toBe(1_000_000);
  expect(Math.max(...parts.map((part) => part.length))).toBe(65_536);
  expect(state.looks).toBe(2); // what is there, and that no more comes
});

test("no more is read at a time than is wanted", async () => {
  const { state, output } = outputOf("0123456789");
  state.isOver = true;
  expect(await followed(polledLog(output, { chunk: 4 }))).toEqual(["0123", "4567", "89"]);
});

test("who waits is let go by the signal though a look is never answered", async () => {
  const { output } = outputOf("");
  const log = polledLog({ ...output, look: () => new Promise(() => undefined) });
  const controller = new AbortController();
  const waiting = Promise.all([log.grown(0, controller.signal), followed(log, controller.signal)]);
  controller.abort();
  expect(await waiting).toEqual([undefined, []]);
});

test("where it cannot be looked at nobody waits, and who follows is told why", async () => {
  const { output } = outputOf("x");
  const log = polledLog({ ...output, look: () => Promise.reject(new Error("no way there")) });
  await log.grown(5);
  await expect(followed(log)).rejects.toThrow("no way there");
  await expect(log.tail(1)).rejects.toThrow("no way there");
});

test("what has come before the end is given when the end is seen in the same look", async () => {
  const { state, log } = outputOf("abc");
  state.there = 1;
  const parts = followed(log);
  state.there = 3;
  state.isOver = true;
  expect((await parts).join("")).toBe("abc");
});
