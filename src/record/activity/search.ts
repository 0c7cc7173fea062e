import { setImmediate as nextTurn } from "node:timers/promises";
import type {
  ActivityEvent,
  SearchHit,
  SearchOptions,
  StoreSearch,
  StoredEvent,
} from "../../core/contract/activity.ts";
import type { Json } from "../../core/contract/schema.ts";
import type { Sql } from "../db/sql.ts";
import { all } from "../db/work.ts";
import { clip } from "../../core/util/text.ts";
import { eventOf, keyOf } from "./event-rows.ts";

/** How many rows the first statement looks at, and any other one at most. */
const STEP_ROWS = { first: 4, most: 10_000 };
/** About how much a statement looks at, in bytes: the event loop gets a turn in between. */
const STEP_BYTES = 4_194_304;

/** How much one search looks at, in bytes: some 0.1 s. */
const MOST_SEARCHED = 67_108_864;
/** What looking at a row costs besides its text, in bytes. */
const ROW_BYTES = 250;

const MAX_TEXT = 1_000;
const EXCERPT = 200;
const DEFAULT_LIMIT = 50;

/**
 * Finds hits among events that come newest first.
 *
 * @throws RangeError for a text that is empty or too long.
 */
export function createSearch({ text, thread, before = Infinity, limit = DEFAULT_LIMIT }: SearchOptions) {
  if (text === "" || text.length > MAX_TEXT) {
    throw new RangeError(`text of ${text.length} characters: expected 1 to ${MAX_TEXT}`);
  }
  const wanted = lower(text);
  const hits: SearchHit[] = [];
  const isFull = () => hits.length >= limit;
  return {
    isFull,
    look(event: StoredEvent) {
      if (isFull() || event.id >= before || (thread !== undefined && event.thread !== thread)) return;
      for (const part of textsOf(event)) {
        const at = lower(part).indexOf(wanted);
        if (at === -1) continue;
        const excerpt = clip(part.slice(Math.max(0, at - EXCERPT / 4)), EXCERPT);
        const { thread: within, id, call } = event;
        hits.push({ thread: within, id, ...(call !== undefined && { call }), at: event.at, excerpt });
        return;
      }
    },
    /** @param searched the oldest event that was looked at, if there may be older ones */
    result(searched?: { readonly id: number; readonly at: number }): StoreSearch {
      const last = isFull() ? hits.at(-1) : searched;
      return { hits, ...(last !== undefined && { next: { before: last.id, at: last.at } }) };
    },
  };
}

/** Searches a database, newest events first. SQL finds candidate rows; their texts decide. */
export async function searchIn(database: Sql, options: SearchOptions): Promise<StoreSearch> {
  const search = createSearch(options);
  const json = JSON.stringify(options.text).slice(1, -1);
  const pattern = `%${json.replaceAll(/[%_^]/g, "^$&")}%`;
  const within = options.thread === undefined ? [] : [keyOf(options.thread)];
  const chosen = within.map(() => " AND thread = ?").join("");
  const slice = `SELECT min(id) AS id, min(at) AS at, sum(bytes) AS bytes FROM (
    SELECT id, at, octet_length(body) + ${ROW_BYTES} AS bytes FROM events WHERE id < ?${chosen}
    ORDER BY id DESC LIMIT ?) AS step`;
  const candidates = `SELECT id, body FROM events WHERE id >= ? AND id < ?${chosen}
    AND type IN ('message.added', 'call.started', 'call.finished') AND ${database.dialect.like("body")}
    ORDER BY id DESC`;
  let end: { readonly id: number; readonly at: number } | undefined;
  let rowsAStep = STEP_ROWS.first;
  for (let bytes = 0; bytes < MOST_SEARCHED && !search.isFull();) {
    const to = end?.id ?? options.before ?? Number.MAX_SAFE_INTEGER;
    const [next] = await database.read(() => all<Slice>(slice, [to, ...within, rowsAStep]));
    if (next === undefined || next.id === null) return search.result();
    const from = next.id;
    const rows = await database.read(() => all<Candidate>(candidates, [from, to, ...within, pattern]));
    for (const { id, body } of rows) search.look(Object.assign(eventOf(body), { id }));
    end = next;
    bytes += next.bytes;
    rowsAStep = Math.max(1, Math.min(STEP_ROWS.most, Math.floor((rowsAStep * STEP_BYTES) / next.bytes)));
    await nextTurn();
  }
  return search.result(end);
}

type Candidate = { readonly id: number; readonly body: string };
type Slice = { readonly id: number; readonly at: number; readonly bytes: number } | { readonly id: null };

/** The texts of messages and results. A result is searched once, in `call.finished`. */
function textsOf(event: ActivityEvent): readonly string[] {
  switch (event.type) {
    case "message.added":
      if (event.message.role === "tool") return [];
      return event.message.content.flatMap((part) => ("text" in part ? [part.text] : []));
    case "call.started":
      return [event.name, ...stringsOf(event.input)];
    case "call.finished":
      return [
        ...(event.error === undefined ? [] : [event.error]),
        ...(event.content ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])),
      ];
    default:
      return [];
  }
}

function stringsOf(value: Json | undefined): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsOf) : [];
}

/** SQLite's LIKE ignores the case of ASCII letters only. */
function lower(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
