import type { Command, DetachedProcesses, Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { pause } from "../../util/abort.ts";
import type { Facts } from "./facts.ts";
import { remoteJobs } from "./jobs.ts";
import { createLease } from "./lease.ts";
import type { Transport } from "./transport.ts";
import { runThere } from "./run.ts";
import type { Shell } from "./shell.ts";
import type { Shells } from "./shells.ts";

/** Jobs live on without us for so long: 10 minutes. */
const UNCLAIMED_SECONDS = 600;

/**
 * Ending all of them is not waited for longer than this, nor for a host that is silent, so that closing never hangs on a connection that is lost. The far side ends them
 * then, as soon as it notices. Milliseconds.
 */
const CLOSING_MS = 10_000;

/** Starts commands there, and ends them. */
export interface Processes {
  /** `cwd` is a real path there. @throws ToolFailure when it cannot be started. */
  start(command: Command, at: { readonly cwd: string }): Promise<Process>;
  readonly detached: DetachedProcesses;
  /** After the connection was opened again, before anybody else uses it: jobs are claimed, what ran in the foreground is ended. */
  reopened(first: Shell): Promise<void>;
  /** Ends everything that was started but the detached processes. Never rejects. */
  close(): Promise<void>;
}

export interface ProcessesOptions {
  readonly shells: Shells;
  readonly facts: Pick<Facts, "temporary" | "home">;
  readonly transport: Pick<Transport, "place" | "explain">;
  /** Where output goes here that is too big for memory. */
  readonly outputFolder: string;
  /** Backends with the same word have their detached processes in common. */
  readonly detachedOwner: string;
  /** Jobs are ended on the remote host after so many seconds without us. Default 600. */
  readonly unclaimedSeconds?: number;
}

export function createProcesses({
  shells,
  facts,
  transport,
  outputFolder,
  detachedOwner,
  unclaimedSeconds = UNCLAIMED_SECONDS,
}: ProcessesOptions): Processes {
  const lease = createLease({ shells, temporary: facts.temporary, unclaimedSeconds });
  const jobs = remoteJobs({ shells, lease, home: facts.home, owner: detachedOwner, place: transport.place });
  const running = new Set<Process>();
  const starting = new Set<Promise<Process>>();
  let closing: Promise<void> | undefined;

  const requireOpen = () => {
    if (closing !== undefined) throw new ToolFailure("the backend is closed: nothing can be started on it any more");
  };

  const begin = async (command: Command, cwd: string): Promise<Process> => {
    const { lifetime = "call" } = command;
    await lease.ready();
    const child =
      lifetime === "call"
        ? await runThere(command, { shells, transport, outputFolder, cwd, identity: lease.forCall })
        : await jobs.start({ ...command, lifetime }, cwd);
    running.add(child);
    void child.exit.then(() => running.delete(child));
    if (closing !== undefined) await child.kill(); // it was closed while this started
    return child;
  };

  const endAll = async () => {
    await Promise.all([...running].map((child) => child.kill()));
    await Promise.allSettled(starting);
    await lease.end();
  };
  const close = async () => {
    const over = new AbortController();
    const late = [pause(CLOSING_MS, over.signal), shells.silence(over.signal)];
    await Promise.race([endAll().catch(() => undefined), ...late]);
    over.abort();
    jobs.stop();
  };

  return {
    async start(command, { cwd }) {
      requireOpen();
      const { lifetime } = command;
      if (lifetime === "detached") return jobs.start({ ...command, lifetime }, cwd);
      const started = begin(command, cwd);
      starting.add(started);
      return started.finally(() => starting.delete(started));
    },
    detached: jobs.detached,
    reopened: (first) => lease.reopened(first),
    close() {
      closing ??= close();
      return closing;
    },
  };
}
