import { homedir } from "node:os";
import type { Notice } from "../contract/notice.ts";
import { runProgram } from "../machine/start.ts";
import { messageOf } from "../util/errors.ts";
import type { PushSender } from "./push.ts";

export interface NotifyOptions {
  /** The user's program and its arguments. Empty: no program is run. */
  readonly program: readonly string[];
  /** Sends the notice to browsers that asked for it. Default: to none. */
  readonly push?: PushSender | undefined;
  /** Called with a text for people about what failed. Must not throw. */
  readonly onFailure?: (text: string) => void;
}

/** How long the program may run, in milliseconds. Then it is killed. */
const PROGRAM_MS = 10_000;

/**
 * Tells people something, wherever they are: runs the user's program, and sends a message to the browsers that asked
 * for it. The program gets the title as its last argument, which other users of the machine can see, and the notice as
 * a line of JSON on stdin. It runs without a shell, in the home folder: not where a model writes. Resolves when both
 * are done, after ten seconds at most. Never rejects.
 */
export async function sendNotice(notice: Notice, { program, push, onFailure }: NotifyOptions): Promise<void> {
  const fail = (error: unknown) => onFailure?.(messageOf(error));
  await Promise.all([
    program.length > 0 && run(program, notice).catch(fail),
    push?.(notice).catch((error: unknown) => onFailure?.(`a browser could not be reached: ${messageOf(error)}`)),
  ]);
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
