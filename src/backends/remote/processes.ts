import type { Command, DetachedProcesses, Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { pause } from "../../util/abort.ts";
import { detachedThere } from "./detached.ts";
import type { Facts } from "./facts.ts";
import { familyOf } from "./family.ts";
import { lastingJobs } from "./lasting.ts";
import type { Transport } from "./transport.ts";
import { runThere } from "./run.ts";
import type { Shell } from "./shell.ts";
import type { Shells } from "./shells.ts";

/** What lives on over a lost connection does so for so long without us: 10 minutes. */
const UNCLAIMED_SECONDS = 600;

/**
 * Ending all of them is not waited for longer than this, nor for a host that is silent, so that closing never hangs on a connection that is lost. The far side ends them
 * then, as soon as it notices. Milliseconds.
 */
const CLOSING_MS = 10_000;

/** Starts commands there, and ends them. */
export interface Processes {
  /** `cwd` is a real path there. `own`: a program of ours, which never lasts. @throws ToolFailure when it cannot be started. */
  start(command: Command, at: { readonly cwd: string; readonly own?: boolean }): Promise<Process>;
  readonly detached: DetachedProcesses;
  /** After the connection was opened again, before anybody else uses it: jobs are claimed, what ran in the foreground is ended. */
  reopened(first: Shell): Promise<void>;
  /** Ends everything that was started but the detached. Never rejects. */
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
  /** What lives on over a lost connection is ended there after so many seconds without us. Default 600. */
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
  const family = familyOf({ shells, temporary: facts.temporary, unclaimedSeconds });
  const lasting = lastingJobs({ shells, family, outputFolder, place: transport.place });
  const detached = detachedThere({ shells, home: facts.home, owner: detachedOwner });
  const running = new Set<Process>();
  const starting = new Set<Promise<Process>>();
  let closing: Promise<void> | undefined;

  const requireOpen = () => {
    if (closing !== undefined) throw new ToolFailure("the backend is closed: nothing can be started on it any more");
  };

  const begin = async (command: Command, cwd: string, own: boolean): Promise<Process> => {
    await family.ready();
    const child =
      command.lasting === true && !own
        ? await lasting.start(command, cwd)
        : await runThere(command, { shells, transport, outputFolder, cwd, identity: family.foreground });
    running.add(child);
    void child.exit.then(() => running.delete(child));
    if (closing !== undefined) await child.kill(); // it was closed while this started
    return child;
  };

  const endAll = async () => {
    await Promise.all([...running].map((child) => child.kill()));
    await Promise.allSettled(starting);
    await family.end();
  };
  const close = async () => {
    const over = new AbortController();
    const late = [pause(CLOSING_MS, over.signal), shells.silence(over.signal)];
    await Promise.race([endAll().catch(() => undefined), ...late]);
    over.abort();
    lasting.stop();
    detached.stop();
  };

  return {
    async start(command, { cwd, own = false }) {
      requireOpen();
      if (command.detached !== undefined) return detached.start(command, cwd);
      const started = begin(command, cwd, own);
      starting.add(started);
      return started.finally(() => starting.delete(started));
    },
    detached,
    reopened: (first) => family.reopened(first),
    close() {
      closing ??= close();
      return closing;
    },
  };
}
