import { ToolFailure } from "../../contract/failure.ts";
import { messageOf } from "../../util/errors.ts";
import type { Shell } from "./shell.ts";

/**
 * So many shells at most are begun with in one moment; who has had one for longer no longer counts. So a burst of short commands shares a few, while those that run for
 * long, however many, keep nobody waiting. An sshd grants 10 sessions a connection (MaxSessions in sshd_config(5)); ssh opens a connection of its own for each beyond them.
 */
const MOST_IN_A_MOMENT = 8;
const MOMENT_MS = 250;

/** So many are in use at the very most: each is a process here and one or more there. */
const MOST_IN_USE = 64;

/** Where one cannot be opened beside others, it is tried again after so long, or as soon as one comes back. */
const REFUSED_MS = 2_000;

/** Who waits gives up when none has come back for so long. */
const LONGEST_WAIT_MS = 15_000;

/** So many that nobody uses are held open for good; any more of them only for so long, since commands often come in bursts. */
const MOST_IDLE = 4;
const IDLE_MS = 10_000;

export interface PoolOptions {
  /** As it stands in a sentence: "deploy@host". */
  readonly place: string;
  /** Opens one more. */
  readonly open: () => Promise<Shell>;
  /** False: why one could not be opened has nothing to do with how many there are. */
  readonly isConnected: () => boolean;
  /** Default 64. */
  readonly mostInUse?: number;
  /** Milliseconds; default 15,000. */
  readonly longestWaitMs?: number;
}

/** Shells for as long as they are needed, used again afterwards. */
export interface Pool {
  /**
   * Waits while too many are in use. Who takes one gives it back.
   *
   * @throws ToolFailure when none has come back for 15 s; what `open` throws, when nobody else has one or there is no connection.
   */
  take(): Promise<Shell>;
  giveBack(shell: Shell): void;
  /** The connection has gone, and with it those that nobody uses. */
  drop(): void;
  /** Ends all of them, at once; who waits is told so. */
  close(why: ToolFailure): void;
}

/** A place for a shell, from when one may be opened until it is given back. */
interface Place {
  /** When it got its shell. */
  gotMs?: number;
}

interface Waiting {
  readonly sinceMs: number;
  enter(): void;
  /** `closed`: nobody gets anything any more. Else it has waited in vain. */
  fail(closed?: ToolFailure): void;
}

/** Why none could be opened. */
interface Refused {
  readonly why: unknown;
}

export function createPool({
  place: where,
  open,
  isConnected,
  mostInUse = MOST_IN_USE,
  longestWaitMs = LONGEST_WAIT_MS,
}: PoolOptions): Pool {
  const idle: Shell[] = [];
  const inUse = new Map<Shell, Place>();
  const places = new Set<Place>();
  const queue: Waiting[] = [];
  let refusedMs = -REFUSED_MS;
  /** When somebody last got a shell, or gave one back. */
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
  /** Lets in who may enter, and looks again in a moment while others wait. */
  const letIn = () => {
    clearTimeout(looking);
    while (queue.length > 0 && mayEnter()) queue.shift()?.enter();
    const now = performance.now();
    const isHopeless = ({ sinceMs }: Waiting) => now - Math.max(sinceMs, movedMs) > longestWaitMs;
    for (const { fail } of takeOut(queue, isHopeless)) fail();
    if (queue.length > 0) looking = setTimeout(letIn, MOMENT_MS);
  };
  const tooMany = (refused: Refused | undefined) => {
    const why = refused === undefined ? "" : `; ${messageOf(refused.why)}`;
    const busy = `${places.size} commands are running or files being read there`;
    return new ToolFailure(`nothing more can be begun on ${where}: ${busy}${why}`, {
      hint: "Wait until one has come to its end, or stop one.",
      cause: refused?.why,
    });
  };
  /** Resolves to a place. Who was refused a shell in one waits in front of the others. */
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

/** Takes those out of the list that fit. */
function takeOut<T>(list: T[], fits: (each: T) => boolean): readonly T[] {
  const [out, rest] = [list.filter(fits), list.filter((each) => !fits(each))];
  list.splice(0, list.length, ...rest);
  return out;
}
