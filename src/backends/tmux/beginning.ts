import { ToolFailure } from "../../contract/failure.ts";
import { pause } from "../../util/abort.ts";
import type { Plan } from "./command-files.ts";
import type { Keeper } from "./keeper.ts";
import type { Prompt } from "./panes.ts";
import type { Story } from "./story.ts";

/** A typed command begins so soon, or somebody else has typed in between. */
const BEGINS_MS = 3_000;
/** When the shell stands at its prompt after so long, it has not. */
const AT_LEAST_MS = 300;
const LOOK_MS = 50;
/** In a window of its own nobody types. */
const OPENS_MS = 15_000;

/**
 * The process id of a command that was typed at a prompt, or has a window of its own (no prompt), as soon as it has begun; `undefined`: what was typed did not reach the shell
 * whole (somebody else types there, a terminal has answered), and it will never begin.
 *
 * @throws ToolFailure when it has begun and could not go on.
 */
export async function begun(
  plan: Pick<Plan, "number">,
  story: Story,
  keeper: Keeper,
  prompt: Prompt | undefined,
): Promise<number | undefined> {
  const enough = new AbortController();
  const late = prompt === undefined ? pause(OPENS_MS, enough.signal) : refused(prompt, enough.signal);
  const first = await Promise.race([beginning(story), late]);
  enough.abort();
  if (first !== undefined) return startedOf(first);
  const { status } = await keeper.ask(`mkdir "$F/${plan.number}.d/claimed" 2>/dev/null`);
  if (status === 0) return undefined;
  return startedOf(await beginning(story)); // it had begun after all
}

/** Resolves when the shell stands at its prompt again, or after `BEGINS_MS`. */
async function refused(prompt: Prompt, enough: AbortSignal): Promise<undefined> {
  const lateMs = Date.now() + BEGINS_MS;
  await pause(AT_LEAST_MS, enough);
  while (!enough.aborted && Date.now() < lateMs) {
    if (await prompt.isIdle()) return;
    await pause(LOOK_MS, enough);
  }
}

/** Its end tells that it had begun, whatever was lost. */
async function beginning({ begun: first, exited }: Story): Promise<Awaited<Story["begun"]>> {
  const code = exited.then((told) => new ToolFailure(`it ended at once${told === undefined ? "" : `, with ${told}`}`));
  return Promise.race([first, code]);
}

function startedOf(first: Awaited<Story["begun"]>): number {
  if (typeof first === "number") return first;
  throw first;
}
