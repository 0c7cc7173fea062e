import { ToolFailure } from "../../core/contract/failure.ts";
import { messageOf } from "../../core/util/errors.ts";
import type { Shell } from "./shell.ts";

/**
 * Limits how many shells are acquired at once. Shells held longer than `MOMENT_MS` do not count: a burst of short
 * commands shares a few shells, and long commands delay no others. An sshd grants 10 sessions a connection
 * (MaxSessions, sshd_config(5)); ssh opens another connection for each beyond that.
 */
const MOST_IN_A_MOMENT = 8;
const MOMENT_MS = 250;

/** Limits how many shells are in use: each is a process here and one or more on the remote host. */
const MOST_IN_USE = 64;

/** Pause after a refused shell while others are in use. It ends early when one is given back. Milliseconds. */
const REFUSED_MS = 2_000;

/** How long a caller waits for a shell while none is taken or given back. Milliseconds. */
const LONGEST_WAIT_MS = 15_000;

/** How many unused shells are kept open. Others are only kept for `IDLE_MS`, because commands come in bursts. */
const MOST_IDLE = 4;
const IDLE_MS = 10_000;

export interface PoolOptions {
  /** The remote host's name in sentences: "deploy@host". */
  readonly place: string;
  /** Opens another shell. */
  readonly open: () => Promise<Shell>;
  /** False: a failure to open a shell does not depend on the number of shells. */
  readonly isConnected: () => boolean;
  /** The maximum number of shells in use at a time. Default: 64. */
  readonly mostInUse?: number;
  /** How long `take` waits while no shell is taken or given back, in milliseconds. Default: 15,000. */
  readonly longestWaitMs?: number;
}

/** A pool of shells that are reused. */
export interface Pool {
  /**
   * Takes a shell, and waits while too many are in use. The caller gives it back.
   *
   * @throws ToolFailure when no shell was taken or given back for 15 s. Throws what `open` throws when no other shell
   * is in use or there is no connection.
   */
  take(): Promise<Shell>;
  giveBack(shell: Shell): void;
  /** Drops the unused shells, after the connection was lost. */
  drop(): void;
  /** Kills all shells at once. Pending `take` calls reject. */
  close(why: ToolFailure): void;
}

/** The right to a shell, from before it is opened until it is given back. */
interface Place {
  /** When the shell was acquired. */
  gotMs?: number;
}

interface Waiting {
  readonly sinceMs: number;
  enter(): void;
  /** `closed`: the pool is closed. Otherwise the wait timed out. */
  fail(closed?: ToolFailure): void;
}

/** Why a shell could not be opened. */
interface Refused {
  readonly why: unknown;
}

export function createPool(options: PoolOptions): Pool {
  const { place: where, open, isConnected, mostInUse = MOST_IN_USE, longestWaitMs = LONGEST_WAIT_MS } = options;
  const idle: Shell[] = [];
  const inUse = new Map<Shell, Place>();
  const places = new Set<Place>();
  const queue: Waiting[] = [];
  let refusedMs = -REFUSED_MS;
  /** When a shell was last taken or given back. */
  let movedMs = 0;
  let looking: NodeJS.Timeout | undefined;
  let tidying: NodeJS.Timeout | undefined;
  let closed: ToolFailure | undefined;

  const mayEnter = () => {
    const now = performance.now();
    if (places.size >= mostInUse || (idle.length === 0 && now - refusedMs < REFUSED_MS)) return false;
    const begun = [...places].filter(({ gotMs = now }) => now - gotMs < MOMENT_MS);
    return begun.length < MOST_IN_A_MOMENT;
  };
  const enter = (): Place => {
    const place: Place = {};
    places.add(place);
    return place;
  };
  const leave = (place: Place) => {
    places.delete(place);
    letIn();
  };
  /** Admits waiting callers, rejects those that waited too long, and looks again later while others wait. */
  const letIn = () => {
    clearTimeout(looking);
    while (queue.length > 0 && mayEnter()) queue.shift()?.enter();
    const now = performance.now();
    const isHopeless = ({ sinceMs }: Waiting) => now - Math.max(sinceMs, movedMs) > longestWaitMs;
    for (const waiting of queue.filter(isHopeless)) queue.splice(queue.indexOf(waiting), 1)[0]?.fail();
    if (queue.length > 0) looking = setTimeout(letIn, MOMENT_MS);
  };
  const tooMany = (refused: Refused | undefined) => {
    const why = refused === undefined ? "" : `; ${messageOf(refused.why)}`;
    const busy = `${places.size} commands or reads are in progress on it`;
    return new ToolFailure(`${where} takes no more work: ${busy}${why}`, {
      hint: "Wait until one ends, or stop one.",
      cause: refused?.why,
    });
  };
  /** Resolves to a place. A caller whose shell was refused waits before the others. */
  const entered = (sinceMs: number, refused: Refused | undefined): Promise<Place> => {
    if (closed !== undefined) return Promise.reject(closed);
    if (refused === undefined && queue.length === 0 && mayEnter()) return Promise.resolve(enter());
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        sinceMs,
        enter: () => resolve(enter()),
        fail: (isClosed = tooMany(refused)) => reject(isClosed),
      };
      queue.splice(refused === undefined ? queue.length : 0, 0, waiting);
      letIn();
    });
  };
  const opened = async (): Promise<Shell> => {
    for (let shell = idle.pop(); shell !== undefined; shell = idle.pop()) if (shell.isUsable) return shell;
    const shell = await open();
    if (closed === undefined) return shell;
    shell.kill();
    throw closed;
  };
  const tidy = () => {
    for (const shell of idle.splice(0, Math.max(0, idle.length - MOST_IDLE))) shell.end();
  };

  return {
    async take() {
      const sinceMs = performance.now();
      for (let refused: Refused | undefined; ;) {
        const place = await entered(sinceMs, refused);
        try {
          const shell = await opened();
          movedMs = place.gotMs = performance.now();
          inUse.set(shell, place);
          return shell;
        } catch (why) {
          const isRefused = closed === undefined && places.size > 1 && isConnected();
          if (isRefused) refusedMs = performance.now();
          leave(place);
          if (!isRefused) throw closed ?? why;
          refused = { why };
        }
      }
    },
    giveBack(shell) {
      const place = inUse.get(shell);
      if (place === undefined) return;
      inUse.delete(shell);
      if (shell.isUsable && closed === undefined) idle.push(shell);
      else shell.end();
      clearTimeout(tidying);
      if (idle.length > MOST_IDLE) tidying = setTimeout(tidy, IDLE_MS).unref();
      movedMs = performance.now();
      refusedMs = -REFUSED_MS;
      leave(place);
    },
    drop() {
      for (const shell of idle.splice(0)) shell.kill();
    },
    close(why) {
      closed = why;
      clearTimeout(looking);
      clearTimeout(tidying);
      for (const { fail } of queue.splice(0)) fail(why);
      for (const shell of [...idle.splice(0), ...inUse.keys()]) shell.kill();
    },
  };
}
