import { setImmediate as nextTurn } from "node:timers/promises";
import type { ActivityEvent, SearchHit, SearchOptions, StoredEvent } from "../contract/activity.ts";
import type { Json } from "../contract/schema.ts";
import type { Sql } from "../db/sql.ts";
import { all } from "../db/work.ts";
import { clip } from "../util/text.ts";

/** The maximum number of rows of one statement. */
const STEP_ROWS = 2_000;

const MAX_TEXT = 1_000;
const EXCERPT = 200;
const DEFAULT_LIMIT = 50;

/**
 * Finds hits among events that come newest first.
 *
 * @throws RangeError for a text that is empty or too long.
 */
export function createSearch({ text, thread, limit = DEFAULT_LIMIT }: SearchOptions) {
  if (text === "" || text.length > MAX_TEXT) {
    throw new RangeError(`text of ${text.length} characters: expected 1 to ${MAX_TEXT}`);
  }
  const wanted = lower(text);
  const hits: SearchHit[] = [];
  return {
    hits,
    /** Returns true when there are enough hits. */
    isFull: () => hits.length >= limit,
    look(event: StoredEvent) {
      if (hits.length >= limit || (thread !== undefined && event.thread !== thread)) return;
      for (const part of textsOf(event)) {
        const at = lower(part).indexOf(wanted);
        if (at === -1) continue;
        const excerpt = clip(part.slice(Math.max(0, at - EXCERPT / 4)), EXCERPT);
        const { thread: within, id, call } = event;
        hits.push({ thread: within, id, ...(call !== undefined && { call }), at: event.at, excerpt });
        return;
      }
    },
  };
}

/** Searches a database, newest events first. SQL finds candidate rows; their texts decide. */
export async function searchIn(database: Sql, options: SearchOptions): Promise<readonly SearchHit[]> {
  const search = createSearch(options);
  const json = JSON.stringify(options.text).slice(1, -1);
  const pattern = `%${json.replaceAll(/[%_^]/g, "^$&")}%`;
  const { like, searchedIds } = database.dialect;
  const sql = `SELECT id, body FROM events WHERE id <= ? AND id > ? AND ${like("body")}
    AND type IN ('message.added', 'call.started', 'call.finished') ORDER BY id DESC LIMIT ${STEP_ROWS}`;
  for (let to = await database.newest(); to > 0 && !search.isFull();) {
    const from = to - searchedIds;
    const rows = await database.read(() => all<{ id: number; body: string }>(sql, [to, from, pattern]));
    for (const { id, body } of rows) search.look({ ...(JSON.parse(body) as ActivityEvent), id });
    to = rows.length < STEP_ROWS ? from : (rows.at(-1)?.id ?? 0) - 1;
    await nextTurn();
  }
  return search.hits;
}

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
