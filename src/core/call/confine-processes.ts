import type { Backend, Command, OutputLog, Process } from "../contract/backend.ts";
import type { Refusal } from "../contract/containment.ts";
import { type UnsetVariable, unsetVariables } from "../output/unset-variables.ts";
import { type Stop, onAbort } from "../util/abort.ts";
import type { Tie } from "./confine-jobs.ts";

/** The processes of a call. */
export interface CallProcesses {
  /** Starts a command. It ends with the call. */
  spawn(command: Command): Promise<Process>;
  /** What ends a process in a live terminal with this call. */
  tieOf(process: Process): Tie | undefined;
  /** Whether a pane shows a process of this call. */
  shows(pane: string): boolean;
  /** Stops all processes of the call and releases their logs. */
  end(): Promise<ProcessesEnd>;
}

/** What is known about the processes of a call once they have ended. */
export interface ProcessesEnd {
  /** What the sandbox refused to them. */
  readonly refusals: readonly Refusal[];
  /** Variables that they reported as not set, and do not get. */
  readonly unset: readonly UnsetVariable[];
}

/** How much of the end of an output is searched for variables that are not set, in bytes. */
const END_BYTES = 4_096;

/** `stop` stops the call; `alive` throws when it has ended. */
export function callProcesses(inner: Backend, stop: Pick<Stop, "signal">, alive: () => void): CallProcesses {
  const started = new Set<Promise<Process>>();
  const ties = new Map<Process, Tie>();

  /** Registers the process before it starts: a process that is still starting when the call ends is stopped too. */
  const begin = (start: () => Promise<Process>): Promise<Process> => {
    alive();
    const process = start();
    started.add(process);
    return process;
  };

  /** Starts a process that may become a job: a job is no longer stopped by the call's signal or the command's. */
  const beginTied = async (command: Command): Promise<Process> => {
    const startedMs = Date.now();
    const controller = new AbortController();
    const releases = [stop.signal, ...(command.signal === undefined ? [] : [command.signal])].map((each) =>
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

  return {
    spawn(command) {
      if (inner.terminal !== undefined) return beginTied(command);
      const { signal: own } = command;
      return begin(() =>
        inner.spawn({ ...command, signal: own === undefined ? stop.signal : AbortSignal.any([stop.signal, own]) }),
      );
    },
    tieOf: (process) => ties.get(process),
    shows: (pane) => [...ties.keys()].some(({ place }) => place === `pane ${pane}`),
    async end() {
      const ends = await Promise.all([...started].map((process) => letGo(process, inner)));
      return { refusals: ends.flatMap(({ refusals }) => refusals), unset: ends.flatMap(({ unset }) => unset) };
    },
  };
}

async function letGo(starting: Promise<Process>, { lacks }: Pick<Backend, "lacks">): Promise<ProcessesEnd> {
  const process = await starting.catch(() => undefined);
  if (process === undefined) return { refusals: [], unset: [] }; // it never ran
  await process.kill();
  // Before the output is disposed, from which both are read.
  const [refusals = [], unset] = await Promise.all([
    process.refusals,
    lacks === undefined ? [] : unsetIn(process, lacks),
  ]);
  await Promise.all([process.output.dispose(), process.errors?.dispose()]);
  return { refusals, unset };
}

async function unsetIn({ output, errors }: Process, lacks: NonNullable<Backend["lacks"]>) {
  const endOf = async (log: OutputLog | undefined) =>
    Buffer.from((await log?.tail(END_BYTES).catch(() => undefined)) ?? []).toString("utf8");
  const names = unsetVariables((await Promise.all([output, errors].map(endOf))).join("\n"));
  return names.flatMap((name) => {
    const why = lacks(name);
    return why === undefined ? [] : [{ name, why }];
  });
}
