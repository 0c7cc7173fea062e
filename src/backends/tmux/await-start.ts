import { ToolFailure } from "../../contract/failure.ts";
import { pause } from "../../util/abort.ts";
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
  plan: Pick<Plan, "number">,
  progress: CommandProgress,
  helper: HelperShell,
  prompt: Prompt | undefined,
): Promise<number | undefined> {
  const enough = new AbortController();
  const late = prompt === undefined ? pause(OPENS_MS, enough.signal) : refused(prompt, enough.signal);
  const first = await Promise.race([beginning(progress), late]);
  enough.abort();
  if (first !== undefined) return startedOf(first);
  const { status } = await helper.ask(`mkdir "$F/${plan.number}.d/claimed" 2>/dev/null`);
  if (status === 0) return undefined;
  return startedOf(await beginning(progress)); // it had started after all
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

/** Resolves to the first report of the start. An exit code proves the start too, even if that report was lost. */
async function beginning({ begun: first, exited }: CommandProgress): Promise<Awaited<CommandProgress["begun"]>> {
  const code = exited.then((told) => new ToolFailure(`it ended at once${told === undefined ? "" : `, with ${told}`}`));
  return Promise.race([first, code]);
}

function startedOf(first: Awaited<CommandProgress["begun"]>): number {
  if (typeof first === "number") return first;
  throw first;
}
