import { ToolFailure } from "../../core/contract/failure.ts";
import { pause } from "../../core/util/abort.ts";
import { unreadyFailure } from "../shell/command-script.ts";
import type { Plan } from "./command-files.ts";
import type { HelperShell } from "./helper-shell.ts";
import type { Prompt } from "./panes.ts";
import type { CommandProgress } from "./command-progress.ts";

/** How soon a typed command starts, unless other text was typed in between. Milliseconds. */
const BEGINS_MS = 3_000;
/** How long after typing a shell at its prompt means that the command did not start. Milliseconds. */
const AT_LEAST_MS = 300;
const LOOK_MS = 50;
/** How soon a command starts in its own window, where no person types. Milliseconds. */
const OPENS_MS = 15_000;

/**
 * Resolves to the PID of a command that was typed at a prompt, or runs in its own window (no prompt), when it has
 * started. Resolves to `undefined` if the typed line did not reach the shell whole (other input came in between): it
 * never starts.
 *
 * @throws ToolFailure when it could not be started.
 */
export async function awaitStart(
  plan: Pick<Plan, "number" | "program" | "cwd">,
  progress: CommandProgress,
  helper: HelperShell,
  prompt: Prompt | undefined,
): Promise<number | undefined> {
  const enough = new AbortController();
  const late = prompt === undefined ? pause(OPENS_MS, enough.signal) : refused(prompt, enough.signal);
  const begun = beginning(plan, progress);
  begun.catch(() => undefined);
  const pid = await Promise.race([begun, late]).finally(() => enough.abort());
  if (pid !== undefined) return pid;
  const { status } = await helper.ask(`mkdir "$F/${plan.number}.d/claimed" 2>/dev/null`);
  return status === 0 ? undefined : begun; // it has started after all
}

/** Resolves when the shell is at its prompt again, or after `BEGINS_MS`. */
async function refused(prompt: Prompt, enough: AbortSignal): Promise<undefined> {
  const lateMs = Date.now() + BEGINS_MS;
  await pause(AT_LEAST_MS, enough);
  while (!enough.aborted && Date.now() < lateMs) {
    if (await prompt.isIdle()) return;
    await pause(LOOK_MS, enough);
  }
}

/** Resolves to the PID. Rejects with why there is none. An exit code proves the start, even if its report was lost. */
async function beginning(
  { program, cwd }: Pick<Plan, "program" | "cwd">,
  { begun, unready, exited }: CommandProgress,
): Promise<number> {
  const failed = unready.then((code) => unreadyFailure(code, program, cwd));
  const over = exited.then((code) => {
    const how = code === undefined ? "" : `, with ${code}`;
    return new ToolFailure(`cannot start ${program} in ${cwd}: it ended at once${how}`);
  });
  const first = await Promise.race([begun, failed, over]);
  if (typeof first === "number") return first;
  throw first;
}
