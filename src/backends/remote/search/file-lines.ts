import type { SearchFor } from "./arguments.ts";

/** Says whether a line that grep gives is one that ripgrep would give. */
export type Check = (text: Buffer, line: number) => boolean;

/** Writes the lines of one file as ripgrep does. */
export interface FileLines {
  /** One line that grep gave, without its line break: "12:text", or "12-text" for context. */
  line(given: Buffer): void;
  /** How many matching lines were written. */
  readonly matches: number;
}

export interface FileLinesOptions {
  /** In bytes (latin1), as it is to be written. */
  readonly path: string;
  readonly search: SearchFor;
  /** None: grep is right. */
  readonly check: Check | undefined;
  write(bytes: Buffer): void;
}

const COLON = 0x3a;
const DASH = 0x2d;

/**
 * What grep takes for a match need not be one, so it may show too much, never too little: lines around a match are chosen here. A match behind as many as are wanted is
 * not written.
 */
export function fileLines({ path, search, check, write }: FileLinesOptions): FileLines {
  const head = Buffer.from(`${path}\0`, "latin1");
  let held: { number: number; text: Buffer }[] = [];
  let last = 0;
  let until = 0;
  let matches = 0;

  const emit = (number: number, sign: ":" | "-", text: Buffer) => {
    last = number;
    write(Buffer.concat([head, Buffer.from(`${number}${sign}`), shortened(text, search.longest), LINE_BREAK]));
  };

  return {
    line(given) {
      const end = given.findIndex((byte) => byte === COLON || byte === DASH);
      if (end < 1) return;
      const number = Number(given.toString("latin1", 0, end));
      const text = given.subarray(end + 1);
      const isMatch = given[end] === COLON && (check === undefined || check(text, number));
      if (!isMatch) {
        if (number <= until) return emit(number, "-", text);
        if (search.context > 0 && matches < search.most)
          held = [...held.slice(1 - search.context || held.length), { number, text }];
        return;
      }
      if (matches === search.most) return;
      matches++;
      for (const before of held)
        if (before.number > last && before.number >= number - search.context) emit(before.number, "-", before.text);
      held = [];
      until = number + search.context;
      emit(number, ":", text);
    },
    get matches() {
      return matches;
    },
  };
}

const LINE_BREAK = Buffer.from("\n");

/** A beginning of a longer line, cut between two characters, with ripgrep's own words behind it. */
function shortened(text: Buffer, longest: number): Buffer {
  if (text.length <= longest) return text;
  let end = longest;
  while (end > longest - 4 && ((text[end] ?? 0) & 0xc0) === 0x80) end--;
  return Buffer.concat([text.subarray(0, end), Buffer.from(" [... omitted end of long line]")]);
}

/** Cuts what grep writes into lines; those that only part groups of them are left out. */
export function lineReader(line: (given: Buffer) => void): { push(chunk: Buffer): void; end(): void } {
  let rest: Buffer[] = [];
  const push = (chunk: Buffer) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const whole = Buffer.concat([...rest, chunk.subarray(start, end)]);
      rest = [];
      start = end + 1;
      if (!whole.equals(BETWEEN)) line(whole);
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
  };
  return {
    push,
    end() {
      if (rest.length > 0) push(LINE_BREAK);
    },
  };
}

const BETWEEN = Buffer.from("--");
