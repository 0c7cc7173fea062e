import type { Dialect } from "../db/dialect.ts";
import { type Work, all } from "../db/work.ts";
import { nearestWords } from "./spelling.ts";
import { wordsOf } from "./words.ts";

/** A scope as stored in the tables. */
export interface ScopeRow {
  readonly id: number;
  /** How many memories the scope has. */
  readonly memories: number;
}

/** The maximum number of words of a query that count: the first words. */
const MOST_WORDS = 24;
/** The maximum number of a query's words that are corrected because no memory has them. */
const MOST_CORRECTED = 4;
/** How many memories of one word are read from the index, newest first. A word that more memories have is common. */
const MOST_LISTED = 256;
/** The maximum number of memories whose words are counted. */
const MOST_RANKED = 128;
/** The maximum number of index entries that are read for memories with two common words. */
const MOST_WALKED = 20_000;
/** How many characters of a memory's words are counted. */
const MOST_COUNTED = 8_192;

// Okapi BM25 (Robertson and Zaragoza 2009, https://www.nowpublishers.com/article/Details/INR-019) with its usual
// parameters.
const K1 = 1.2;
const B = 0.5;
/** The length of a typical memory, in words. */
const USUAL_LENGTH = 32;
/** The minimum weight of a word, even when most memories have it. */
const LEAST_WEIGHT = 0.05;
/** The weight of a word that was corrected. */
const CORRECTED = 0.5;

/** A new memory counts 1.5 times; after this time 1.25 times, and so on. Milliseconds: 30 days. */
const HALF_LIFE_MS = 2_592_000_000;
const NEWEST_GAIN = 0.5;
/** The fraction of the best score that other memories must reach: a memory that shares only common words is omitted. */
const LEAST_PART = 0.25;

interface Term {
  /** The word in its indexed form. */
  readonly token: string;
  readonly weight: number;
  /** The newest memories with the word, newest first. */
  readonly ids: readonly number[];
  /** Roughly how many memories have the word. */
  readonly count: number;
}

/**
 * Returns the ids of the memories that match a query, best first: BM25 over the words, weighted by age. The time does
 * not grow with the number of memories: for a common word, only the newest memories are ranked, and those that have the
 * two rarest of the common words.
 */
export function* recallIds(
  dialect: Dialect,
  scope: ScopeRow,
  query: string,
  { limit, now }: { readonly limit: number; readonly now: number },
): Work<readonly number[]> {
  const terms = yield* termsOf(dialect, scope, query);
  const candidates = yield* candidatesOf(dialect, terms);
  if (candidates.length === 0) return [];
  const rows = yield* all<{ id: number; stored_ms: number; words: string }>(
    `SELECT m.id, m.stored_ms, substr(w.words, 1, ${MOST_COUNTED}) AS words
     FROM memories AS m JOIN memory_words AS w ON w.rowid = m.id
     WHERE m.id IN (${candidates.map(() => "?").join(", ")})`,
    candidates,
  );
  const weights = new Map(terms.map(({ token, weight }) => [token, weight]));
  const matches = rows.map(({ id, stored_ms: storedMs, words }) => {
    return { id, match: matchOf(words.split(" "), weights), recency: recencyOf(now - storedMs) };
  });
  const best = Math.max(...matches.map(({ match }) => match));
  return matches
    .filter(({ match }) => match >= best * LEAST_PART)
    .map(({ id, match, recency }) => ({ id, score: match * recency }))
    .sort((one, other) => other.score - one.score || other.id - one.id)
    .slice(0, limit)
    .map(({ id }) => id);
}

function* termsOf(dialect: Dialect, scope: ScopeRow, query: string): Work<readonly Term[]> {
  const [span] = yield* all<{ first: number | null; last: number | null }>(
    "SELECT (SELECT min(id) FROM memories WHERE scope = ?) AS first, (SELECT max(id) FROM memories WHERE scope = ?) " +
      "AS last",
    [scope.id, scope.id],
  );
  const { first, last } = span ?? {};
  if (typeof first !== "number" || typeof last !== "number") return [];

  const term = function* (word: string, part: number): Work<Term> {
    const token = `${scope.id}:${word}`;
    const ids = yield* newestWith(dialect, [token], 0);
    const oldest = ids.at(-1) ?? last;
    // Only the newest memories with a common word are known: its frequency in older ones is assumed to be the same.
    const count = ids.length < MOST_LISTED ? ids.length : (ids.length * (last - first + 1)) / (last - oldest + 1);
    return { token, ids, count, weight: part * weightOf(Math.min(count, scope.memories), scope.memories) };
  };

  let corrections = 0;
  const terms: Term[] = [];
  for (const word of [...new Set(wordsOf(query, "query"))].slice(0, MOST_WORDS)) {
    const exact = yield* term(word, 1);
    if (exact.ids.length > 0) terms.push(exact);
    else if (++corrections <= MOST_CORRECTED) {
      for (const nearest of yield* nearestWords(scope.id, word)) terms.push(yield* term(nearest, CORRECTED));
    }
  }
  return terms;
}

/**
 * The ids to rank: memories with the most and rarest words; among equals, the newest. Omits memories that cannot reach
 * the result.
 */
function* candidatesOf(dialect: Dialect, terms: readonly Term[]): Work<readonly number[]> {
  const weights = new Map<number, number>();
  for (const { ids, weight } of terms) for (const id of ids) weights.set(id, (weights.get(id) ?? 0) + weight);
  const [rarest, next] = terms
    .filter(({ ids }) => ids.length >= MOST_LISTED)
    .sort((one, other) => one.count - other.count);
  if (rarest !== undefined && next !== undefined) {
    const last = rarest.ids[0] ?? 0;
    const oldest = rarest.ids.at(-1) ?? 0;
    const walked = (MOST_WALKED * (last - oldest + 1)) / rarest.ids.length;
    for (const id of yield* newestWith(dialect, [rarest.token, next.token], Math.floor(last - walked))) {
      weights.set(id, Math.max(weights.get(id) ?? 0, rarest.weight + next.weight));
    }
  }
  const least = (Math.max(...weights.values()) * LEAST_PART) / 2;
  return [...weights]
    .filter(([, weight]) => weight >= least)
    .sort(([id, weight], [otherId, otherWeight]) => otherWeight - weight || otherId - id)
    .slice(0, MOST_RANKED)
    .map(([id]) => id);
}

function* newestWith({ hasWords }: Dialect, tokens: readonly string[], above: number): Work<readonly number[]> {
  const { sql, value } = hasWords(tokens);
  const rows = yield* all<{ id: number }>(
    `SELECT rowid AS id FROM memory_words WHERE ${sql} AND rowid > ? ORDER BY rowid DESC LIMIT ${MOST_LISTED}`,
    [value, above],
  );
  return rows.map(({ id }) => id);
}

/** The inverse document frequency of Robertson and Spärck Jones. */
function weightOf(count: number, memories: number): number {
  return Math.max(LEAST_WEIGHT, Math.log((memories - count + 0.5) / (count + 0.5)));
}

function matchOf(words: readonly string[], weights: ReadonlyMap<string, number>): number {
  const counts = new Map<string, number>();
  for (const word of words) if (weights.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const length = K1 * (1 - B + (B * words.length) / USUAL_LENGTH);
  let match = 0;
  for (const [word, count] of counts) match += ((weights.get(word) ?? 0) * count * (K1 + 1)) / (count + length);
  return match;
}

function recencyOf(ageMs: number): number {
  return 1 + NEWEST_GAIN * 2 ** (-Math.max(0, ageMs) / HALF_LIFE_MS);
}
