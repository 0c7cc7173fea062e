import type { Backend, Command, Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { absolutePath } from "../../util/paths.ts";
import { quoteWord } from "../../util/shell.ts";
import { begun } from "./beginning.ts";
import { type Mode, type Plan, commandFiles } from "./command-files.ts";
import type { Keeper } from "./keeper.ts";
import type { Panes, Prompt, Typed } from "./panes.ts";
import { runningProcess } from "./process.ts";
import { shownCommand } from "./shown.ts";
import { type Story, createStory } from "./story.ts";

/** Commands that are typed into panes. */
export interface Commands {
  spawn(command: Command): Promise<Process>;
  dispatch(command: Command): Promise<{ readonly pane: string }>;
  /** A line that a runner wrote. */
  heard(line: string): void;
  /** What runners wrote meanwhile may be lost: it is asked for. */
  ask(): void;
  /** Ends what runs, but not what was dispatched. Never rejects. */
  close(): Promise<void>;
}

export interface CommandsOptions {
  readonly inner: Backend;
  /** There by the time the first command is started. */
  readonly keeper: () => Keeper;
  readonly panes: () => Panes;
  /** Begins every mark of this backend, and no other's. */
  readonly family: string;
  /** Whether there is `setsid`. */
  readonly hasSessions: () => boolean;
  readonly type: (pane: string, text: string) => Promise<void>;
}

/** When the command in the pane where commands are typed has run for so long, others no longer wait for it but move to another one. */
const LONG_MS = 5_000;
/** So often a command is tried: once more in the first pane, where the shell may now be at its prompt, then in others. */
const MOST_ATTEMPTS = 4;
/** So many commands keep their files after their end: a runner may still be reading them. */
const MOST_FILES = 16;

/**
 * Leads the session of a window of its own. Of a terminal that goes the leader alone is told (SIGHUP), and when it dies the system tells the others; the runner, which pays no
 * heed, must not be it.
 */
const LEADER = 'trap : INT QUIT; "$0" "$1"; exit';

/** Nothing reads what a command writes: it is not to begin, and who opens the FIFOs for writing does not wait for ever. */
function unread(number: number): string {
  const own = `"$F/${number}.d"`;
  return `mkdir ${own}/claimed 2>/dev/null || : >${own}/stopped; for hr_each in ${own}/out*; do : <>"$hr_each"; done`;
}

type Where = { readonly prompt: Prompt; ended(): void } | { readonly window: string };

export function createCommands(options: CommandsOptions): Commands {
  const { inner, family } = options;
  const stories = new Map<number, Story>();
  const running = new Map<number, Process>();
  const starting = new Set<Promise<unknown>>();
  const ended: number[] = [];
  /** The command that is in the pane where commands are typed, or on its way there. */
  let typed: { readonly sinceMs: number; pane?: string } | undefined;
  let count = 0;
  let jobs = 0;
  let closed = false;

  const planOf = (command: Command, mode: Mode): Plan => {
    const number = ++count;
    return {
      number,
      mode,
      cwd: absolutePath(command.cwd ?? ".", inner),
      mark: mode === "dispatch" ? `:dispatched${family.slice(1)}${number}:` : `${family}${number}:`,
      isApart: (mode === "closed" || mode === "pipe") && options.hasSessions(),
      folder: options.keeper().folder,
      shell: options.keeper().shell,
    };
  };
  const forget = (number: number) => {
    stories.delete(number);
    ended.push(number);
    if (ended.length < MOST_FILES || closed) return;
    const old = ended.splice(0, MOST_FILES / 2).map((each) => `"$F/${each}" "$F/${each}.d"`);
    void options
      .keeper()
      .ask(`rm -rf ${old.join(" ")}`)
      .catch(() => undefined);
  };
  const line = ({ number, folder }: Plan, ...words: readonly number[]) =>
    [` sh ${folder}/${number}`, ...words].join(" ");

  const start = async (command: Command, mode: Mode): Promise<Process> => {
    const isJob = command.lifetime === "toolkit";
    const isOwn = isJob || (typed !== undefined && Date.now() - typed.sinceMs < LONG_MS);
    if (isOwn)
      return (
        (await startIn(command, mode, async () => ({
          window: isJob ? `job-${++jobs}` : "command",
        }))) ?? neverBegun(command)
      );
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

  const makeFiles = async (command: Command, plan: Plan): Promise<void> => {
    const { status, out } = await options.keeper().ask(commandFiles(command, plan));
    if (status !== 0) throw new ToolFailure(`cannot start ${command.argv[0]}: ${out.toString().trim()}`);
  };
  /** Makes the files of a command while it is found out where it will run. */
  const readyAt = async <T>(command: Command, plan: Plan, finding: Promise<T>): Promise<T> => {
    const [where] = await Promise.all([finding, makeFiles(command, plan)]);
    if (closed) throw closedFailure();
    return where;
  };

  /** `undefined` when it did not begin there. */
  const startIn = async (command: Command, mode: Mode, find: () => Promise<Where>): Promise<Process | undefined> => {
    const plan = planOf(command, mode);
    const story = createStory();
    stories.set(plan.number, story);
    try {
      const where = await readyAt(command, plan, find());
      const whenEnded = () => {
        running.delete(plan.number);
        forget(plan.number);
        if ("prompt" in where) where.ended();
      };
      const reading = runningProcess({
        inner,
        command,
        plan,
        story,
        keeper: options.keeper(),
        type: options.type,
        ended: whenEnded,
      });
      reading.catch(() => undefined);
      let pane: string;
      if ("prompt" in where) {
        ({ pane } = where.prompt);
        await where.prompt.type((up, column) => line(plan, up, column), typedOf(command, story, true));
      } else {
        const file = `${plan.folder}/${plan.number}`;
        pane = await options.panes().window(where.window, [plan.shell, "-c", LEADER, plan.shell, file], inner.workDir);
      }
      const process = await reading.catch(async (error: unknown) => {
        await options.keeper().ask(unread(plan.number));
        throw error;
      });
      const pid = await begun(plan, story, options.keeper(), "prompt" in where ? where.prompt : undefined).catch(
        async (error: unknown) => {
          await process.abandon();
          throw failureOf(error, command, plan);
        },
      );
      if (pid !== undefined) {
        const alive = process.begun(pid, pane);
        running.set(plan.number, alive);
        return alive;
      }
      await process.abandon();
      forget(plan.number);
      return undefined;
    } catch (error) {
      forget(plan.number);
      throw error;
    }
  };

  const spawn = async (given: Command): Promise<Process> => {
    const command: Command = given.lifetime === "toolkit" ? { ...given, streams: "merged" } : given;
    const process = await start(command, command.stdin ?? "closed");
    if (closed) await process.kill(); // it was closed while this started
    return process;
  };

  const dispatch = async (command: Command): Promise<{ readonly pane: string }> => {
    let except = typed?.pane;
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const plan = planOf(command, "dispatch");
      const story = createStory();
      stories.set(plan.number, story);
      const prompt = await readyAt(command, plan, options.panes().prompt(except)).catch((error: unknown) => {
        forget(plan.number);
        throw error;
      });
      await prompt.type((up, column) => line(plan, up, column), typedOf(command, story, false));
      const pid = await begun(plan, story, options.keeper(), prompt).catch((error: unknown) => {
        throw failureOf(error, command, plan);
      });
      if (pid !== undefined) return { pane: prompt.pane };
      forget(plan.number);
      if (attempt > 0) except = prompt.pane;
    }
    return neverBegun(command);
  };

  /** Refuses what can never be started; closing waits for what is on its way. */
  const begin = async <T>(command: Command, work: (command: Command) => Promise<T>): Promise<T> => {
    check(command, closed);
    const started = work(command);
    starting.add(started);
    return started.finally(() => starting.delete(started));
  };

  return {
    spawn: (command) => begin(command, spawn),
    dispatch: (command) => begin(command, dispatch),
    heard(text) {
      const [number = "", event = "", ...words] = text.split(" ");
      stories.get(Number(number))?.heard(event, words.join(" "));
    },
    ask() {
      const numbers = [...stories.keys()];
      if (numbers.length === 0) return;
      void options
        .keeper()
        .ask(`hr_status ${numbers.join(" ")}`)
        .then(({ out }) => {
          for (const each of out.toString().split("\n")) this.heard(each);
        })
        .catch(() => undefined);
    },
    async close() {
      closed = true;
      await Promise.allSettled(starting);
      await Promise.all([...running.values()].map((process) => process.kill()));
      if (count > 0)
        await options
          .keeper()
          .ask(`hr_end ${quoteWord(family)} "" ""`)
          .catch(() => undefined);
    },
  };
}

function typedOf({ argv }: Command, { exited }: Story, isAwaited: boolean): Typed {
  return { shown: shownCommand(argv), isAwaited, over: exited };
}

function check({ argv, env = {}, signal }: Command, closed: boolean): void {
  if (closed) throw closedFailure();
  if (signal?.aborted === true) throw new ToolFailure(`${argv[0]} was stopped before it was started`);
  if (![...argv, ...Object.entries(env).flat()].some((each) => each.includes("\0"))) return;
  const program = argv[0].replaceAll("\0", "\\0");
  throw new ToolFailure(`cannot start ${program}: there is a NUL byte in its arguments or variables`);
}

function closedFailure(): ToolFailure {
  return new ToolFailure("the backend is closed: nothing can be started on it any more");
}

function neverBegun({ argv }: Command): never {
  throw new ToolFailure(`cannot start ${argv[0]}: it was typed into a pane, and did not begin`, {
    hint: "Somebody may be typing there. Try again.",
  });
}

function failureOf(error: unknown, { argv }: Command, { cwd }: Plan): unknown {
  if (!(error instanceof ToolFailure)) return error;
  return new ToolFailure(`cannot start ${argv[0]} in ${cwd}: ${error.message}`);
}
