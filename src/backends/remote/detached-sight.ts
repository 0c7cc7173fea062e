import { ToolFailure } from "../../contract/failure.ts";
import type { PolledOutput } from "../../output/polled-log.ts";
import { pause } from "../../util/abort.ts";
import { quoteWord } from "../../util/shell.ts";
import { type Fate, fateJudge } from "../fate.ts";
import { drainJudge } from "./drained.ts";
import { type ShownJob, fateOf, lookAt, removed, showJobs } from "./job-state.ts";
import type { Shells } from "./shells.ts";

/** So much is read of an output at a time, each a round trip: 1 MiB. */
export const MOST_BYTES = 1_048_576;

/** Who asks for the size again and again has it looked at so often. Milliseconds. */
const LOOK_MS = 100;

/** What shows of a detached process there: its output, which stays there, and its fate. */
export interface DetachedSight extends PolledOutput {
  /** Both in one round trip. Fails like `Shells.ask`. */
  look(): Promise<{ readonly kept: number; readonly isOver: boolean; readonly fate: Fate }>;
}

/** `shown`: the process as it was seen last, if it was. */
export function sightOf(
  shells: Pick<Shells, "ask" | "askAside">,
  folder: string,
  shown?: Pick<ShownJob, "size" | "state">,
): DetachedSight {
  const judge = fateJudge();
  const isDrained = drainJudge();
  let kept = shown?.size ?? 0;
  let dropped = shown?.state.filled.out ?? 0;
  let lookingAgain: Promise<void> | undefined;

  const look = async () => {
    const [now] = await showJobs(shells.ask, quoteWord(folder));
    if (now === undefined || now.state.isRemoved) return { kept, isOver: true, fate: removed() };
    const { size, state } = now;
    const { out: beyond } = state.filled;
    const isGrowing = size > kept;
    kept = Math.max(kept, size); // looks may overtake each other
    dropped = beyond ?? 0;
    const fate = judge(fateOf(state));
    if (state.isGone && fate !== "gone") await tellLost();
    const isOver = fate !== "running" && isDrained({ isFilled: beyond !== undefined, isGrowing });
    return { kept, isOver, fate };
  };
  /** That its end is lost is written down once, so that it is known for how long. A true end that is told after all comes before it. */
  const tellLost = async () => {
    await shells.ask(`printf '' >${quoteWord(folder)}/exited-lost-"$(date +%s)"`).catch(() => undefined);
  };
  /** Size and what is kept are those that were seen last; who asks for them has them looked at again. */
  const lookAgain = () => {
    lookingAgain ??= look()
      .catch(() => undefined) // it shows where it is read
      .then(() => pause(LOOK_MS, undefined, { keepsAlive: false }))
      .finally(() => (lookingAgain = undefined));
  };

  return {
    get size() {
      lookAgain();
      return kept + dropped;
    },
    get kept() {
      lookAgain();
      return kept;
    },
    look,
    async read(start, end) {
      const pieces: Buffer[] = [];
      for (let from = start; from < end;) {
        const [answer] = await lookAt(shells.askAside, [
          { folder, file: "out", from, bytes: Math.min(MOST_BYTES, end - from) },
        ]);
        if (answer === undefined || answer.state.isRemoved)
          throw new ToolFailure("this output is gone: its folder there was removed");
        const bytes = answer.bytes.subarray(0, end - from);
        if (bytes.length === 0) break;
        pieces.push(bytes);
        from += bytes.length;
      }
      const [only = Buffer.alloc(0)] = pieces;
      return pieces.length > 1 ? Buffer.concat(pieces) : only;
    },
  };
}
