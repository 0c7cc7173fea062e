import type { Command, DetachedProcesses, Process } from "../../core/contract/backend.ts";
import { pause } from "../../core/util/abort.ts";
import { closedFailure } from "../process/run.ts";
import type { Facts } from "./facts.ts";
import { remoteJobs } from "./jobs.ts";
import { createLease } from "./lease.ts";
import type { Transport } from "./transport.ts";
import { type StartedContained, runThere } from "./run.ts";
import type { Shell } from "./shell.ts";
import type { Shells } from "./shells.ts";

/** How long jobs keep running without a connection: 10 minutes. */
const UNCLAIMED_SECONDS = 600;

/**
 * How long `close` waits for processes to end; it does not wait for a silent host. So closing never hangs on a lost
 * connection. The remote host then ends them as soon as it notices the loss. Milliseconds.
 */
const CLOSING_MS = 10_000;

/** Starts and ends commands on a remote host. */
export interface Processes {
  /** `cwd` is a real path on the remote host. @throws ToolFailure when the command cannot be started. */
  start(command: Command, at: { readonly cwd: string; readonly contained?: StartedContained }): Promise<Process>;
  /** Opens what the first command needs. Never rejects. */
  warm(): Promise<void>;
  readonly detached: DetachedProcesses;
  /** Called after the connection was reopened, before anything else uses it: claims jobs, ends foreground commands. */
  reopened(first: Shell): Promise<void>;
  /** Ends all processes except detached ones. Never rejects. */
  close(): Promise<void>;
}

export interface ProcessesOptions {
  readonly shells: Shells;
  readonly facts: Pick<Facts, "temporary" | "home">;
  readonly transport: Pick<Transport, "place" | "explain">;
  /** Folder on this machine for output that does not fit in memory. */
  readonly outputFolder: string;
  /** Backends for which this word is the same share their detached processes. */
  readonly detachedOwner: string;
  /** The remote host ends jobs after this many seconds without a connection. Default: 600. */
  readonly unclaimedSeconds?: number;
}

export function createProcesses(options: ProcessesOptions): Processes {
  const { shells, facts, transport, outputFolder, detachedOwner, unclaimedSeconds = UNCLAIMED_SECONDS } = options;
  const lease = createLease({ shells, temporary: facts.temporary, unclaimedSeconds });
  const jobs = remoteJobs({ shells, lease, home: facts.home, owner: detachedOwner, place: transport.place });
  const running = new Set<Process>();
  const starting = new Set<Promise<Process>>();
  let closing: Promise<void> | undefined;

  const begin = async (command: Command, cwd: string, contained?: StartedContained): Promise<Process> => {
    const { lifetime = "call" } = command;
    await lease.ready();
    const child =
      lifetime === "call"
        ? await runThere(command, { shells, transport, outputFolder, cwd, identity: lease.forCall, contained })
        : await jobs.start({ ...command, lifetime }, cwd, contained);
    running.add(child);
    void child.exit.then(() => running.delete(child));
    if (closing !== undefined) await child.kill(); // the backend was closed meanwhile
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
    async start(command, { cwd, contained }) {
      if (closing !== undefined) throw closedFailure();
      const { lifetime } = command;
      if (lifetime === "detached") return jobs.start({ ...command, lifetime }, cwd);
      const started = begin(command, cwd, contained);
      starting.add(started);
      return started.finally(() => starting.delete(started));
    },
    async warm() {
      await Promise.allSettled([lease.ready(), shells.take().then(shells.giveBack)]);
    },
    detached: jobs.detached,
    reopened: (first) => lease.reopened(first),
    close() {
      closing ??= close();
      return closing;
    },
  };
}
