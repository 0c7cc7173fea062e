import type { Backend, Command, Exit, Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { pause, within } from "../../util/abort.ts";
import { later } from "../../util/promises.ts";
import { quoteWord } from "../../util/quote.ts";
import { UNSTOPPABLE, stoppingOf } from "../process/stop.ts";
import type { Plan } from "./command-files.ts";
import type { HelperShell } from "./helper-shell.ts";
import type { CommandProgress } from "./command-progress.ts";

/** Reads the output of a command in a pane, through a program of the inner backend that starts before the command. */
export interface Reading {
  /** Call it when the command has started in the pane. */
  begun(pid: number, pane: string): Process;
  /** Call it when the command will never start. */
  abandon(): Promise<void>;
}

export interface RunningOptions {
  readonly inner: Backend;
  readonly command: Command;
  readonly plan: Plan;
  readonly progress: CommandProgress;
  readonly helper: HelperShell;
  /** Types text into a pane. */
  type(pane: string, text: string): Promise<void>;
  /** Called when the command has ended, before `exit` resolves, so that the pane is free then. */
  ended(): void;
}

/** If the output continues this long after the command's end, a background child holds it open. Milliseconds. */
const HELD_MS = 100;
/**
 * After this silence, a command is checked for waiting for input; after `UNSEEN_QUIET_MS` it counts as waiting if that
 * cannot be checked. Milliseconds.
 */
const QUIET_MS = 1_000;
const UNSEEN_QUIET_MS = 3_000;
const LOOK_MS = 500;
/**
 * How long to wait for the exit code after the end of the output. After that, the runner may have been killed.
 * Milliseconds.
 */
const TOLD_MS = 2_000;

/** How long to wait until the output before the command's end has been copied. Milliseconds. */
const SETTLES_MS = 20_000;

/** Signals that we send, by the code that a shell reports: 128 plus the number (POSIX, kill). */
const OURS: { readonly [code: number]: string | undefined } = { 143: "SIGTERM", 137: "SIGKILL" };

/** Starts the programs that read a command's output and write its input. Rejects like `spawn` of the inner backend. */
export async function runningProcess(options: RunningOptions): Promise<Reading> {
  const { inner, command, plan, progress, helper, type, ended: whenEnded } = options;
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
      return helper.persist(
        `: >${quoteWord(`${own}/stopped`)}
hr_end ${quoteWord(plan.mark)} ${pid}
[ "$hr_set" = ' ' ] && hr_how=all || hr_how=left
echo "${plan.number} stopped $hr_how" 1<>"$F/events"`,
        Promise.race([progress.stopped, gone.promise]),
      );
    };
    const gone = later();

    /** The exit of a command that could not be ended completely. */
    const goesOn: Exit = { how: "lost", reason: `${UNSTOPPABLE} in pane ${pane}` };
    let isLeft = false;
    const left = progress.stopped.then((what) => {
      if (what === "all") return new Promise<never>(() => undefined);
      isLeft = true;
      return "left" as const;
    });
    const stopping = stoppingOf(command, stopThere);

    const ended = async (): Promise<Exit> => {
      const code = await Promise.race([progress.exited, reader.exit.then((exit) => readerEnded(exit)), left]);
      if (code === "left") {
        await reader.kill();
        nobodyReads();
        return goesOn;
      }
      if (typeof code === "object") return code;
      await outputEnds();
      if (code === undefined) return { how: "lost", reason: `the process that watched it in pane ${pane} was killed` };
      return { how: "exited", code };
    };
    /** Handles the end of the reader: the output has ended and the exit code follows, or the reader was ended. */
    const readerEnded = async (exit: Exit): Promise<number | undefined | Exit> => {
      if (exit.how === "exited" && exit.code === 0) {
        for (;;) {
          const told = await within(
            TOLD_MS,
            progress.exited.then((code) => ({ code })),
          );
          if (told !== undefined) return told.code;
          // A command may close its streams and continue. A runner may be killed.
          const { out } = await helper
            .ask(`hr_status ${plan.number}`)
            .catch(() => ({ out: Buffer.from(`${plan.number} gone`) }));
          for (const line of out.toString().split("\n")) {
            const [, event = "", words = ""] = line.split(" ");
            progress.heard(event, words);
          }
        }
      }
      nobodyReads();
      const why = exit.how === "lost" ? exit.reason : "the process that read its output was ended";
      return { how: "lost", reason: `${why}; it may continue in pane ${pane}` };
    };
    /** Releases processes that open the FIFOs for writing: no reader is left. */
    const nobodyReads = () =>
      void helper.ask(`for hr_each in "$F/${plan.number}.d"/out*; do : <>"$hr_each"; done`).catch(() => undefined);
    const outputEnds = async () => {
      if ((await within(HELD_MS, reader.exit)) !== undefined) return;
      const settled = new AbortController();
      await helper.persist(
        `hr_settle ${plan.number}`,
        Promise.race([progress.settled, reader.exit, pause(SETTLES_MS, settled.signal)]),
      );
      settled.abort();
      await reader.kill();
    };

    const exit = (async (): Promise<Exit> => {
      const end = await ended();
      if (end.how === "lost") gone.resolve();
      await stopping.settled(); // its children are ended before the call is over
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
        if (plan.mode === "closed") throw new ToolFailure("this process was started with stdin closed");
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
        const asked = await helper
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
