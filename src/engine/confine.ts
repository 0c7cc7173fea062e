import type { Store } from "../contract/activity.ts";
import type { Backend, Command, OpenFile, Process, ToolBackend } from "../contract/backend.ts";
import type { ApprovedCall } from "../contract/call.ts";
import type { Refusal } from "../contract/containment.ts";
import type { Decision } from "../contract/decision.ts";
import type { Effect, Env } from "../contract/effect.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { Jobs } from "../contract/job.ts";
import type { FindQuery, SearchQuery } from "../contract/search.ts";
import type { Closed, Outputs, ToolJobs } from "../contract/tool.ts";
import { onAbort } from "../util/abort.ts";
import { absolutePath } from "../util/paths.ts";
import { quoteWords } from "../util/quote.ts";
import { type Tie, jobsOfCall } from "./confine-jobs.ts";
import { type PathUse, createReach } from "./confine-paths.ts";
import { confinedTerminal } from "./confine-terminal.ts";
import type { Host } from "./host.ts";

/** A backend and the saved outputs, for one call. */
export interface Confined {
  readonly backend: ToolBackend;
  readonly outputs: Outputs;
  readonly jobs: ToolJobs;
  readonly closed: Closed;
  /** Adds an effect that was permitted while the call ran, with the policy's decision. */
  allow(effect: Effect, decision: Decision): void;
  /**
   * Ends the call: refuses all further access, closes its files, stops its processes and releases their logs. Resolves
   * to what the sandbox refused to its commands.
   */
  end(): Promise<readonly Refusal[]>;
}

/** The parts that `confine` wraps. */
export interface ConfineOptions {
  readonly backend: Backend;
  readonly outputs: Outputs;
  readonly jobs: Jobs;
  readonly store: Store;
  readonly withheld: Host["withheld"];
}

/**
 * Limits the backend to the approved effects of one call, and to those permitted later. Paths are compared with the
 * real paths that were judged, and passed on as real paths, so that a link that changes in between has no effect. A
 * process runs the approved script in the approved folder, and ends with the call.
 */
