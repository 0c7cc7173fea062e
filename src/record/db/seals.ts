import { hash as digest } from "node:crypto";
import type { EventColumns } from "./work.ts";

/** A seal that another one links to: the id of its first event, and its hash. */
export type SealLink = readonly [first: number, hash: string];

/**
 * What was recorded in one step of a transaction, as a row of the table `seals`: its events have the ids from `first`
 * to `last`, and nothing else has. The rows of a call are hashed together, since they are removed together.
 */
export interface Seal {
  readonly first: number;
  readonly last: number;
  /** `SealLink[]` as JSON: seals that were committed before. Empty for the first ones of a database. */
  readonly above: string;
  /** The hash of the rows of each call, as JSON: `{ [call]: hash }`. */
  readonly calls: string;
  /** The hash of all of this. */
  readonly hash: string;
}

/** An event as it is stored. */
export type SealedRow = Pick<EventColumns, "call" | "thread" | "at" | "type" | "body"> & {
  readonly id: number;
  readonly session: number;
};

/** Makes the seal of rows that were recorded together, in the order of their ids. */
export function sealOf(rows: readonly SealedRow[], above: readonly SealLink[]): Seal {
  const first = rows[0]?.id ?? 0;
  const sealed = {
    first,
    last: rows.at(-1)?.id ?? 0,
    above: JSON.stringify(above),
    calls: JSON.stringify(Object.fromEntries(callHashes(rows, first))),
  };
  return { ...sealed, hash: hashOf(sealed) };
}

/** The hash of each call's rows in a seal, in the order of the calls. */
export function callHashes(rows: readonly SealedRow[], first: number): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const row of rows) texts.set(row.call, (texts.get(row.call) ?? "") + textOf(row, first));
  return new Map([...texts].map(([call, text]) => [`.${call}`, sha256(text)])); // the dot: no key is like a number
}

export function hashOf({ first, last, above, calls }: Omit<Seal, "hash">): string {
  return sha256(`${first} ${last} ${above} ${calls}`);
}

/** The lengths before the texts make two different rows two different texts. One template: it is the cost of a row. */
function textOf({ id, session, call, thread, at, type, body }: SealedRow, first: number): string {
  const lengths = `${call.length} ${thread.length} ${type.length} ${body.length}`;
  return `${id - first} ${session} ${Math.round(at)} ${lengths} ${call}${thread}${type}${body}\n`;
}

function sha256(text: string): string {
  return digest("sha256", text, "base64url");
}
