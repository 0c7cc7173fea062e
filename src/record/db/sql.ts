import type { Dialect } from "./dialect.ts";
import type { EventColumns, Work } from "./work.ts";

export interface TransactionOptions<T> {
  /**
   * It survives a power loss when this resolves; otherwise soon after. A server always keeps what it has committed, and
   * reports durable changes to those who watch, as it does events.
   */
  readonly durable?: boolean;
  /** Called with the result right after the commit, before anything else of this process runs. */
  readonly committed?: (result: T) => void;
}

export interface ReadOptions {
  /** Whether all statements see one snapshot of the database. Default false. */
  readonly consistent?: boolean;
  /** Waits for an unreachable server until this signal fires, and rejects with its reason. Default: some seconds. */
  readonly until?: AbortSignal;
}

export interface ReadKnownOptions {
  /** The `lagMs` of the read before. */
  readonly lagMs: number;
  readonly until: AbortSignal | undefined;
}

/** A row of an event, with `Dialect.readable` as it was when the row was read. */
export interface ReadableRow {
  readonly id: number;
  readonly readable: number;
}

export interface Known<Row> {
  /** The rows before which nothing is missing. */
  readonly rows: readonly Row[];
  /** When to read again, because other rows wait for a transaction that is open. Milliseconds; 0 if there are none. */
  readonly lagMs: number;
}

/** What a watcher waits for: events of one of these types, of this thread (its key). Default: any change. */
export interface Interest {
  readonly types?: readonly string[] | undefined;
  readonly thread?: string | undefined;
}

/** An open database: SQLite (sqlite.ts) or PostgreSQL (postgres.ts). */
export interface Sql {
  readonly dialect: Dialect;
  /** Runs work that only reads. Waits for locks. Rejects with an error that names the database and the next step. */
  read<T>(work: () => Work<T>, options?: ReadOptions): Promise<T>;
  /**
   * Runs one atomic transaction, once. Waits for locks. Rejects like `read`, and with what the work throws; then
   * nothing was written, except after an `UnknownOutcome`.
   */
  transaction<T>(work: () => Work<T>, options?: TransactionOptions<T>): Promise<T>;
  /** Does the same at once. Throws when the database is locked. Absent where this is impossible. */
  transactionNow?<T>(work: () => Work<T>, options?: TransactionOptions<T>): T;
  /** Describes an error with the database and the next step. */
  explain(error: unknown): Error;
  /**
   * Returns the newest event up to which nothing is missing: later reads find no more events with smaller ids. Waits
   * until that includes everything that was committed before. `until`: as in `read`.
   */
  readableTo(until?: AbortSignal): Promise<number>;
  /**
   * Reads rows of events in the order of their ids, without waiting, as far as nothing is missing. The work may be run
   * again with a number: it then reads up to this id.
   */
  readKnown<Row extends ReadableRow>(
    work: (to?: number) => Work<readonly Row[]>,
    options: ReadKnownOptions,
  ): Promise<Known<Row>>;
  /** The id of the newest event. */
  newest(): Promise<number>;
  /**
   * Calls `changed` when events or durable changes that interest may have been added, by this process or another one,
   * until the returned function is called. Durable changes of this process are not reported. Without a `change`, these
   * may be any; with one, it may also be of no interest.
   */
  watch(changed: (change?: Change) => void, interest?: Interest): () => void;
  /** Reports a change that is not recorded to those who watch in other processes. They may miss it. Never throws. */
  announce(change: Change): void;
  /** How often other processes have taken this process for dead because it did not report: they closed its sessions. */
  lapses(): number;
  /**
   * From now on, this process counts as dead after fewer milliseconds without a report, and reports more often. Does
   * nothing for a file: all its processes see each other.
   */
  shortenPatience(milliseconds: number): void;
  /** The size of the data, in bytes; `undefined` where it cannot be limited. */
  usedBytes(): Promise<number | undefined>;
  /** Returns some unused space to the system. Resolves to true when none is left. */
  giveBack(): Promise<boolean>;
  /** Keeps what belongs to the database small. Never throws. */
  tidy(): void;
  /** Never rejects. */
  close(): Promise<void>;
}

/** Which events came: their types, also with their facets ("TYPE FACET"), and their threads. */
export interface Change {
  readonly types: ReadonlySet<string>;
  readonly threads: ReadonlySet<string>;
}

/** The change that these rows are. */
export const changeOf = (rows: readonly EventColumns[]): Change => ({
  types: new Set(rows.flatMap(({ type, facet }) => (facet === null ? [type] : [type, `${type} ${facet}`]))),
  threads: new Set(rows.map(({ thread }) => thread)),
});

/** Two changes as one. */
export const bothChanges = (one: Change, other: Change): Change => ({
  types: new Set([...one.types, ...other.types]),
  threads: new Set([...one.threads, ...other.threads]),
});

/** Whether a change may have what interests. */
export const isOfInterest = ({ types, thread }: Interest, change: Change): boolean =>
  (thread === undefined || change.threads.has(thread)) &&
  (types === undefined || types.some((type) => change.types.has(type)));

/** The connection was lost during a commit, and the server did not come back: it is unknown whether it was recorded. */
export class UnknownOutcome extends Error {
  /** Asks the server again. Resolves to whether the work was recorded; rejects while this is still unknown. */
  readonly wasRecorded: () => Promise<boolean>;

  constructor(message: string, wasRecorded: () => Promise<boolean>, options?: ErrorOptions) {
    super(message, options);
    this.name = "UnknownOutcome";
    this.wasRecorded = wasRecorded;
  }
}
