import type { Delivery } from "./delivery.ts";
import type { CallId } from "./identity.ts";
import type { ParkedCall, Parking } from "./parked.ts";

/** A call for workers. `target`: "worker:NAME", or "worker:NAME#ID" for the one worker with this id. */
export type DeliveredCall = Omit<Parking, "question" | "about"> & { readonly delivery: Delivery };

/** What a worker reports about itself. */
export interface WorkerReport {
  /** Four letters, which begin the ids of its jobs and saved outputs. */
  readonly id: string;
  readonly name: string;
  /** The name of its machine. */
  readonly host: string;
  readonly pid: number;
  readonly workDir: string;
  readonly home: string;
  /** The names of its tools. */
  readonly tools: readonly string[];
  readonly sandboxed: boolean;
  /** Whether its commands run in a live terminal, which people of its machine share. */
  readonly hasTerminal?: boolean;
  /** How many calls it makes at once, and how many calls may wait for its name. */
  readonly concurrency: number;
  readonly maxWaiting: number;
  /** How many calls it makes now, and how long its last calls took on average, in milliseconds. */
  readonly running: number;
  readonly averageMs: number;
  /** Milliseconds since 1970. */
  readonly startedMs: number;
}

/** A worker, as the store knows it. */
export interface WorkerState extends WorkerReport {
  /** How long ago it was last heard of, in milliseconds, by the store's clock. */
  readonly silentMs: number;
}

/**
 * What came of a delivery. "delivered": `hasRoom` if the worker that is asked first has, as far as is known. "full":
 * `waiting` calls wait, for about `waitMs`. "nobody": no worker of this name has reported for `PRESENT_MS`. "no-tool":
 * none of them has the tool.
 */
export type DeliveryOutcome =
  | { readonly status: "delivered"; readonly hasRoom: boolean }
  | { readonly status: "full"; readonly waiting: number; readonly waitMs: number }
  | { readonly status: "nobody" }
  | { readonly status: "no-tool"; readonly names: readonly string[] };

/** A worker that was silent for longer is not waited for. Milliseconds. */
export const PRESENT_MS = 30_000;

/** Calls that workers make, in a store that several processes share. */
export interface WorkerStore {
  /** Records a call as ready for a worker, as one transaction. */
  deliver(call: DeliveredCall): Promise<DeliveryOutcome>;
  /**
   * Claims the next ready call of these targets and tools. Threads take turns. Resolves to `undefined` when there is
   * none. Only the claim gives the right to make the call.
   */
  claim(by: {
    readonly worker: string;
    readonly targets: readonly string[];
    readonly tools: readonly string[];
    readonly claim: string;
    /** "woken": a call is known to wait. "again": the reply to this claim was lost, so it may have a call already. */
    readonly why?: "woken" | "again" | undefined;
  }): Promise<ParkedCall | undefined>;
  /** Wakes the workers of a target for calls that the one which was asked first has not taken. They may miss it. */
  wake(target: string): void;
  /**
   * Calls `heard` when the worker is asked first, or woken, until the returned function is called. May miss some, and
   * call it needlessly.
   */
  deliveries(worker: Pick<WorkerReport, "id" | "name">, heard: (isCertain: boolean) => void): () => void;
  /** Whether the claim still holds: another process may have taken this one for dead. */
  holds(call: CallId, claim: string): Promise<boolean>;
  /** Reports a worker. From the first report on, this process is taken for dead after `SILENT_WORKER_MS`. */
  report(worker: WorkerReport): Promise<void>;
  leave(worker: string): Promise<void>;
  /** The workers that have reported and not left, the newest last. */
  list(): Promise<readonly WorkerState[]>;
}

/** A worker that was silent for longer is dead: its calls are closed. Milliseconds. */
export const SILENT_WORKER_MS = 6_000;

/** The target in the record of the workers of a name. */
export const workerTargetName = (name: string, id?: string): string =>
  id === undefined ? `worker:${name}` : `worker:${name}#${id}`;