export function confine(
  { backend: inner, outputs, jobs, store, withheld }: ConfineOptions,
  call: ApprovedCall,
  signal: AbortSignal,
): Confined {
  const { outside = inner.files } = inner;
  const allowed = [...call.effects];
  /** Decisions on effects that were permitted while the call ran. */
  const later = new Map<Effect, Decision>();
  const except = [...new Set(call.decision.except)];
  const paths = createReach(allowed, except, withheld);
  const started = new Set<Promise<Process>>();
  const opened = new Set<OpenFile>();
  /** What ends the processes in a live terminal with this call. */
  const ties = new Map<Process, Tie>();
  /** Ends the searches of the call. */
  let searches: AbortController | undefined;
  let over = false;

  const alive = () => {
    if (over)
      throw new ToolFailure(`the call of "${call.tool.name}" has ended; it can no longer use files or commands`);
  };

  /** The real path. A path that was judged keeps the real path that it had then. */
  const realPath = async (path: string): Promise<string> => {
    alive();
    const absolute = absolutePath(path, inner);
    for (const effect of allowed) {
      if (effect.kind !== "read" && effect.kind !== "write") continue;
      if (effect.real !== undefined && (effect.real === absolute || absolutePath(effect.path, inner) === absolute))
        return effect.real;
    }
    const real = await inner.files.realPath(path);
    alive();
    return real;
  };

  /** Returns the real path. Throws when the call may not use it in this way. */
  const reach = async (path: string, use: PathUse): Promise<string> => {
    const real = await realPath(path);
    const reached = paths.reach(use, absolutePath(path, inner), real);
    if (reached === "open") return real;
    if (reached === "undeclared") {
      const what = use === "write" ? "write" : "read";
      throw new ToolFailure(`tool "${call.tool.name}" tried to ${what} ${path}, which this call did not declare`);
    }
    throw new ToolFailure(`the policy does not allow ${path} for a call that names only a parent folder`, {
      hint: "Make a call that names this path itself: the policy then judges it, and may ask a person.",
    });
  };

  const runs = async <C extends Command>(command: C): Promise<C> => {
    alive();
    const cwd = command.cwd === undefined ? inner.workDir : absolutePath(command.cwd, inner);
    const judged = allowed.find(
      (each) =>
        each.kind === "exec" && (each.cwd === undefined ? inner.workDir : absolutePath(each.cwd, inner)) === cwd,
    );
    const real = judged?.kind === "exec" && judged.real !== undefined ? judged.real : await outside.realPath(cwd);
    alive();
    const effect = allowed.find((each): each is Exec => isThisCommand(each, command, real));
    if (effect === undefined) {
      throw new ToolFailure(
        `tool "${call.tool.name}" tried to run a command that this call did not declare: ${scriptOf(command.argv)}`,
      );
    }
    // The policy decides how a command is contained, and what runs in place of a plain one.
    const { within = {}, runs: anew = [] } = later.get(effect) ?? call.decision;
    const run = anew.find((each) => each.command === effect.command && each.folder === real);
    if (run === undefined) return { ...command, cwd: real, isRealCwd: true, within };
    const anewRun =
      "argv" in run
        ? { argv: run.argv, env: { ...command.env, ...run.env } }
        : { argv: withScript(command.argv, run.script) };
    const label = command.label ?? scriptOf(command.argv); // people see what the model wrote
    return { ...command, ...anewRun, label, cwd: run.cwd, isRealCwd: true, within };
  };

  /** Registers the process before it has started: one that is still starting when the call ends is stopped too. */
  const begin = (start: () => Promise<Process>): Promise<Process> => {
    alive();
    const process = start();
    started.add(process);
    return process;
  };

  const opens = async (opening: Promise<OpenFile>): Promise<OpenFile> => {
    const file = await opening;
    opened.add(file);
    if (over) await file.close();
    return {
      info: file.info,
      read: (offset, length) => file.read(offset, length),
      async close() {
        if (opened.delete(file)) await file.close();
      },
    };
  };

  const both = (own: AbortSignal | undefined) => (own === undefined ? signal : AbortSignal.any([signal, own]));

  /** Starts a process that may become a job: then neither the call's signal nor the command's stops it any more. */
  const beginTied = async (command: Command): Promise<Process> => {
    const startedMs = Date.now();
    const controller = new AbortController();
    const releases = [signal, ...(command.signal === undefined ? [] : [command.signal])].map((each) =>
      onAbort(each, () => controller.abort(each.reason)),
    );
    const release = () => releases.forEach((each) => each());
    const starting = begin(() => inner.spawn({ ...command, signal: controller.signal }));
    const process = await starting.catch((error: unknown) => {
      release();
      throw error;
    });
    void process.exit.then(release);
    if (process.place === undefined) return process; // it has no pane
    ties.set(process, {
      startedMs,
      cut() {
        release();
        started.delete(starting);
        ties.delete(process);
      },
    });
    return process;
  };

  const ofThisCall = async <Query extends SearchQuery | FindQuery>(query: Query): Promise<Query> => {
    const isPath = !("input" in query) || query.input === undefined;
    const path = isPath ? await reach(query.path, "look") : query.path;
    alive();
    searches ??= new AbortController();
    return {
      ...query,
      path,
      except: [...(query.except ?? []), ...except],
      signal: AbortSignal.any([both(query.signal), searches.signal]),
    };
  };

  const terminal =
    inner.terminal &&
    confinedTerminal(inner.terminal, call, {
      allowed,
      alive,
      runs,
      shows: (pane) => [...ties.keys()].some(({ place }) => place === `pane ${pane}`),
    });

  const backend: ToolBackend = {
    name: inner.name,
    workDir: inner.workDir,
    home: inner.home,
    ...(inner.shell !== undefined && { shell: inner.shell }),
    ...(inner.access !== undefined && { access: inner.access }),
    ...(terminal !== undefined && { terminal }),
    files: {
      realPath,
      stat: async (path) => inner.files.stat(await reach(path, "stat"), REAL),
      open: async (path) => opens(inner.files.open(await reach(path, "read"), REAL)),
      list: async (path) => inner.files.list(await reach(path, "look"), REAL),
      write: async (path, bytes) => inner.files.write(await reach(path, "write"), bytes, REAL),
      remove: async (path) => inner.files.remove(await reach(path, "write"), REAL),
    },
    async spawn(command: Command) {
      if ((command.lifetime ?? "call") !== "call")
        throw new ToolFailure("a command that outlives its call must be started as a job");
      const checked = await runs(command);
      if (inner.terminal !== undefined) return beginTied(checked);
      return begin(() => inner.spawn({ ...checked, signal: both(command.signal) }));
    },
    search: async (query) => inner.search(await ofThisCall(query)),
    find: async (query) => inner.find(await ofThisCall(query)),
  };

  return {
    backend,
    outputs: {
      get forCommands() {
        return outputs.forCommands;
      },
      // Saving is not an effect: it changes nothing that existed before, and only this toolkit can read it.
      save: async (content) => {
        alive();
        return outputs.save(content);
      },
      open: async (id) => {
        alive();
        if (allowed.some((effect) => effect.kind === "output" && effect.id === id)) return opens(outputs.open(id));
        throw new ToolFailure(`tool "${call.tool.name}" tried to read output://${id}, which this call did not declare`);
      },
    },
    jobs: jobsOfCall(jobs, store, call, { allowed, alive, runs, tieOf: (process) => ties.get(process) }),
    closed: { paths: except, holds: (path) => paths.reach("read", path, path) === "closed" },
    allow(effect, decision) {
      allowed.push(effect);
      later.set(effect, decision);
      except.push(...(decision.except ?? []).filter((path) => !except.includes(path)));
    },
    async end() {
      over = true;
      searches?.abort(new ToolFailure(`the call of "${call.tool.name}" has ended`));
      for (const file of opened) void file.close().catch(() => {});
      return (await Promise.all([...started].map(letGo))).flat();
    },
  };
}

