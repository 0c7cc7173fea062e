import { homedir } from "node:os";
import type { Notice } from "../core/contract/notice.ts";
import { runProgram } from "../machine/programs/start.ts";
import { messageOf } from "../core/util/errors.ts";

export interface NotifyOptions {
  /** The user's program and its arguments. Empty: no program is run. */
  readonly program: readonly string[];
  /** Called with a text for people about what failed. Must not throw. */
  readonly onFailure?: (text: string) => void;
}

/** How long the program may run, in milliseconds. Then it is killed. */
const PROGRAM_MS = 10_000;

/**
 * Tells people something, wherever they are: runs the user's program. The program gets the title as its last argument,
 * which other users of the machine can see, and the notice as a line of JSON on stdin. It runs without a shell, in the
 * home folder: not where a model writes. Resolves when it has ended, after ten seconds at most. Never rejects.
 */
export async function sendNotice(notice: Notice, { program, onFailure }: NotifyOptions): Promise<void> {
  if (program.length > 0) await run(program, notice).catch((error: unknown) => onFailure?.(messageOf(error)));
}

async function run([program = "", ...args]: readonly string[], notice: Notice): Promise<void> {
  const { code, signal } = await runProgram([program, ...args, notice.title], {
    ...{ cwd: homedir(), timeout: PROGRAM_MS, input: `${JSON.stringify(notice)}\n` },
  }).catch((cause: unknown) => {
    throw new Error(`notify: ${program} cannot be run: ${messageOf(cause)}`, { cause });
  });
  if (code === 0) return;
  const how = signal === null ? `exit code ${code}` : `killed after ${PROGRAM_MS / 1_000} s`;
  throw new Error(`notify: ${program} failed (${how})`);
}
