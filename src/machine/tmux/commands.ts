import type { Backend, Command, Process } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { later } from "../../core/util/promises.ts";
import { quoteWord } from "../../core/util/quote.ts";
import { keptStreams } from "../process/command.ts";
import { type Started, closedFailure, requireUnstopped, run } from "../process/run.ts";
import { awaitStart } from "./await-start.ts";
import { type Mode, type Plan, commandFiles, isKept } from "./command-files.ts";
import type { HelperShell } from "./helper-shell.ts";
import type { Panes, Prompt, Typed } from "./panes.ts";
import { type Reading, awaitsInput, openReading } from "./process.ts";
import { shownCommand } from "./shown.ts";
import { type CommandProgress, createProgress } from "./command-progress.ts";

/** Types commands into panes. */
export interface Commands {
  spawn(command: Command): Promise<Process>;
  dispatch(command: Command): Promise<{ readonly pane: string }>;
  /** Takes a line that a runner wrote. */
  heard(line: string): void;
  /** Requests the state of all commands: reports of runners may be lost. */
  ask(): void;
  /** Ends running commands, except dispatched ones. Never rejects. */
  close(): Promise<void>;
}

export interface CommandsOptions {
  readonly inner: Backend;
  /** Available when the first command starts. */
  readonly helper: () => HelperShell;
  readonly panes: () => Panes;
  /** The beginning of all marks of this backend, and of no others. */
  readonly markPrefix: string;
  /** Whether the target has `setsid`. */
  readonly hasSessions: () => boolean;
  readonly type: (pane: string, text: string) => Promise<void>;
}

/** When the pane's command has run this long, further commands use another pane. Milliseconds. */
const LONG_MS = 5_000;
/** How often starting a command is attempted: twice in the first pane, then in others. */
const MOST_ATTEMPTS = 4;
/** How many ended commands keep their files: a runner may still be reading them. */
const MOST_FILES = 16;

/**
 * Leads the session of a new window. When the terminal closes, only the leader gets SIGHUP, and its death makes the
 * kernel signal the others. So the runner, which ignores SIGHUP, must not be the leader.
 */
const LEADER = 'trap : INT QUIT; "$0" "$1"; exit';

/** For when nothing reads the output: prevents the start, and releases processes that open FIFOs for writing. */
function unread(number: number): string {
  const own = `"$F/${number}.d"`;
  return `mkdir ${own}/claimed 2>/dev/null || : >${own}/stopped; for hr_each in ${own}/out*; do : <>"$hr_each"; done`;
}

type Where = { readonly prompt: Prompt; ended(): void } | { readonly window: string };

/** A command that has started in a pane. */
interface Begun extends Pick<Reading, "signal"> {
  readonly number: number;
  readonly started: Started;
}

