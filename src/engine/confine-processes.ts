import type { Backend, Command, Process } from "../contract/backend.ts";
import type { Refusal } from "../contract/containment.ts";
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
  /** Stops all processes of the call and releases their logs. Resolves to what the sandbox refused to the processes. */
  end(): Promise<readonly Refusal[]>;
}

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
    end: async () => (started.size === 0 ? [] : (await Promise.all([...started].map(letGo))).flat()),
  };
}

async function letGo(starting: Promise<Process>): Promise<readonly Refusal[]> {
  const process = await starting.catch(() => undefined);
  if (process === undefined) return []; // it never ran
  await process.kill();
  const refusals = await process.refusals; // before the output is disposed, from which the refusals are read
  await Promise.all([process.output.dispose(), process.errors?.dispose()]);
  return refusals ?? [];
}
