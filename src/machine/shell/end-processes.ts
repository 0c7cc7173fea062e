import { pause } from "../../core/util/abort.ts";
import { quoteWords } from "../../core/util/quote.ts";
import type { Shells } from "./shells.ts";

/** How long the remote shell may take to end processes, including 2 s of grace. Milliseconds. */
const LONGEST_MS = 20_000;

/** The longest pause between two checks, in milliseconds. */
const LOOK_MS = 100;

/**
 * Ends all remote processes with the mark, their descendants, and the leader's group and session: TERM, two seconds of
 * grace, KILL. Resolves to true if none is left, to false if some cannot be ended.
 *
 * @throws ToolFailure when there is no connection.
 */
export async function endProcesses(shells: Pick<Shells, "ask">, mark: string, leader = ""): Promise<boolean> {
  const who = quoteWords([mark, leader]);
  const { out } = await shells.ask(`hr_kill ${who}`);
  const killer = Number(out.toString("latin1"));
  const deadline = performance.now() + LONGEST_MS;
  for (let wait = 5; performance.now() < deadline; wait = Math.min(2 * wait, LOOK_MS)) {
    await pause(wait);
    const { status } = await shells.ask(`hr_left_of ${killer} ${who}`);
    if (status !== ENDING) return status === 0;
  }
  return false;
}

/** The exit status of `hr_left_of` while it is still ending processes. */
const ENDING = 2;

/** As `endProcesses`, but "unheard" for a silent host, which ends the processes when it answers. Never rejects. */
export async function endIfHeard(
  shells: Pick<Shells, "ask" | "silence">,
  mark: string,
  leader?: string,
): Promise<boolean | "unheard"> {
  const over = new AbortController();
  const unheard = () => "unheard" as const; // also for a lost connection
  const ended = endProcesses(shells, mark, leader).catch(unheard);
  const how = await Promise.race([ended, shells.silence(over.signal).then(unheard)]);
  over.abort();
  return how;
}