export function createCommands(options: CommandsOptions): Commands {
  const { inner, markPrefix } = options;
  const known = knownCommands(options);
  const running = new Set<Process>();
  const starting = new Set<Promise<unknown>>();
  /** The command that runs in the main pane or is being typed there. */
  let typed: { readonly sinceMs: number; pane?: string } | undefined;
  let jobs = 0;
  let closed = false;

  const begun = async (command: Command, mode: Mode): Promise<Begun> => {
    const isJob = command.lifetime === "toolkit";
    const isOwn = isJob || (typed !== undefined && Date.now() - typed.sinceMs < LONG_MS);
    const window = isJob ? `job-${++jobs}` : "command";
    if (isOwn) return (await startIn(command, mode, async () => ({ window }))) ?? neverBegun(command);
    const here: NonNullable<typeof typed> = { sinceMs: Date.now() };
    const before = typed?.pane;
    typed = here;
    const done = () => {
      if (typed === here) typed = undefined;
    };
    try {
      let except = before;
      for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        const started = await startIn(command, mode, async () => {
          const prompt = await options.panes().prompt(except);
          here.pane = prompt.pane;
          return { prompt, ended: done };
        });
        if (started !== undefined) return started;
        if (attempt > 0) except = here.pane;
      }
      return neverBegun(command);
    } catch (error) {
      done();
      throw error;
    }
  };

  /** Creates the files of a command while its pane is chosen. */
  const readyAt = async <T>(command: Command, plan: Plan, finding: Promise<T>): Promise<T> => {
    const [where] = await Promise.all([finding, makeFiles(options.helper(), command, plan)]);
    if (closed) throw closedFailure();
    return where;
  };

  /** Starts a command in a pane. Resolves to `undefined` if it did not start there. */
  const startIn = async (command: Command, mode: Mode, find: () => Promise<Where>): Promise<Begun | undefined> => {
    const { plan, progress } = known.add(command, mode);
    const { number } = plan;
    const helper = options.helper();
    try {
      const where = await readyAt(command, plan, find());
      const opening = openReading({
        ...{ inner, command, plan, progress, helper, type: options.type },
        ended() {
          known.forget(number);
          if ("prompt" in where) where.ended();
        },
      });
      opening.catch(() => undefined);
      const pane = await typedAt(options, where, command, plan, progress);
      const reading = await opening.catch(async (error: unknown) => {
        await helper.ask(unread(number));
        throw error;
      });
      const prompt = "prompt" in where ? where.prompt : undefined;
      const pid = await awaitStart(plan, progress, helper, prompt).catch(async (error: unknown) => {
        await reading.abandon();
        throw error;
      });
      if (pid !== undefined) return { number, started: reading.begun(pid, pane), signal: reading.signal };
      await reading.abandon();
      known.forget(number);
      return undefined;
    } catch (error) {
      known.forget(number);
      throw error;
    }
  };
  const spawn = async (given: Command): Promise<Process> => {
    const streams = given.lifetime === "toolkit" ? "merged" : keptStreams(given);
    const command: Command = { ...given, streams };
    const mode = command.stdin ?? "closed";
    const beginning = later<Begun>();
    const process = await run(command, {
      async start() {
        const one = await begun(command, mode);
        beginning.resolve(one);
        return one.started;
      },
      signal: async () => (await beginning.promise).signal(),
    });
    const { number } = await beginning.promise;
    running.add(process);
    void process.exit.then(() => running.delete(process));
    if (closed) await process.kill(); // the backend was closed meanwhile
    if (mode !== "terminal") return process;
    return { ...process, awaitsInput: (until) => awaitsInput(process, { number, helper: options.helper(), until }) };
  };

  const dispatch = async (command: Command): Promise<{ readonly pane: string }> => {
    let except = typed?.pane;
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const { plan, progress } = known.add(command, "dispatch");
      const prompt = await readyAt(command, plan, options.panes().prompt(except)).catch((error: unknown) => {
        known.forget(plan.number);
        throw error;
      });
      await prompt.type((...at) => line(plan, ...at), typedOf(command, progress, false));
      const pid = await awaitStart(plan, progress, options.helper(), prompt);
      if (pid !== undefined) return { pane: prompt.pane };
      known.forget(plan.number);
      if (attempt > 0) except = prompt.pane;
    }
    return neverBegun(command);
  };

  /** Refuses commands that can never start. Makes `close` wait for commands that are starting. */
  const begin = async <T>(command: Command, work: (command: Command) => Promise<T>): Promise<T> => {
    if (closed) throw closedFailure();
    requireUnstopped(command);
    const { cwd = inner.workDir, isRealCwd = false } = command;
    const real = cwd === inner.workDir || isRealCwd ? Promise.resolve(cwd) : inner.files.realPath(cwd);
    const started = real.then((at) => work({ ...command, cwd: at }));
    starting.add(started);
    return started.finally(() => starting.delete(started));
  };

  return {
    spawn: (command) => begin(command, spawn),
    dispatch: (command) => begin(command, dispatch),
    heard: known.heard,
    ask: known.ask,
    async close() {
      closed = true;
      known.close();
      await Promise.allSettled(starting);
      await Promise.all([...running].map((process) => process.kill()));
      if (known.count > 0)
        await options
          .helper()
          .ask(`hr_end ${quoteWord(markPrefix)}`)
          .catch(() => undefined);
    },
  };
}

