import type { PathOptions } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import type { Facts } from "./facts.ts";
import { type FileAnswer, readAnswer, readAnswers } from "./file-answers.ts";
import type { Described } from "./file-info.ts";
import type { AskOptions, Shells } from "./shells.ts";

/** What the parts of files elsewhere work with. */
export interface FileReach {
  readonly shells: Pick<Shells, "ask" | "askAside">;
  /** Which form of stat(1) there is. */
  readonly form: Facts["stat"];
  /** What every script begins with. */
  readonly settings: string;
  /** Opening a file may take so long there. Milliseconds. */
  readonly openMs: number;
  /** Reads a line of `hr_file_info`. */
  describe(line: string): Described | undefined;
  /** The path and how it is meant, as two words for a function there. Fails for what cannot be a path. */
  words(path: string, options?: PathOptions): string;
}

type Asking = Pick<FileReach, "shells" | "settings">;

/** Calls a function there; `rest` is all that it tells beyond. With `aside` it takes a shell of its own. */
export async function askFiles(
  reach: Asking,
  script: string,
  options: AskOptions & { readonly aside?: boolean } = {},
): Promise<FileAnswer> {
  const { out } = await ask(reach, script, options);
  const answer = readAnswer(out);
  if (answer === undefined) throw noAnswer(out);
  return answer;
}

/**
 * Calls a function there that opens a file, and so says first who does it. At that very moment something else that is waited for (a FIFO) can
 * be put in the file's place: whoever is held by it is ended, and the shell is free. `begin` is asked at each attempt for what takes the answer
 * as it comes, and knows when all has come that is told at the opening.
 *
 * @throws ToolFailure where it took too long; `written` is the path in its message.
 */
export async function askOpening(
  reach: Asking & Pick<FileReach, "openMs">,
  script: string,
  { begin, written, aside }: { readonly begin: () => Taker; readonly written: string; readonly aside: boolean },
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let taker: Taker | undefined;
  let isLate = false;
  const free = (who: string) => {
    isLate = true;
    void ask(reach, `hr_file_free ${who}`, { aside: true }).catch(() => undefined); // there is no connection: then nobody is held
  };
  const heard = () => {
    const taking = begin();
    taker = taking;
    let who: string | undefined = "";
    clearTimeout(timer);
    return (chunk: Buffer) => {
      let rest = chunk;
      if (who !== undefined) {
        const end = chunk.indexOf(0);
        who += chunk.toString("latin1", 0, end === -1 ? chunk.length : end);
        if (end === -1) return;
        if (/^\d+ \d+$/.test(who)) timer = setTimeout(free, reach.openMs, who);
        who = undefined;
        rest = chunk.subarray(end + 1);
      }
      if (rest.length > 0) taking.take(rest);
      if (taking.isOpen()) clearTimeout(timer);
    };
  };
  try {
    await ask(reach, script, { aside, heard });
  } finally {
    clearTimeout(timer);
  }
  if (isLate && taker?.isOpen() !== true)
    throw new ToolFailure(
      `${written} could not be opened within ${reach.openMs / 1_000} s: its disk does not answer, or a FIFO was put in its place`,
    );
}

/** Takes an answer as it comes. */
export interface Taker {
  take(chunk: Buffer): void;
  /** True when all has come that is told before anything is read. */
  isOpen(): boolean;
}

/**
 * Gathers what is asked in the same turn, so that one subshell there answers all of it: dozens of paths cost what one costs. Each script calls one function that tells
 * one field beyond.
 */
export function inOneAsk(reach: Asking): (script: string) => Promise<FileAnswer> {
  let gathered: { script: string; resolve(answer: FileAnswer): void; reject(error: unknown): void }[] = [];

  const send = async () => {
    const asked = gathered;
    gathered = [];
    try {
      const { out } = await ask(reach, asked.map(({ script }) => script).join("\n"));
      const answers = readAnswers(out);
      for (const [index, { resolve, reject }] of asked.entries()) {
        const answer = answers[index];
        if (answer === undefined) reject(noAnswer(out));
        else resolve(answer);
      }
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  };

  return (script) =>
    new Promise((resolve, reject) => {
      if (gathered.length === 0) setImmediate(() => void send());
      gathered.push({ script, resolve, reject });
    });
}

/** What there is when the shell there answers something else. */
export function noAnswer(out: Buffer = Buffer.alloc(0)): ToolFailure {
  return new ToolFailure(
    `the shell there did not answer as expected: ${JSON.stringify(out.toString("utf8", 0, 1_000).slice(0, 300))}`,
  );
}

function ask(
  { shells, settings }: Asking,
  script: string,
  { aside = false, ...options }: AskOptions & { readonly aside?: boolean } = {},
) {
  const whole = `${settings}\n${script}`;
  return aside ? shells.askAside(whole, options) : shells.ask(whole, options);
}
