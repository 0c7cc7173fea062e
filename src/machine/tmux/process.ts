import type { Backend, Command, Process } from "../../core/contract/backend.ts";
import { pause, within } from "../../core/util/abort.ts";
import { later } from "../../core/util/promises.ts";
import { quoteWord } from "../../core/util/quote.ts";
import type { Ended, Stopped } from "../process/life.ts";
import type { Input, Started } from "../process/run.ts";
import { spawnOwn } from "./own-programs.ts";
import type { Plan } from "./command-files.ts";
import type { HelperShell } from "./helper-shell.ts";
import type { CommandProgress } from "./command-progress.ts";

/** Reads the output of a command in a pane, through a program of the inner backend that starts before the command. */
export interface Reading {
  /** Call it when the command has started in the pane. */
  begun(pid: number, pane: string): Started;
  /** Ends the command that has started. */
  signal(): Promise<Stopped>;
  /** Call it when the command will never start. */
  abandon(): Promise<void>;
}

export interface ReadingOptions {
  readonly inner: Backend;
  readonly command: Command;
  readonly plan: Plan;
  readonly progress: CommandProgress;
  readonly helper: HelperShell;
  /** Types text into a pane. */
  type(pane: string, text: string): Promise<void>;
  /** Called when the command has ended, before its exit is known, so that the pane is free then. */
  ended(): void;
}

/** If the output continues this long after the command's end, a background child holds it open. Milliseconds. */
const HELD_MS = 100;
/**
 * How long a command is silent before its state is looked up. If it is unknown, the command counts as waiting after
 * `UNSEEN_QUIET_MS`. Milliseconds.
 */
const QUIET_MS = 1_000;
const UNSEEN_QUIET_MS = 3_000;
const LOOK_MS = 500;
/** How long to wait for the exit code after the output. The runner may have been killed. Milliseconds. */
const TOLD_MS = 2_000;

/** How long to wait until the output before the command's end has been copied. Milliseconds. */
const SETTLES_MS = 20_000;

/** Starts the programs that read a command's output and write its input. Rejects like `spawn` of the inner backend. */
export async function openReading(options: ReadingOptions): Promise<Reading> {
  const { inner, command, plan, helper, progress, ended: whenEnded } = options;
  const own = `${plan.folder}/${plan.number}.d`;
  const { streams = "merged", lifetime = "call" } = command;
  const reader = await spawnOwn(inner, {
    argv: ["sh", "-c", streams === "split" ? READ_BOTH : READ, "sh", own],
    streams,
    lifetime,
  });
  const feeder = await feederOf(options, own).catch(async (error: unknown) => {
    await reader.kill();
    throw error;
  });
  /** Resolves when the command is out of reach. */
  const gone = later();
  let end: Ended | undefined;

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

  return {
    begun: (pid, pane) => ({
      id: String(pid),
      output: reader.output,
      errors: reader.errors,
      place: `pane ${pane}`,
      async ended() {
        end = await endOf(options, reader, pane);
        if (end.how === "lost") gone.resolve();
        return end;
      },
      async complete() {
        if (end === undefined) await reader.kill();
        else await outputEnds();
        if (end?.how !== "code") nobodyReads();
        await feeder?.kill();
        await feeder?.output.dispose();
        whenEnded();
      },
      ...(plan.mode !== "closed" && { input: inputOf(options, feeder, pane) }),
    }),
    async signal() {
      const script = `: >${quoteWord(`${own}/stopped`)}
hr_end ${quoteWord(plan.mark)} "$(cat ${quoteWord(`${own}/pid`)})"
[ "$hr_set" = ' ' ] && hr_how=all || hr_how=left
echo "${plan.number} stopped $hr_how" 1<>"$F/events"`;
      await helper.persist(script, Promise.race([progress.stopped, gone.promise]));
      return Promise.race([progress.stopped, Promise.resolve("none" as const)]);
    },
    async abandon() {
      await Promise.all([reader.kill(), feeder?.kill()]);
      await Promise.all([reader.output.dispose(), reader.errors?.dispose(), feeder?.output.dispose()]);
    },
  };
}

/** Starts the program that writes a command's piped input; `undefined` if it has none. */
async function feederOf({ inner, plan }: ReadingOptions, own: string): Promise<Process | undefined> {
  if (plan.mode !== "pipe") return undefined;
  return spawnOwn(inner, { argv: ["sh", "-c", 'exec cat >"$1/stdin"', "sh", own], stdin: "pipe" });
}

/** Without a feeder the input is typed into the pane. */
function inputOf({ type }: ReadingOptions, feeder: Process | undefined, pane: string): Input {
  if (feeder !== undefined) return { write: (text) => feeder.write(text), end: () => feeder.endInput() };
  return { write: (text) => type(pane, text), end: () => type(pane, "\u0004") };
}

/** Resolves to how the command has ended: by the report of its runner, or by the end of its reader. */
async function endOf({ plan, progress, helper }: ReadingOptions, reader: Process, pane: string): Promise<Ended> {
  const watched = (code: number | undefined): Ended =>
    code === undefined
      ? { how: "lost", reason: `the process that watched it in pane ${pane} was killed` }
      : { how: "code", code };
  /** Handles the end of the reader: the output has ended and the exit code follows, or the reader was ended. */
  const unread = async (): Promise<Ended> => {
    const exit = await reader.exit;
    if (exit.how !== "exited" || exit.code !== 0) {
      const why = exit.how === "lost" ? exit.reason : "the process that read its output was ended";
      return { how: "lost", reason: `${why}; it may continue in pane ${pane}` };
    }
    for (;;) {
      const told = await within(TOLD_MS, progress.exited.then(watched));
      if (told !== undefined) return told;
      // A command may close its streams and continue. A runner may be killed.
      const { out } = await helper
        .ask(`hr_status ${plan.number}`)
        .catch(() => ({ out: Buffer.from(`${plan.number} gone`) }));
      for (const line of out.toString().split("\n")) {
        const [, event = "", words = ""] = line.split(" ");
        progress.heard(event, words);
      }
    }
  };
  return Promise.race([progress.exited.then(watched), unread()]);
}

/** As `Process.awaitsInput`, for a command whose stdin is the terminal. */
export async function awaitsInput(
  { exit, output, errors }: Process,
  { number, helper, until }: { readonly number: number; readonly helper: HelperShell; readonly until: AbortSignal },
): Promise<boolean> {
  let isOver = false;
  const ended = exit.then(() => (isOver = true));
  const size = () => output.size + (errors?.size ?? 0);
  let before = size();
  let quietMs = Date.now();
  for (;;) {
    await Promise.race([ended, pause(LOOK_MS, until)]);
    if (isOver || until.aborted) return false;
    if (size() !== before) {
      before = size();
      quietMs = Date.now();
    }
    if (Date.now() - quietMs < QUIET_MS) continue;
    const asked = await helper
      .ask(`read -r hr_pid <"$F/${number}.d/pids" && hr_waits "$hr_pid"`)
      .catch(() => undefined);
    const answer = asked?.out.toString().trim();
    if (answer === "yes" || (answer === "unknown" && Date.now() - quietMs >= UNSEEN_QUIET_MS)) return !isOver;
  }
}

const READ = 'printf "%s\\n" "$$" >"$1/readers"; exec cat "$1/out"';

const READ_BOTH =
  'cat "$1/out" & hr_out=$!; cat "$1/out-errors" >&2 & printf "%s\\n" "$hr_out" "$!" >"$1/readers"; wait; exit 0';
