import type { FileKind, PathOptions } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { changed, fileFailure, notAFile, notGiven, otherVersion } from "../local/failures.ts";
import type { Facts } from "./facts.ts";
import type { AskOptions, Shells } from "./shells.ts";

/** The answer of a function of files.sh. */
export interface FileAnswer {
  /** Error messages of programs. */
  readonly message: string;
  /** "ok", or the reason of a failure. */
  readonly word: string;
  /** The real path. */
  readonly real: string;
  /** The next field; for `ask`, everything that follows. */
  readonly rest: Buffer;
}

export type Take = (chunk: Buffer) => void;

/** A path and its options as two words for a function of files.sh. @throws ToolFailure for an impossible path. */
export type PathWords = (path: string, options?: PathOptions) => string;

/** Calls functions of files.sh in the shells of a remote system. All methods reject like `Shells.ask`. */
export interface FileRequests {
  /** Which form of stat(1) the system has. */
  readonly form: Facts["stat"];
  /** Calls one function. With `aside`, uses a shell other than the first. */
  ask(call: string, options?: RequestOptions): Promise<FileAnswer>;
  /** Calls a quick function. All such requests of one event loop turn share a subshell: dozens cost as one. */
  askTogether(call: string): Promise<FileAnswer>;
  /**
   * Calls a function that opens a file, and whose answer begins with the PID that opens it. If opening blocks (the file
   * may just have been replaced by a FIFO), that process is ended, which frees the shell. `begun` gets the answer at
   * each attempt, and returns the function that takes the bytes after it.
   *
   * @throws ToolFailure when opening took too long; `written` is the path in its message.
   */
  askOpening(call: string, options: OpeningOptions, begun: (answer: FileAnswer) => Take): Promise<FileAnswer>;
}

type RequestOptions = AskOptions & { readonly aside?: boolean };

interface OpeningOptions {
  readonly written: string;
  readonly aside?: boolean;
}

export function fileRequests({
  shells,
  form,
  openMs,
}: {
  readonly shells: Pick<Shells, "ask" | "askAside">;
  readonly form: Facts["stat"];
  /** How long opening a file may take, in milliseconds. */
  readonly openMs: number;
}): FileRequests {
  let together: { call: string; resolve(answer: FileAnswer): void; reject(error: unknown): void }[] = [];

  // `hr_file_begin` resets what a profile may have set.
  const request = (calls: string, { aside = false, ...options }: RequestOptions = {}) =>
    shells[aside ? "askAside" : "ask"](`hr_file_begin ${form}\n${calls}`, options);

  const send = async () => {
    const asked = together;
    together = [];
    try {
      const { out } = await request(asked.map(({ call }) => call).join("\n"));
      let left = out;
      for (const { resolve, reject } of asked) {
        const next = splitAnswer(left);
        if (next === undefined) reject(noAnswer(out));
        else resolve(next.answer);
        left = next?.behind ?? NOTHING;
      }
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  };

  return {
    form,
    async ask(call, options) {
      const { out } = await request(call, options);
      const answer = readAnswer(out);
      if (answer === undefined) throw noAnswer(out);
      return answer;
    },
    askTogether: (call) =>
      new Promise((resolve, reject) => {
        if (together.length === 0) setImmediate(() => void send());
        together.push({ call, resolve, reject });
      }),
    async askOpening(call, { written, aside = false }, begun) {
      let timer: NodeJS.Timeout | undefined;
      let opened: FileAnswer | undefined;
      let isLate = false;
      const free = (who: string) => {
        isLate = true;
        // Without a connection nothing is blocked.
        void request(`hr_file_free ${who}`, { aside: true }).catch(() => undefined);
      };
      const heard = (): Take => {
        let fields: Buffer = NOTHING;
        let isTimed = false;
        let take: Take | undefined;
        opened = undefined;
        clearTimeout(timer);
        return (chunk) => {
          if (take !== undefined) return take(chunk);
          fields = fields.length === 0 ? chunk : Buffer.concat([fields, chunk]);
          const end = fields.indexOf(0);
          if (end === -1) return;
          const who = fields.toString("latin1", 0, end);
          if (!isTimed && /^\d+ \d+$/.test(who)) timer = setTimeout(free, openMs, who);
          isTimed = true;
          const next = splitAnswer(fields.subarray(end + 1));
          if (next === undefined) return;
          clearTimeout(timer);
          opened = next.answer;
          take = begun(opened);
          if (next.behind.length > 0) take(next.behind);
        };
      };
      try {
        await request(call, { aside, heard });
      } finally {
        clearTimeout(timer);
      }
      if (opened !== undefined) return opened;
      if (!isLate) throw noAnswer();
      throw new ToolFailure(
        `${written} could not be opened within ${openMs / 1_000} s: ` +
          "its disk does not answer, or it was replaced by a FIFO",
      );
    },
  };
}

const NOTHING = Buffer.alloc(0);

/** Splits off the first three fields. `undefined` for anything that is not an answer. */
function readAnswer(out: Buffer): FileAnswer | undefined {
  const end = out.indexOf(0);
  const word = out.indexOf(0, end + 1);
  const real = out.indexOf(0, word + 1);
  if (end === -1 || word === -1 || real === -1) return undefined;
  return {
    message: out.toString("utf8", 0, end),
    word: out.toString("utf8", end + 1, word),
    real: out.toString("utf8", word + 1, real),
    rest: out.subarray(real + 1),
  };
}

/** Splits off an answer with one more field, and the bytes after it. */
function splitAnswer(out: Buffer): { readonly answer: FileAnswer; readonly behind: Buffer } | undefined {
  const answer = readAnswer(out);
  const end = answer?.rest.indexOf(0) ?? -1;
  if (answer === undefined || end === -1) return undefined;
  return { answer: { ...answer, rest: answer.rest.subarray(0, end) }, behind: answer.rest.subarray(end + 1) };
}

function noAnswer(out: Buffer = NOTHING): ToolFailure {
  return new ToolFailure(
    `the remote shell gave an unexpected answer: ${JSON.stringify(out.toString("utf8", 0, 1_000).slice(0, 300))}`,
  );
}

/** Creates the error of the local backend for an answer. `written`: the path as the caller wrote it. */
export function failureOf({ message, word, real }: Omit<FileAnswer, "rest">, written: string): ToolFailure {
  if (word === "changed") return changed(written, real.startsWith("/") ? real : undefined);
  if (word === "other") return otherVersion(written);
  if (word.startsWith("owner ")) return notGiven(word.slice(6), written, new Error(message));
  if (word.startsWith("kind ")) return notAFile(word.slice(5) as FileKind, written);
  const code = CODES[word] ?? STRERROR.find(([wording]) => wording.test(message))?.[1];
  const complaint = message.trim().split("\n").at(-1)?.slice(0, LONGEST_COMPLAINT);
  const cause = Object.assign(
    new Error(complaint || "the remote programs gave no reason"),
    code !== undefined && { code },
  );
  return fileFailure(cause, written);
}

const LONGEST_COMPLAINT = 300;

/** System error codes of the words of files.sh. */
const CODES: { readonly [word: string]: string | undefined } = {
  missing: "ENOENT",
  "not-a-folder": "ENOTDIR",
  denied: "EACCES",
  circle: "ELOOP",
};

/** System error codes of the strerror(3) texts that end error messages of programs (glibc, musl and BSD). */
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
