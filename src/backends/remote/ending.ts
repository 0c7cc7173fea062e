import { constants } from "node:os";
import type { Exit } from "../../contract/backend.ts";
import { pause } from "../../util/abort.ts";
import { quoteWords } from "../../util/shell.ts";
import type { Shells } from "./shells.ts";

/** Whoever ends processes there takes 2 s of grace and as long as it takes to kill: he is not waited for longer than this. */
const LONGEST_MS = 20_000;

/** It is looked so often at the least whether they have ended. */
const LOOK_MS = 100;

/**
 * Ends all processes with the mark there, what descends from them, and the leader's group and session: TERM, two seconds of grace, KILL. Resolves to true when none is left, to
 * false when some are that nothing ends.
 *
 * @throws ToolFailure when there is no connection.
 */
export async function endThere(shells: Pick<Shells, "ask">, mark: string, leader = ""): Promise<boolean> {
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

/** What `hr_left_of` says while they are being ended. */
const ENDING = 2;

/** The same, but nobody waits for a host that is silent: then it is not known whether they have ended; they are when that hears us again. Never rejects. */
export async function endIfHeard(
  shells: Pick<Shells, "ask" | "silence">,
  mark: string,
  leader?: string,
): Promise<boolean | "unheard"> {
  const over = new AbortController();
  const unheard = () => "unheard" as const; // also where there is no connection
  const ended = endThere(shells, mark, leader).catch(unheard);
  const how = await Promise.race([ended, shells.silence(over.signal).then(unheard)]);
  over.abort();
  return how;
}

/**
 * How a process has ended, by the exit code that its shell saw. A signal is 128 and its number to most shells, which a process may also exit with: so it is taken for one
 * when it was ours. Codes that no process can have are one for certain: 256 (ksh93) or 384 (yash) and its number.
 */
export function exitOf(code: number, wasKilled: boolean): Exit {
  const signal = code > 255 || (wasKilled && code > 128) ? SIGNALS.get(code % 128) : undefined;
  return signal === undefined ? { how: "exited", code } : { how: "signaled", signal };
}

const SIGNALS = new Map<number, string>(Object.entries(constants.signals).map(([name, number]) => [number, name]));
