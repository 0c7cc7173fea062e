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
  /** Reads a line of `hr_file_info`. */
  describe(line: string): Described | undefined;
  /** The path and how it is meant, as two words for a function there. Fails for what cannot be a path. */
  words(path: string, options?: PathOptions): string;
}

/** Calls a function there; `rest` is all that it tells beyond. With `aside` it takes a shell of its own. */
export async function askFiles(
  { shells, settings }: Pick<FileReach, "shells" | "settings">,
  script: string,
  { aside = false, ...options }: AskOptions & { readonly aside?: boolean } = {},
): Promise<FileAnswer> {
  const whole = `${settings}\n${script}`;
  const { out } = await (aside ? shells.askAside(whole, options) : shells.ask(whole, options));
  const answer = readAnswer(out);
  if (answer === undefined) throw noAnswer(out);
  return answer;
}

/**
 * Gathers what is asked in the same turn, so that one subshell there answers all of it: dozens of paths cost what one costs. Each script calls one function that tells
 * one field beyond.
 */
export function inOneAsk({
  shells,
  settings,
}: Pick<FileReach, "shells" | "settings">): (script: string) => Promise<FileAnswer> {
  let gathered: { script: string; resolve(answer: FileAnswer): void; reject(error: unknown): void }[] = [];

  const send = async () => {
    const asked = gathered;
    gathered = [];
    try {
      const { out } = await shells.ask([settings, ...asked.map(({ script }) => script)].join("\n"));
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

function noAnswer(out: Buffer): ToolFailure {
  return new ToolFailure(
    `the shell there did not answer as expected: ${JSON.stringify(out.toString("utf8").slice(0, 300))}`,
  );
}
