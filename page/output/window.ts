import { batch, signal } from "@preact/signals";
import { messageOf } from "../../src/core/util/errors.ts";
import { part, send } from "../state/api.ts";

/** A line of an output, or a part of a line that is longer than `BLOCK`. */
export interface Line {
  /** The byte at which the line begins, and the byte after the line. */
  readonly at: number;
  readonly end: number;
  readonly text: string;
}

type Use = (bytes: Uint8Array, from: number, size: number) => readonly (readonly Line[])[];

/** How many bytes are read at a time, how many lines of them are a piece, and how many pieces are kept. */
const BLOCK = 65_536;
const MOST_LINES = 500;
const KEPT = 6;

/**
 * The part of an output that is in memory: a few pieces of consecutive lines around the reading position.
 *
 * @param id the id of a saved output
 */
export function createWindow(id: string) {
  const pieces = signal<readonly (readonly Line[])[]>([]);
  /** The size of the whole output; `undefined` until something was read. */
  const size = signal<number | undefined>(undefined);
  /** Why the last request failed; "" if it succeeded. */
  const failure = signal("");
  const closed = new AbortController();
  let isBusy = false;
  /** Counts jumps: answers to requests before the last jump are dropped. */
  let jumps = 0;
  const start = () => pieces.value[0]?.[0]?.at ?? 0;
  const end = () => pieces.value.at(-1)?.at(-1)?.end ?? 0;

  /** Reads the bytes of a range ("0-99", "-100"). `use` returns the new pieces. */
  const load = async (range: string, use: Use) => {
    const asked = jumps;
    try {
      const request = { headers: { range: `bytes=${range}` }, signal: closed.signal };
      const answer = await send(`/api/outputs/${part(id)}`, request);
      const bytes = new Uint8Array(await answer.arrayBuffer());
      const [, from, total] = /(\d+)-\d+\/(\d+)$/.exec(answer.headers.get("content-range") ?? "") ?? [];
      if (asked !== jumps) return;
      batch(() => {
        [size.value, failure.value] = [Number(total ?? 0), ""];
        const next = use(bytes, Number(from ?? 0), size.value);
        if (next !== pieces.value) pieces.value = next.filter((piece) => piece.length > 0);
      });
    } catch (error) {
      if (!closed.signal.aborted) failure.value = messageOf(error);
    }
  };
  /** Runs one request at a time. */
  const alone = async (work: () => Promise<void>) => {
    if (isBusy) return;
    isBusy = true;
    await work().finally(() => (isBusy = false));
  };
  const loadAfter = (from: number, before: readonly (readonly Line[])[]) =>
    load(`${from}-${from + BLOCK - 1}`, (bytes, _, all) => {
      const lines = linesOf(bytes, from, all, true).slice(0, MOST_LINES);
      return lines.at(-1)?.end === end() ? pieces.value : [...before, lines].slice(-KEPT);
    });

  return {
    ...{ pieces, size, failure },
    /** True if the last line is in memory. */
    isAtEnd: () => end() === size.value,
    /** Replaces all pieces with the lines from the one that contains this byte. */
    jump(at: number): Promise<void> {
      jumps += 1;
      return load(`${Math.max(0, at - BLOCK)}-${at + BLOCK - 1}`, (bytes, from, all) => {
        const lines = linesOf(bytes, from, all);
        const index = lines.findLastIndex((line) => line.at <= at);
        const found = index === -1 ? linesOf(bytes.subarray(at - from), at, all, true) : lines.slice(index);
        return [found.slice(0, MOST_LINES)];
      });
    },
    jumpToEnd(): Promise<void> {
      jumps += 1;
      return load(`-${BLOCK}`, (bytes, from, all) => [linesOf(bytes, from, all).slice(-MOST_LINES)]);
    },
    /** Adds a piece on one side, and drops the farthest piece on the other. */
    extend: (where: "after" | "before") =>
      alone(async () => {
        if (where === "after" && end() < (size.value ?? 0)) await loadAfter(end(), pieces.value);
        if (where === "before" && start() > 0)
          await load(`${Math.max(0, start() - BLOCK)}-${start() - 1}`, (bytes, from) => {
            // Ends where the next piece begins: an unfinished line here is a part of a long line.
            const lines = linesOf(bytes, from, start());
            return [lines.slice(-MOST_LINES), ...pieces.value].slice(0, KEPT);
          });
      }),
    /** Reads the last piece again, because the output may have grown. */
    refresh: () => alone(() => loadAfter(pieces.value.at(-1)?.[0]?.at ?? 0, pieces.value.slice(0, -1))),
    close: () => closed.abort(),
  };
}

const DECODER = new TextDecoder();

/**
 * Returns the lines in these bytes, which begin at `from` of an output of `size` bytes. A part of a line is returned
 * only if no line is whole.
 *
 * @param isStart true if a line, or a part of it, begins at `from`
 */
function linesOf(bytes: Uint8Array, from: number, size: number, isStart = from === 0): readonly Line[] {
  let start = isStart ? 0 : bytes.indexOf(10) + 1;
  let end = from + bytes.length >= size ? bytes.length : bytes.lastIndexOf(10) + 1;
  if (start >= end) {
    [start, end] = [0, bytes.length];
    const isInside = (at: number) => ((bytes[at] ?? 0) & 0xc0) === 0x80; // the byte is inside a character
    while (!isStart && start < 3 && isInside(start)) start += 1;
    if (from + end < size) {
      while (end > start + 1 && isInside(end - 1)) end -= 1;
      if ((bytes[end - 1] ?? 0) >= 0xc0) end -= 1;
    }
  }
  const lines: Line[] = [];
  for (let at = start; at < end;) {
    const found = bytes.indexOf(10, at);
    const next = found === -1 || found >= end ? end : found + 1;
    const text = DECODER.decode(bytes.subarray(at, next)).replace(/\r*\n?$/, "");
    lines.push({ at: from + at, end: from + next, text });
    at = next;
  }
  return lines;
}