/** Links were resolved when the path was compared; they are not followed again. */
const REAL = { real: true } as const;

async function letGo(starting: Promise<Process>): Promise<readonly Refusal[]> {
  const process = await starting.catch(() => undefined);
  if (process === undefined) return []; // it never ran
  await process.kill();
  const refusals = await process.refusals; // before its output is disposed, from which they are read
  await Promise.all([process.output.dispose(), process.errors?.dispose()]);
  return refusals ?? [];
}

type Exec = Extract<Effect, { kind: "exec" }>;

function isThisCommand(effect: Effect, command: Command, cwd: string): effect is Exec {
  if (effect.kind !== "exec") return false;
  if ((effect.lifetime ?? "call") !== (command.lifetime ?? "call")) return false;
  if (effect.command !== scriptOf(command.argv) || effect.real !== cwd) return false;
  return isSameEnv(effect.env ?? {}, command.env ?? {});
}

/** Both must have the same variables: a missing one changes a script as much as an added one. */
function isSameEnv(one: Env, other: Env): boolean {
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && one[name] === other[name])
  );
}

const SHELL = /^((\/usr)?\/bin\/)?(ba|da|z|k)?sh$/;

/** The only flags allowed before `-c`: with others (`-c` twice, a script file, `--rcfile`) a shell runs more. */
const SHELL_FLAGS: ReadonlySet<string> = new Set(["--noprofile", "--norc"]);

/** The script that an argument vector runs: the one after a shell's `-c`, else the quoted words. */
function scriptOf(argv: Command["argv"]): string {
  return (isShell(argv) ? argv.at(-1) : undefined) ?? quoteWords(argv);
}

/** The same shell with another script. */
function withScript(argv: Command["argv"], script: string): Command["argv"] {
  if (!isShell(argv)) throw new ToolFailure(`${quoteWords(argv)} cannot be replaced by a script; nothing was run`);
  const [program, ...args] = argv;
  return [program, ...args.slice(0, -1), script];
}

function isShell([program, ...args]: Command["argv"]): boolean {
  const isFlagged = args.length > 1 && /^-l?c$/.test(args.at(-2) ?? "");
  return SHELL.test(program) && isFlagged && args.slice(0, -2).every((arg) => SHELL_FLAGS.has(arg));
}
