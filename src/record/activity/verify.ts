import type { Value } from "../db/driver.ts";
import { type Seal, type SealLink, type SealedRow, callHashes, hashOf } from "../db/seals.ts";

/** Runs a statement on one state of a database. */
export type AskOne = <Row extends object>(sql: string, values?: readonly Value[]) => Promise<readonly Row[]>;

/** What was found in a record. */
export interface Verified {
  readonly events: number;
  readonly seals: number;
  /** How many groups of events retention has removed from seals that are still there. */
  readonly removed: number;
  /** How many events are older than the first seal: an older version recorded them. */
  readonly unsealed: number;
  /** The newest seal that retention has removed. */
  readonly checkpoint?: SealLink;
  /** The newest seal. */
  readonly head?: SealLink;
  /** The first thing that is not as it was recorded, in words; the rest was not read. */
  readonly fault?: string;
}

/** How many seals are read at a time. */
const STEP = 50;

/**
 * Compares all events with their seals (seals.ts): finds events that were changed, removed, added or moved.
 *
 * @param anchor a head that was printed before: it must still be there
 */
export async function verifyRecord(ask: AskOne, anchor?: SealLink): Promise<Verified> {
  const [checkpoint] = await ask<Pick<Seal, "first" | "last" | "hash">>("SELECT first, last, hash FROM checkpoint");
  const removals = new Map(
    (await ask<{ call: string; last: number }>("SELECT call, last FROM removals")).map(({ call, last }) => [
      call,
      last,
    ]),
  );
  const known = new Map<number, string>(checkpoint && [[checkpoint.first, checkpoint.hash]]);
  let end = checkpoint?.last ?? 0;
  let head: SealLink | undefined = checkpoint && [checkpoint.first, checkpoint.hash];
  const counts = { events: 0, seals: 0, removed: 0, unsealed: 0 };
  const found = (fault?: string): Verified => ({
    ...counts,
    ...(checkpoint && { checkpoint: [checkpoint.first, checkpoint.hash] as const }),
    ...(head && { head }),
    ...(fault !== undefined && { fault }),
  });

  /** Why a seal, or what it seals, is not as it was recorded. */
  const faultOf = (seal: Seal, rows: readonly SealedRow[]): string | undefined => {
    const { first, last, above, calls, hash } = seal;
    const where = `events ${first} to ${last}`;
    if (hashOf(seal) !== hash) return `the seal of the ${where} was changed`;
    if (first <= end) return `the seal of the ${where} covers events of the seal before it`;
    const links = JSON.parse(above) as readonly SealLink[];
    for (const [link, linked] of links) {
      const isForgotten = checkpoint !== undefined && link < checkpoint.first;
      if (!isForgotten && known.get(link) !== linked) {
        const fate = known.has(link) ? "changed" : "removed";
        return `the seal of the ${where} links to a seal of event ${link} that was ${fate}`;
      }
    }
    const present = callHashes(rows, first);
    const sealed = new Map(Object.entries(JSON.parse(calls) as { readonly [call: string]: string }));
    for (const [call, own] of present) {
      const id = rows.find((row) => `.${row.call}` === call)?.id;
      if (!sealed.has(call))
        return `event ${id} of call ${call.slice(1)} was added or moved: its seal has no such call`;
      if (sealed.get(call) !== own) return `events of call ${call.slice(1)} at or after event ${id} were changed`;
    }
    for (const call of sealed.keys()) {
      if (present.has(call)) continue;
      if ((removals.get(call.slice(1)) ?? 0) < first)
        return `events of call ${call.slice(1)} were removed from the ${where}, and not by retention`;
      counts.removed += 1;
    }
    return undefined;
  };

  const eventsTo = (to: number, limit = Number.MAX_SAFE_INTEGER) =>
    ask<SealedRow>(
      "SELECT id, session, call, thread, at, type, body FROM events WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
      [end, to, limit],
    );
  if (checkpoint === undefined) {
    const [oldest] = await ask<{ first: number | null }>("SELECT min(first) AS first FROM seals");
    end = (oldest?.first ?? Number.MAX_SAFE_INTEGER) - 1;
    const [older] = await ask<{ count: number }>("SELECT count(*) AS count FROM events WHERE id <= ?", [end]);
    counts.unsealed = older?.count ?? 0;
  }
  for (;;) {
    const seals = await ask<Seal>(
      `SELECT first, last, above, calls, hash FROM seals WHERE first > ? ORDER BY first LIMIT ${STEP}`,
      [head?.[0] ?? 0],
    );
    const last = seals.at(-1)?.last;
    if (last === undefined) break;
    const rows = await eventsTo(last);
    let next = 0;
    for (const seal of seals) {
      const [begin, stray] = [next, rows[next]];
      if (stray !== undefined && stray.id < seal.first) return found(`event ${stray.id} was added: it has no seal`);
      while ((rows[next]?.id ?? Infinity) <= seal.last) next++;
      const fault = faultOf(seal, rows.slice(begin, next));
      if (fault !== undefined) return found(fault);
      counts.events += next - begin;
      counts.seals += 1;
      known.set(seal.first, seal.hash);
      [end, head] = [seal.last, [seal.first, seal.hash]];
    }
  }
  const [stray] = await eventsTo(Number.MAX_SAFE_INTEGER, 1);
  if (stray !== undefined) return found(`event ${stray.id} was added: it has no seal`);
  if (anchor === undefined || known.get(anchor[0]) === anchor[1]) return found();
  if (checkpoint !== undefined && anchor[0] < checkpoint.first)
    return found(`the head ${anchor.join(":")} is older than what retention has kept: keep a newer one`);
  return found(`the head ${anchor.join(":")} is not in the record: what came before it was replaced or removed`);
}
