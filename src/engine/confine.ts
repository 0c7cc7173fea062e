import type { Backend, Command, Process, ToolBackend } from "../contract/backend.ts";
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
import { quoteWords } from "../util/shell.ts";
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
  /** Adds an effect that was permitted while the call ran, as the policy let it through. */
  allow(effect: Effect, decision: Decision): void;
  /**
   * The call is over: from now on nothing can be touched through it, and what it started is stopped and its logs let go. Resolves to what the
   * sandbox kept its commands from.
   */
  end(): Promise<readonly Refusal[]>;
}

/** What is confined. */
export interface ConfineOptions {
  readonly backend: Backend;
  readonly outputs: Outputs;
  readonly jobs: Jobs;
  readonly withheld: Host["withheld"];
}

/**
 * The backend as one call may use it: only what it declared and was approved for, or was permitted later. Paths are compared as
 * real paths, those of the effects as they were judged, and handed on as real paths, so that a link changed in between leads
 * nowhere. A process runs the approved script in the approved folder, and ends with the call.
 */
export function confine(
  { backend: inner, outputs, jobs, withheld }: ConfineOptions,
  call: ApprovedCall,
  signal: AbortSignal,
): Confined {
  const { outside = inner.files } = inner;
  const allowed = [...call.effects];
  /** What was said of those that were permitted while the call ran. */
  const later = new Map<Effect, Decision>();
  const except = [...new Set(call.decision.except)];
  const paths = createReach(allowed, except, withheld);
  const started = new Set<Promise<Process>>();
  /** What binds the processes in a live terminal to this call. */
  const ties = new Map<Process, Tie>();
  /** Ends the searches of the call. */
  let searches: AbortController | undefined;
  let over = false;

  const alive = () => {
    if (over) throw new ToolFailure(`the call of "${call.tool.name}" is over; it can touch nothing more`);
  };

  /** Where a path leads: one that was judged leads where it led then, whatever is there by now. */
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

  /** The real path, if the call may use it so. */
  const reach = async (path: string, use: PathUse): Promise<string> => {
    const real = await realPath(path);
    const reached = paths.reach(use, absolutePath(path, inner), real);
    if (reached === "open") return real;
    if (reached === "undeclared") {
      const what = use === "write" ? "write" : "read";
      throw new ToolFailure(`tool "${call.tool.name}" tried to ${what} ${path}, which this call did not declare`);
    }
    throw new ToolFailure(`${path} is left out: the policy does not let it be opened along with the folder it is in`, {
      hint: "Name it itself; then it is judged, and perhaps asked about.",
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
    // How it is contained is the policy's to say, and so is what runs in place of a plain command.
    const { within = {}, runs: anew = [] } = later.get(effect) ?? call.decision;
    const run = anew.find((each) => each.command === effect.command && each.folder === real);
    if (run === undefined) return { ...command, cwd: real, isRealCwd: true, within };
    const anewRun =
      "argv" in run
        ? { argv: run.argv, env: { ...command.env, ...run.env } }
        : { argv: withScript(command.argv, run.script) };
    return { ...command, ...anewRun, cwd: run.cwd, isRealCwd: true, within };
  };

  /** What is still starting when the call ends counts too. */
  const begin = (start: () => Promise<Process>): Promise<Process> => {
    alive();
    const process = start();
    started.add(process);
    return process;
  };

  const both = (own: AbortSignal | undefined) => (own === undefined ? signal : AbortSignal.any([signal, own]));

  /** In a live terminal a process may be kept as a job: then neither signal is its any more. */
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
    if (process.place === undefined) return process; // nobody sees it
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
      open: async (path) => inner.files.open(await reach(path, "read"), REAL),
      list: async (path) => inner.files.list(await reach(path, "look"), REAL),
      write: async (path, bytes) => inner.files.write(await reach(path, "write"), bytes, REAL),
      remove: async (path) => inner.files.remove(await reach(path, "write"), REAL),
    },
    async spawn(command: Command) {
      if ((command.lifetime ?? "call") !== "call")
        throw new ToolFailure("a command that outlives its call is started as a job");
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
      // Saving is no effect: it touches nothing that was there before, and only this toolkit can read it.
      save: async (content) => {
        alive();
        return outputs.save(content);
      },
      open: async (id) => {
        alive();
        if (allowed.some((effect) => effect.kind === "output" && effect.id === id)) return outputs.open(id);
        throw new ToolFailure(`tool "${call.tool.name}" tried to read output://${id}, which this call did not declare`);
      },
    },
    jobs: jobsOfCall(jobs, call, { allowed, alive, runs, tieOf: (process) => ties.get(process) }),
    closed: { paths: except, holds: (path) => paths.reach("read", path, path) === "closed" },
    allow(effect, decision) {
      allowed.push(effect);
      later.set(effect, decision);
      except.push(...(decision.except ?? []).filter((path) => !except.includes(path)));
    },
    async end() {
      over = true;
      searches?.abort(new ToolFailure(`the call of "${call.tool.name}" is over`));
      return (await Promise.all([...started].map(letGo))).flat();
    },
  };
}

/** Links were followed once, when the path was compared; they are not followed again. */
const REAL = { real: true } as const;

async function letGo(starting: Promise<Process>): Promise<readonly Refusal[]> {
  const process = await starting.catch(() => undefined);
  if (process === undefined) return []; // it never ran
  await process.kill();
  const refusals = await process.refusals; // read off its output
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

/** A variable that is left out changes what a script does as much as one that is added. */
function isSameEnv(one: Env, other: Env): boolean {
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && one[name] === other[name])
  );
}

const SHELL = /^((\/usr)?\/bin\/)?(ba|da|z|k)?sh$/;

/** Before `-c` only these: with others (`-c` twice, a script file, `--rcfile`) a shell runs something else too. */
const SHELL_FLAGS: ReadonlySet<string> = new Set(["--noprofile", "--norc"]);

/** The script that an argument vector runs: what is behind a shell's `-c`, else the words themselves, quoted. */
function scriptOf(argv: Command["argv"]): string {
  return (isShell(argv) ? argv.at(-1) : undefined) ?? quoteWords(argv);
}

/** The same shell with another script. */
function withScript(argv: Command["argv"], script: string): Command["argv"] {
  if (!isShell(argv)) throw new ToolFailure(`a script cannot take the place of ${quoteWords(argv)}; nothing was run`);
  const [program, ...args] = argv;
  return [program, ...args.slice(0, -1), script];
}

function isShell([program, ...args]: Command["argv"]): boolean {
  const isFlagged = args.length > 1 && /^-l?c$/.test(args.at(-2) ?? "");
  return SHELL.test(program) && isFlagged && args.slice(0, -2).every((arg) => SHELL_FLAGS.has(arg));
}
