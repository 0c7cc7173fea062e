import { ToolFailure } from "../../contract/failure.ts";
import { quoteWord } from "../../util/shell.ts";
import { type FileAnswer, failureOf, longAnswer } from "./file-answers.ts";
import { type FileReach, askOpening, noAnswer } from "./file-asks.ts";
import type { Described } from "./file-info.ts";

/** dd(1) reads blocks: small ones for what is short, so that little is read in vain. */
const SMALL_BLOCK = 4_096;
const BIG_BLOCK = 65_536;

/** What is longer goes over a shell of its own, so that what is quick need not wait behind it. */
const QUICK = 262_144;

/** A file that was opened. */
export interface Opened {
  readonly real: string;
  readonly written: string;
  readonly opened: Described;
}

/** Which bytes of it. */
export interface Range {
  readonly offset: number;
  readonly length: number;
  /** What is put before them. Default: nothing. */
  readonly before?: Buffer;
}

/** A part of a file that is being read. Nobody need wait for it. */
export interface Piece extends Range {
  /** What is known of the file as it was read, as soon as that has come. Rejects like `whole`. */
  readonly held: Promise<Described>;
  /** Fewer bytes than were asked for where the file has no more of them. Rejects with a `ToolFailure`. */
  readonly whole: Promise<{ readonly held: Described; readonly bytes: Buffer }>;
}

/** Begins to read a part of a file: one round trip, and its bytes go as they come to where they stay. */
export function askPiece(reach: FileReach, file: Opened, range: Range): Piece {
  let known: (held: Described) => void = () => undefined;
  const held = new Promise<Described>((resolve) => (known = resolve));
  const whole = readPiece(reach, file, range, known);
  const first = Promise.race([held, whole.then((piece) => piece.held)]);
  for (const each of [first, whole]) each.catch(() => undefined); // told to whoever waits for it
  return { ...range, held: first, whole };
}

async function readPiece(
  reach: FileReach,
  { real, written, opened }: Opened,
  { offset, length, before = NOTHING }: Range,
  known: (held: Described) => void,
): Promise<{ readonly held: Described; readonly bytes: Buffer }> {
  const block = length <= BIG_BLOCK ? SMALL_BLOCK : BIG_BLOCK;
  const first = Math.floor(offset / block);
  const count = Math.ceil((offset + length) / block) - first;
  let answer: FileAnswer | undefined;
  let held: Described | undefined;
  let filled: Filling | undefined;
  const begin = () =>
    longAnswer((fields) => {
      answer = fields;
      held = fields.word === "ok" ? reach.describe(fields.rest.toString("utf8")) : undefined;
      if (held === undefined || !isSame(opened, held)) return () => undefined;
      known(held);
      const expected = Math.min(length, Math.max(0, held.size - offset));
      filled = filling({ before, skipped: offset - first * block, expected, most: length });
      return filled.take;
    });
  const how = opened.size === 0 ? "made" : "blocks";
  const script = `hr_file_read ${quoteWord(real)} ${block} ${first} ${count} ${how}`;
  await askOpening(reach, script, { begin, written, aside: length > QUICK });
  if (answer === undefined) throw noAnswer();
  if (answer.word === "failed") throw failureOf(answer, written);
  if (held === undefined || filled === undefined) throw replaced(written);
  return { held, bytes: filled.bytes() };
}

/**
 * True when it is the same file, though it may have grown or shrunk. A number is given again to a new file when its own is gone; where nobody knows when a file came to be,
 * one that is not as it was and has not grown is taken for another: it may be one.
 */
export function isSame(one: Described, other: Described): boolean {
  if (one.inode !== other.inode || one.born !== other.born) return false;
  return one.born !== "" || one.version === other.version || other.size > one.size;
}

const NOTHING = Buffer.alloc(0);

/** Bytes that come in chunks, put where they stay. */
interface Filling {
  take(chunk: Buffer): void;
  bytes(): Buffer;
}

interface FillingOptions {
  readonly before: Buffer;
  /** So many bytes come first that nobody wants. */
  readonly skipped: number;
  /** So many are there to come, as far as is known, and at most so many are wanted. */
  readonly expected: number;
  readonly most: number;
}

function filling({ before, skipped, expected, most }: FillingOptions): Filling {
  const target = Buffer.allocUnsafeSlow(before.length + expected);
  before.copy(target);
  const more: Buffer[] = [];
  let skip = skipped;
  let left = most;
  let at = before.length;
  return {
    take(chunk) {
      const wanted = chunk.subarray(skip, skip + left);
      skip = Math.max(0, skip - chunk.length);
      left -= wanted.length;
      const fitting = wanted.copy(target, at);
      at += fitting;
      if (fitting < wanted.length) more.push(wanted.subarray(fitting));
    },
    bytes: () => (more.length === 0 ? target.subarray(0, at) : Buffer.concat([target.subarray(0, at), ...more])),
  };
}

function replaced(written: string): ToolFailure {
  return new ToolFailure(`${written} was replaced or removed while it was being read`, {
    hint: "Read it again, from the beginning.",
  });
}
