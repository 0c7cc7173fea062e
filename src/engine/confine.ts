import type { Backend, Command, Process } from "../contract/backend.ts";
import type { ApprovedCall } from "../contract/call.ts";
import type { Effect, Env } from "../contract/effect.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { Jobs } from "../contract/job.ts";
import type { Outputs, ToolJobs } from "../contract/tool.ts";
import { isInside } from "../util/paths.ts";
import { quoteWords } from "../util/shell.ts";
import { jobsOfCall } from "./confine-jobs.ts";

/** A backend and the saved outputs, for one call. */
export interface Confined {
  readonly backend: Backend;
  readonly outputs: Outputs;
  readonly jobs: ToolJobs;
  /** Adds an effect that was permitted while the call ran. */
  allow(effect: Effect): void;
  /** The call is over: from now on nothing can be touched through it, and what it started is stopped and its logs let go. */
  end(): Promise<void>;
}

/** What is confined. */
export interface ConfineOptions {
  readonly backend: Backend;
  readonly outputs: Outputs;
  readonly jobs: Jobs;
}

/**
 * The backend as one call may use it: only what it declared and was approved for, or was permitted later. Paths are compared as
 * real paths, those of the effects as they were judged, and handed on as real paths, so that a link changed in between leads
 * nowhere. A process runs the approved script in the approved folder, and ends with the call.
 */
export function confine(
  { backend: inner, outputs, jobs }: ConfineOptions,
  call: ApprovedCall,
  signal: AbortSignal,
): Confined {
  const allowed = [...call.effects];
  const started: Promise<Process>[] = [];
  let over = false;

  const alive = () => {
    if (over) throw new ToolFailure(`the call of "${call.tool.name}" is over; it can touch nothing more`);
  };

  const reach = async (path: string, ...kinds: readonly Effect["kind"][]): Promise<string> => {
    alive();
    const real = await inner.files.realPath(path);
    alive();
    if (allowed.some((effect) => covers(effect, real, kinds))) return real;
    throw new ToolFailure(`tool "${call.tool.name}" tried to ${kinds[0]} ${path}, which this call did not declare`);
  };

  const runs = async (command: Command, background?: "job" | "detached"): Promise<Command> => {
    alive();
    const real = await inner.files.realPath(command.cwd ?? ".");
    alive();
    if (!allowed.some((effect) => isThisCommand(effect, command, real, background))) {
      throw new ToolFailure(
        `tool "${call.tool.name}" tried to run a command that this call did not declare: ${scriptOf(command.argv)}`,
      );
    }
    return { ...command, cwd: real };
  };

  /** What is still starting when the call ends counts too. */
  const begin = (start: () => Promise<Process>): Promise<Process> => {
    alive();
    const process = start();
    started.push(process);
    return process;
  };

  const both = (own: AbortSignal | undefined) => (own === undefined ? signal : AbortSignal.any([signal, own]));

  const backend: Backend = {
    name: inner.name,
    workDir: inner.workDir,
    home: inner.home,
    files: {
      realPath: async (path) => {
        alive();
        return inner.files.realPath(path);
      },
      stat: async (path) => inner.files.stat(await reach(path, "read", "write")),
      open: async (path) => inner.files.open(await reach(path, "read")),
      list: async (path) => inner.files.list(await reach(path, "read")),
      write: async (path, bytes) => inner.files.write(await reach(path, "write"), bytes),
      remove: async (path) => inner.files.remove(await reach(path, "write")),
    },
    async spawn(command) {
      if (command.detached !== undefined) throw new ToolFailure("a command that outlives its call is started as a job");
      const checked = await runs(command);
      return begin(() => inner.spawn({ ...checked, signal: both(command.signal) }));
    },
    async helper(program, args, options) {
      const paths = await Promise.all(options.paths.map((path) => reach(path, "read")));
      return begin(() => inner.helper(program, args, { ...options, paths, signal: both(options.signal) }));
    },
    close: () => Promise.reject(new ToolFailure("a tool cannot close the backend it runs on")),
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
    jobs: jobsOfCall(jobs, call, { allowed, alive, runs }),
    allow: (effect) => void allowed.push(effect),
    async end() {
      over = true;
      await Promise.all(started.map(letGo));
    },
  };
}

async function letGo(starting: Promise<Process>): Promise<void> {
  const process = await starting.catch(() => undefined);
  if (process === undefined) return; // it never ran
  await process.kill();
  await Promise.all([process.output.dispose(), process.errors?.dispose()]);
}

function covers(effect: Effect, real: string, kinds: readonly Effect["kind"][]): boolean {
  if (effect.kind !== "read" && effect.kind !== "write") return false;
  return kinds.includes(effect.kind) && effect.real !== undefined && isInside(real, effect.real);
}

function isThisCommand(effect: Effect, command: Command, cwd: string, background?: "job" | "detached"): boolean {
  if (effect.kind !== "exec" || effect.background !== background) return false;
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

/** The script that an argument vector runs: what stands behind a shell's `-c`, else the words themselves, quoted. */
function scriptOf(argv: Command["argv"]): string {
  const [program, ...args] = argv;
  const [flag, script] = args.slice(-2);
  const isScript =
    SHELL.test(program) && /^-l?c$/.test(flag ?? "") && args.slice(0, -2).every((arg) => SHELL_FLAGS.has(arg));
  return isScript && script !== undefined ? script : quoteWords(argv);
}
