import type { FileKind } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { changed, fileFailure, notGiven, requireRegular } from "../local/failures.ts";

/** What a function of files-script.ts answers. */
export interface FileAnswer {
  /** What programs complained of. */
  readonly said: string;
  readonly word: string;
  readonly real: string;
  /** What it tells beyond: everything up to the next NUL, or, where more follows, all of it. */
  readonly rest: Buffer;
}

/** Takes the first fields off; the rest is as it came. `undefined`: it is no such answer. */
export function readAnswer(out: Buffer): FileAnswer | undefined {
  const [said, word, real] = [fieldAt(out, 0), fieldAt(out, 1), fieldAt(out, 2)];
  if (said === undefined || word === undefined || real === undefined) return undefined;
  const text = (field: Span) => out.toString("utf8", field.from, field.to);
  return { said: text(said), word: text(word), real: text(real), rest: out.subarray(real.to + 1) };
}

/** An answer of which much may follow behind the fields. */
export interface LongAnswer {
  take(chunk: Buffer): void;
  /** True when the fields have come. */
  isOpen(): boolean;
}

/** Reads such an answer as it comes. `begun` is given its fields, `rest` the one beyond, and says what takes the bytes behind them. */
export function longAnswer(begun: (answer: FileAnswer) => (chunk: Buffer) => void): LongAnswer {
  let fields: Buffer = Buffer.alloc(0);
  let next: ((chunk: Buffer) => void) | undefined;
  return {
    take(chunk) {
      if (next !== undefined) return next(chunk);
      fields = fields.length === 0 ? chunk : Buffer.concat([fields, chunk]);
      const answer = readAnswer(fields);
      const end = answer === undefined ? -1 : answer.rest.indexOf(0);
      if (answer === undefined || end === -1) return;
      next = begun({ ...answer, rest: answer.rest.subarray(0, end) });
      const behind = answer.rest.subarray(end + 1);
      if (behind.length > 0) next(behind);
    },
    isOpen: () => next !== undefined,
  };
}

/** Several answers behind one another, each with one field beyond. */
export function readAnswers(out: Buffer): readonly FileAnswer[] {
  const answers: FileAnswer[] = [];
  for (let left = out; left.length > 0;) {
    const answer = readAnswer(left);
    if (answer === undefined) break;
    const end = answer.rest.indexOf(0);
    if (end === -1) break;
    answers.push({ ...answer, rest: answer.rest.subarray(0, end) });
    left = answer.rest.subarray(end + 1);
  }
  return answers;
}

/** Why it was not done, in the words of the local backend. `written`: the path as the caller wrote it. */
export function failureOf({ said, word }: Pick<FileAnswer, "said" | "word">, written: string): ToolFailure {
  if (word === "changed") return changed(written);
  if (word.startsWith("owner ")) return notGiven(word.slice(6), written, new Error(said));
  if (word.startsWith("kind ")) return refusedKind(word.slice(5) as FileKind, written);
  const code = CODES[word] ?? codeIn(said);
  const told = said.trim().split("\n").at(-1)?.slice(0, MOST_TOLD);
  const cause = Object.assign(new Error(told || "the programs there do not say why"), code !== undefined && { code });
  return fileFailure(cause, written);
}

const MOST_TOLD = 300;

/** Words that say what the system would have said. */
const CODES: { readonly [word: string]: string | undefined } = {
  missing: "ENOENT",
  "not-a-folder": "ENOTDIR",
  denied: "EACCES",
  circle: "ELOOP",
};

function refusedKind(kind: FileKind, written: string): ToolFailure {
  try {
    requireRegular({ kind }, written);
  } catch (error) {
    if (error instanceof ToolFailure) return error;
  }
  return changed(written);
}

/** What error the words of strerror(3) are that a program ended its complaint with: those of glibc, musl and BSD. */
function codeIn(said: string): string | undefined {
  return STRERROR.find(([wording]) => wording.test(said))?.[1];
}

const STRERROR: readonly (readonly [RegExp, string])[] = [
  [/no space left/i, "ENOSPC"],
  [/quota exceeded/i, "EDQUOT"],
  [/read-only file system/i, "EROFS"],
  [/file ?name too long/i, "ENAMETOOLONG"],
  [/permission denied/i, "EACCES"],
  [/operation not permitted/i, "EPERM"],
  [/too many (?:levels of )?symbolic links|symbolic link loop/i, "ELOOP"],
  [/not a directory/i, "ENOTDIR"],
  [/is a directory/i, "EISDIR"],
  [/directory not empty/i, "ENOTEMPTY"],
  [/no such file or directory|nonexistent directory|directory nonexistent/i, "ENOENT"],
];

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Where the field with this number lies, the first is 0. */
function fieldAt(out: Buffer, number: number): Span | undefined {
  let from = 0;
  for (let index = 0; ; index++) {
    const to = out.indexOf(0, from);
    if (to === -1) return undefined;
    if (index === number) return { from, to };
    from = to + 1;
  }
}
