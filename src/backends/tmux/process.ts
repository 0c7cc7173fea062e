import type { Backend, Command, Exit, Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { pause } from "../../util/abort.ts";
import { quoteWord } from "../../util/shell.ts";
import { UNSTOPPABLE, stoppingOf } from "../stopping.ts";
import type { Plan } from "./command-files.ts";
import type { Keeper } from "./keeper.ts";
import type { Story } from "./story.ts";

/** What a command in a pane writes is read by a program of the inner backend; that is there before the command begins. */
export interface Reading {
  /** The command has begun in the pane. */
  begun(pid: number, pane: string): Process;
  /** It never will. */
  abandon(): Promise<void>;
}

export interface RunningOptions {
  readonly inner: Backend;
  readonly command: Command;
  readonly plan: Plan;
  readonly story: Story;
  readonly keeper: Keeper;
  /** Types text into a pane. */
  type(pane: string, text: string): Promise<void>;
  /** It has ended: called before `exit` settles, so that whoever waits for that finds the pane free. */
  ended(): void;
}

/** When its output has not ended so long after the command, a child in the background holds it. */
const HELD_MS = 100;
/** Nothing was written for so long: then it is looked whether it waits for somebody. Where that cannot be seen, this long says so. */
const QUIET_MS = 1_000;
const UNSEEN_QUIET_MS = 3_000;
const LOOK_MS = 500;
/** The exit code comes so soon after the end of the output, or the runner has been killed. */
const TOLD_MS = 2_000;

/** What was written before the end has been passed on within this time. */
const SETTLES_MS = 20_000;

/** Signals that we send, as a shell tells them: 128 and their number (POSIX, kill). */
const OURS: { readonly [code: number]: string | undefined } = { 143: "SIGTERM", 137: "SIGKILL" };

/** Starts what reads the output of a command, and writes its input. Rejects like `spawn` of the inner backend. */
export async function runningProcess({
  inner,
  command,
  plan,
  story,
  keeper,
  type,
  ended: whenEnded,
}: RunningOptions): Promise<Reading> {
  const own = `${plan.folder}/${plan.number}.d`;
  const { streams = "merged", lifetime = "call" } = command;
  const reader = await inner.spawn({
    argv: ["sh", "-c", streams === "split" ? READ_BOTH : READ, "sh", own],
    streams,
    lifetime,
  });
  const feeder =
    plan.mode !== "pipe"
      ? undefined
      : await inner
          .spawn({ argv: ["sh", "-c", 'exec cat >"$1/stdin"', "sh", own], stdin: "pipe" })
          .catch(async (error: unknown) => {
            await reader.kill();
            throw error;
          });

  const begun = (pid: number, pane: string): Process => {
    let over = false;
    const stopThere = () => {
      const session = plan.isApart ? String(pid) : '""';
      const end = `hr_end ${quoteWord(plan.mark)} ${pid} ${session}`;
      return keeper.persist(
        `: >${quoteWord(`${own}/stopped`)}\nhr_how=$(${end})\necho "${plan.number} stopped $hr_how" 1<>"$F/events"`,
        Promise.race([story.stopped, gone]),
      );
    };
    let isGone: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => (isGone = resolve));

    /** The end of one of which some goes on, whatever is done. */
    const goesOn: Exit = { how: "lost", reason: `${UNSTOPPABLE} in pane ${pane}` };
    let isLeft = false;
    const left = story.stopped.then((what) => {
      if (what === "all") return new Promise<never>(() => undefined);
      isLeft = true;
      return "left" as const;
    });
    const stopping = stoppingOf(command, stopThere);

    const ended = async (): Promise<Exit> => {
      const code = await Promise.race([story.exited, reader.exit.then((exit) => readerEnded(exit)), left]);
      if (code === "left") {
        await reader.kill();
        nobodyReads();
        return goesOn;
      }
      if (typeof code === "object") return code;
      await outputEnds();
      if (code === undefined) return { how: "lost", reason: `what watched over it in pane ${pane} has been killed` };
      return { how: "exited", code };
    };
    /** Its output is at an end: the exit code is on its way. Or nothing reads it any more. */
    const readerEnded = async (exit: Exit): Promise<number | undefined | Exit> => {
      if (exit.how === "exited" && exit.code === 0) {
        for (;;) {
          const enough = new AbortController(); // or the timer would keep our process alive
          const late = pause(TOLD_MS, enough.signal).then(() => "late" as const);
          const told = await Promise.race([story.exited, late]);
          enough.abort();
          if (told !== "late") return told;
          // A command may close its streams and go on; a runner may be killed.
          const { out } = await keeper
            .ask(`hr_status ${plan.number}`)
            .catch(() => ({ out: Buffer.from(`${plan.number} gone`) }));
          for (const line of out.toString().split("\n")) {
            const [, event = "", words = ""] = line.split(" ");
            story.heard(event, words);
          }
        }
      }
      nobodyReads();
      const why = exit.how === "lost" ? exit.reason : "what read its output was ended";
      return { how: "lost", reason: `${why}; in pane ${pane} it may go on` };
    };
    /** Who still opens the FIFO for writing must not wait for ever. */
    const nobodyReads = () =>
      void keeper.ask(`for hr_each in "$F/${plan.number}.d"/out*; do : <>"$hr_each"; done`).catch(() => undefined);
    const outputEnds = async () => {
      const enough = new AbortController();
      const held = await Promise.race([reader.exit.then(() => false), pause(HELD_MS, enough.signal).then(() => true)]);
      enough.abort();
      if (!held) return;
      const settled = new AbortController();
      await keeper.persist(
        `hr_settle ${plan.number}`,
        Promise.race([story.settled, reader.exit, pause(SETTLES_MS, settled.signal)]),
      );
      settled.abort();
      await reader.kill();
    };

    const exit = (async (): Promise<Exit> => {
      const end = await ended();
      if (end.how === "lost") isGone();
      await stopping.settled(); // what it started goes too before the call is over
      stopping.over();
      over = true;
      await feeder?.kill();
      await feeder?.output.dispose();
      whenEnded();
      if (isLeft) return goesOn;
      if (stopping.stoppedAs !== undefined) return stopping.stoppedAs;
      if (!stopping.wasStopped) return end;
      const sent = end.how === "exited" ? OURS[end.code] : undefined;
      return sent === undefined ? end : { how: "signaled", signal: sent };
    })();

    const process: Process = {
      id: String(pid),
      output: reader.output,
      errors: reader.errors,
      exit,
      place: `pane ${pane}`,
      ...(plan.mode === "terminal" && { awaitsInput: (until: AbortSignal) => awaitsInput(until) }),
      async write(text) {
        if (plan.mode === "closed")
          throw new ToolFailure("this process has no stdin: it was started with stdin closed");
        if (over) throw new ToolFailure("the process no longer reads its stdin: it has ended");
        await (feeder === undefined ? type(pane, text) : feeder.write(text));
      },
      async endInput() {
        if (over || plan.mode === "closed") return;
        await (feeder === undefined ? type(pane, "\u0004") : feeder.endInput());
      },
      async kill() {
        await stopping.stop();
        await exit;
      },
    };

    const awaitsInput = async (until: AbortSignal): Promise<boolean> => {
      const size = () => reader.output.size + (reader.errors?.size ?? 0);
      let before = size();
      let quietMs = Date.now();
      for (;;) {
        await Promise.race([exit, pause(LOOK_MS, until)]);
        if (over || until.aborted) return false;
        if (size() !== before) {
          before = size();
          quietMs = Date.now();
        }
        if (Date.now() - quietMs < QUIET_MS) continue;
        const asked = await keeper
          .ask(`read -r hr_pid <"$F/${plan.number}.d/pids" && hr_waits "$hr_pid"`)
          .catch(() => undefined);
        const said = asked?.out.toString().trim();
        if (said === "yes" || (said === "unknown" && Date.now() - quietMs >= UNSEEN_QUIET_MS)) return !over;
      }
    };

    return process;
  };

  return {
    begun,
    async abandon() {
      await Promise.all([reader.kill(), feeder?.kill()]);
      await Promise.all([reader.output.dispose(), reader.errors?.dispose(), feeder?.output.dispose()]);
    },
  };
}

const READ = 'printf "%s\\n" "$$" >"$1/readers"; exec cat "$1/out"';

const READ_BOTH =
  'cat "$1/out" & hr_out=$!; cat "$1/out-errors" >&2 & printf "%s\\n" "$hr_out" "$!" >"$1/readers"; wait; exit 0';
