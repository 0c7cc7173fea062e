import type { Store } from "../contract/activity.ts";
import type { Backend, Command, OpenFile, ToolBackend } from "../contract/backend.ts";
import type { ApprovedCall } from "../contract/call.ts";
import type { Decision } from "../contract/decision.ts";
import type { Effect } from "../contract/effect.ts";
import { NotReal, ToolFailure } from "../contract/failure.ts";
import type { Jobs } from "../contract/job.ts";
import type { FindQuery, SearchQuery } from "../contract/search.ts";
import type { Closed, Outputs, ToolJobs } from "../contract/tool.ts";
import type { Stop } from "../util/abort.ts";
import { absolutePath } from "../util/paths.ts";
import { countWrite } from "./ahead.ts";
import { approvedCommands } from "./confine-commands.ts";
import { jobsOfCall } from "./confine-jobs.ts";
import { type PathUse, createReach } from "./confine-paths.ts";
import { type ProcessesEnd, callProcesses } from "./confine-processes.ts";
import { confinedTerminal } from "./confine-terminal.ts";
import type { Host } from "./host.ts";

/** A backend and the saved outputs, for one call. */
export interface Confined {
  readonly backend: ToolBackend;
  readonly outputs: Outputs;
  /** Made when it is asked for: few calls use jobs. */
  jobs(): ToolJobs;
  readonly closed: Closed;
  /** For a call with expected paths: the failure of an access because its path is not real. */
  notReal(): NotReal | undefined;
  /** Adds an effect that was permitted while the call ran, with the policy's decision. */
  allow(effect: Effect, decision: Decision): void;
  /**
   * Ends the call: refuses all further access, closes its files, stops its processes and releases their logs.
   */
  end(): Promise<ProcessesEnd>;
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
 * Limits the backend to the approved effects of one call, and to effects permitted later. Paths are compared with the
 * real paths that were judged, and are passed on as real paths. A link that changes in between therefore has no effect.
 * A process runs the approved script in the approved folder, and ends with the call.
 */
export function confine(
  { backend: inner, outputs, jobs, store, withheld }: ConfineOptions,
  call: ApprovedCall,
  stop: Pick<Stop, "signal">,
): Confined {
  const allowed = [...call.effects];
  /** The policy's decisions on effects that were permitted while the call ran. */
  const later = new Map<Effect, Decision>();
  const except = [...new Set(call.decision.except)];
  const paths = createReach(allowed, except, withheld);
  const opened = new Set<OpenFile>();
  /** Ends the searches of the call. */
  let searches: AbortController | undefined;
  let over = false;
  let notReal: NotReal | undefined;
  let { ahead } = call;

  const alive = () => {
    if (over)
      throw new ToolFailure(`the call of "${call.tool.name}" has ended; it can no longer use files or commands`);
  };

  const runs = approvedCommands({ inner, call, allowed, later, alive });
  const processes = callProcesses(inner, stop, alive);

  /** Returns the real path. For a path that was judged, this is the real path of that time. */
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
    if (call.isExpected === true && notReal !== undefined) throw notReal; // the call is judged again
    const real = await realPath(path);
    const reached = paths.reach(use, absolutePath(path, inner), real);
    if (reached === "open") return real;
    if (reached === "undeclared") {
      const what = use === "write" ? "write" : "read";
      const why = `tool "${call.tool.name}" tried to ${what} ${path}, which this call did not declare`;
      // What it names may lie below a link to the path that was expected to be real.
      if (call.isExpected === true) notReal ??= new NotReal(why);
      throw new ToolFailure(why);
    }
    throw new ToolFailure(`the policy does not allow ${path} for a call that names only a parent folder`, {
      hint: "Make a call that names this path itself: the policy then judges it, and may ask a person.",
    });
  };

  /** Notes that a path was not real. */
  const checked = async <T>(access: Promise<T>): Promise<T> => {
    try {
      return await access;
    } catch (error) {
      if (error instanceof NotReal) notReal ??= error;
      throw error;
    }
  };

  /** Takes the file that was opened ahead, once, unless it may have been written since. */
  const takeAhead = (real: string): Promise<OpenFile> | undefined => {
    if (ahead?.real !== real || !ahead.isFresh()) return undefined;
    const { opening } = ahead;
    ahead = undefined;
    return opening;
  };

  const written = async <T>(change: () => Promise<T>): Promise<T> => {
    countWrite(inner);
    try {
      return await change();
    } finally {
      countWrite(inner);
    }
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

  const ofThisCall = async <Query extends SearchQuery | FindQuery>(query: Query): Promise<Query> => {
    const isPath = !("input" in query) || query.input === undefined;
    const path = isPath ? await reach(query.path, "look") : query.path;
    alive();
    searches ??= new AbortController();
    return {
      ...query,
      path,
      except: [...(query.except ?? []), ...except],
      signal: AbortSignal.any([stop.signal, searches.signal, ...(query.signal === undefined ? [] : [query.signal])]),
    };
  };

  const terminal =
    inner.terminal &&
    confinedTerminal(inner.terminal, call, {
      allowed,
      alive,
      runs,
      shows: processes.shows,
    });

  const backend: ToolBackend = {
    name: inner.name,
    workDir: inner.workDir,
    home: inner.home,
    ...(inner.isFar === true && { isFar: true }),
    ...(inner.shell !== undefined && { shell: inner.shell }),
    ...(inner.access !== undefined && { access: inner.access }),
    ...(terminal !== undefined && { terminal }),
    files: {
      realPath,
      async stat(path) {
        const real = await reach(path, "stat");
        if (call.ahead?.real === real && call.ahead.isFresh()) return call.ahead.info;
        return checked(inner.files.stat(real, REAL));
      },
      async open(path) {
        const real = await reach(path, "read");
        return opens(takeAhead(real) ?? checked(inner.files.open(real, REAL)));
      },
      list: async (path) => checked(inner.files.list(await reach(path, "look"), REAL)),
      async write(path, bytes, { replaces } = {}) {
        const real = await reach(path, "write");
        const how = replaces === undefined ? REAL : { ...REAL, replaces };
        return written(() => inner.files.write(real, bytes, how));
      },
      async remove(path) {
        const real = await reach(path, "write");
        return written(() => inner.files.remove(real, REAL));
      },
    },
    async spawn(command: Command) {
      if ((command.lifetime ?? "call") !== "call")
        throw new ToolFailure("a command that outlives its call must be started as a job");
      return processes.spawn(await runs(command));
    },
    search: async (query) => checked(inner.search(await ofThisCall(query))),
    find: async (query) => checked(inner.find(await ofThisCall(query))),
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
    jobs: () => jobsOfCall(jobs, store, call, { allowed, alive, runs, tieOf: processes.tieOf }),
    closed: { paths: except, holds: (path) => paths.reach("read", path, path) === "closed" },
    notReal: () => notReal,
    allow(effect, decision) {
      allowed.push(effect);
      later.set(effect, decision);
      except.push(...(decision.except ?? []).filter((path) => !except.includes(path)));
    },
    async end() {
      over = true;
      searches?.abort(new ToolFailure(`the call of "${call.tool.name}" has ended`));
      for (const file of opened) void file.close().catch(() => {});
      void ahead?.opening.then((file) => file.close()).catch(() => {});
      return processes.end();
    },
  };
}

/** Links were resolved when the path was compared: they are not followed again. */
const REAL = { real: true } as const;