/** The commands of this backend, by number, with what is reported about them. */
function knownCommands({ inner, helper, markPrefix, hasSessions }: CommandsOptions) {
  const progressByNumber = new Map<number, CommandProgress>();
  const ended: number[] = [];
  let count = 0;
  let closed = false;
  const heard = (text: string) => {
    const [number = "", event = "", ...words] = text.split(" ");
    progressByNumber.get(Number(number))?.heard(event, words.join(" "));
  };
  return {
    /** Numbers a command, and plans its files. */
    add(command: Command, mode: Mode): { readonly plan: Plan; readonly progress: CommandProgress } {
      const number = ++count;
      const progress = createProgress();
      progressByNumber.set(number, progress);
      const { folder, shell } = helper();
      const plan: Plan = {
        ...{ number, program: command.argv[0], mode, folder, shell, cwd: command.cwd ?? inner.workDir },
        mark: mode === "dispatch" ? `:dispatched${markPrefix.slice(1)}${number}:` : `${markPrefix}${number}:`,
        isApart: (mode === "closed" || mode === "pipe") && hasSessions(),
        isKept: isKept(command),
      };
      return { plan, progress };
    },
    /** The command has ended or never starts. Its files are removed later. */
    forget(number: number) {
      progressByNumber.delete(number);
      ended.push(number);
      if (ended.length < MOST_FILES || closed) return;
      const old = ended.splice(0, MOST_FILES / 2).map((each) => `"$F/${each}" "$F/${each}.d"`);
      void helper()
        .ask(`rm -rf ${old.join(" ")}`)
        .catch(() => undefined);
    },
    heard,
    ask() {
      const numbers = [...progressByNumber.keys()];
      if (numbers.length === 0) return;
      void helper()
        .ask(`hr_status ${numbers.join(" ")}`)
        .then(({ out }) => out.toString().split("\n").forEach(heard))
        .catch(() => undefined);
    },
    /** How many commands there were. */
    get count() {
      return count;
    },
    /** From now on no files are removed: the folder is. */
    close: () => void (closed = true),
  };
}

/** The line that runs the files of a command, and passes on what it leaves to a shell that reads sh. */
function line({ number, folder, isKept: keeps }: Plan, up: number, column: number, shell: string): string {
  const runs = ` sh ${folder}/${number} ${up} ${column}`;
  return keeps && READS_SH.test(shell) ? `${runs}; . ${folder}/${number}.d/after` : runs;
}

const READS_SH = /^-?(ba|da|z|a|k|mk|ya)?sh[\d.-]*$|^busybox$/;

/** Types the line that starts a command, or opens its window. Resolves to the pane. */
async function typedAt(
  { panes, inner }: CommandsOptions,
  where: Where,
  command: Command,
  plan: Plan,
  progress: CommandProgress,
): Promise<string> {
  if ("prompt" in where) {
    await where.prompt.type((...at) => line(plan, ...at), typedOf(command, progress, true));
    return where.prompt.pane;
  }
  const file = `${plan.folder}/${plan.number}`;
  return panes().window(where.window, [plan.shell, "-c", LEADER, plan.shell, file], inner.workDir);
}

async function makeFiles(helper: HelperShell, command: Command, plan: Plan): Promise<void> {
  const { status, out } = await helper.ask(commandFiles(command, plan));
  if (status !== 0) throw new ToolFailure(`cannot start ${command.argv[0]}: ${out.toString().trim()}`);
}

function typedOf(command: Command, { exited }: CommandProgress, isAwaited: boolean): Typed {
  return { shown: shownCommand(command), isAwaited, over: exited };
}

function neverBegun({ argv }: Command): never {
  throw new ToolFailure(`cannot start ${argv[0]}: it was typed into a pane, but did not start`, {
    hint: "Somebody may be typing there. Try again.",
  });
}
