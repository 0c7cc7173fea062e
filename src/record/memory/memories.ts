import { resolve } from "node:path";
import {
  MAX_MEMORY_CONTENT,
  MAX_MEMORY_KEY,
  type Memories,
  type Memory,
  type MemoryScope,
  type NewMemory,
} from "../../core/contract/memory.ts";
import type { Dialect } from "../db/dialect.ts";
import { type Engine, type Value, loadTextEngine } from "../db/driver.ts";
import type { Sql } from "../db/sql.ts";
import { openSqlite } from "../db/sqlite.ts";
import { type Work, all, lock, run } from "../db/work.ts";
import { type ScopeRow, recallIds } from "./recall.ts";
import { addSpellings, removeSpelling } from "./spelling.ts";
import { MEMORY_TABLES } from "./tables.ts";
import { wordsOf } from "./words.ts";

export interface MemoriesOptions {
  /** Created with mode 0600 (missing folders 0700). Several processes may share it. */
  readonly file: string;
  /** A PostgreSQL server that keeps the memories instead of the file. */
  readonly url?: string | undefined;
  readonly scope: MemoryScope;
  /** Identifies the workspace. Only for the scope "workspace". */
  readonly workspace?: string;
  /** Masks secrets in what is stored. */
  readonly mask: (text: string) => string;
  /** Default: an engine on this machine with full-text search. */
  readonly engine?: Engine;
  /** Milliseconds since 1970. Default: the current time. */
  readonly now?: () => number;
}

/** Memories in a SQLite file or on a server, which is opened on first use. */
export function openMemories({
  file,
  url,
  scope,
  workspace = "",
  mask,
  engine,
  now = Date.now,
}: MemoriesOptions): Memories & { close(): Promise<void> } {
  const path = resolve(file);
  const name = scope === "user" ? "user" : `workspace:${workspace}`;
  let opened: Promise<Sql> | undefined;

  const open = async () => {
    if (url !== undefined) return await (await import("../db/postgres.ts")).openPostgres(url);
    return await openSqlite({ file: path, tables: MEMORY_TABLES, engine: engine ?? (await loadTextEngine()) });
  };
  const database = () => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined; // the cause of the failure may be gone next time
      throw error;
    });
    return opened;
  };
  /** Reads a consistent state, even if other processes write meanwhile. */
  const read = async <T>(work: (row: ScopeRow, dialect: Dialect) => Work<T>, none: T): Promise<T> => {
    const sql = await database();
    const inScope = function* () {
      const row = yield* scopeRow(name);
      return row === undefined ? none : yield* work(row, sql.dialect);
    };
    return await sql.read(inScope, { consistent: true });
  };
  const change = async <T>(work: (scopeId: number, dialect: Dialect) => Work<T>): Promise<T> => {
    const sql = await database();
    const inScope = function* () {
      yield* lock(`memories ${name}`);
      yield* run("INSERT INTO scopes (name) VALUES (?) ON CONFLICT DO NOTHING", [name]);
      return yield* work((yield* scopeRow(name))?.id ?? 0, sql.dialect);
    };
    return await sql.transaction(inScope, { durable: true });
  };
  const list: Memories["list"] = ({ limit, before = Number.MAX_SAFE_INTEGER, category }) =>
    read(({ id }) => {
      const ofCategory = category === undefined ? "" : "AND category = ?";
      const given = category === undefined ? [] : [category];
      return select(`scope = ? AND id < ? ${ofCategory} ORDER BY id DESC LIMIT ?`, [...[id, before], ...given, limit]);
    }, []);

  return {
    scope,
    list,
    async store(memories) {
      const clean = memories.map((memory) => cleaned(memory, mask, now()));
      await change(function* (id, dialect) {
        for (const memory of clean) yield* replace(dialect, id, memory);
      });
    },
    async recall(query, limit) {
      if (query.trim() === "" || query.trim() === "*") return await list({ limit });
      return await read(function* (row, dialect) {
        const found: Memory[] = [];
        for (const id of yield* recallIds(dialect, row, query, { limit, now: now() })) {
          found.push(...(yield* select("id = ?", [id])));
        }
        return found;
      }, []);
    },
    get: (key) => read<Memory | undefined>(({ id }) => find(id, keyOf(key, mask)), undefined),
    forget: (key) => change((id, dialect) => remove(dialect, id, keyOf(key, mask))),
    async close() {
      await (await opened?.catch(() => undefined))?.close();
      opened = undefined;
    },
  };
}

function* scopeRow(name: string): Work<ScopeRow | undefined> {
  return (yield* all<ScopeRow>("SELECT id, memories FROM scopes WHERE name = ?", [name]))[0];
}

function select(condition: string, parameters: readonly Value[]): Work<readonly Memory[]> {
  return all<Memory>(
    `SELECT id, key, content, category, stored_ms AS "storedMs" FROM memories WHERE ${condition}`,
    parameters,
  );
}

function* find(scope: number, key: string): Work<Memory | undefined> {
  return (yield* select("scope = ? AND key = ?", [scope, key]))[0];
}

/** The stored form of a key: one line. */
function keyOf(key: string, mask: (text: string) => string): string {
  return storedText(key.replaceAll(/\s+/g, " ").trim(), mask);
}

/** The stored form of a content. SQLite cuts texts at NUL, and cannot store lone surrogates. */
function storedText(text: string, mask: (text: string) => string): string {
  return mask(Buffer.from(text.replaceAll("\0", "\ufffd")).toString());
}

function cleaned(
  { key, content, category, storedMs = Infinity }: NewMemory,
  mask: (text: string) => string,
  now: number,
) {
  const memory = {
    ...{ key: keyOf(key, mask), content: storedText(content, mask), category },
    storedMs: Math.min(storedMs, now), // a time in the future would stay the newest
  };
  for (const [what, text, most] of [
    ["key", memory.key, MAX_MEMORY_KEY],
    ["content", memory.content.trim(), MAX_MEMORY_CONTENT],
  ] as const) {
    if (text.length > 0 && text.length <= most) continue;
    const called = what === "key" ? "A memory's key" : `The content of the memory ${JSON.stringify(memory.key)}`;
    throw new RangeError(`${called} has ${text.length} characters: expected 1 to ${most}`);
  }
  return memory;
}

function* replace(dialect: Dialect, scope: number, memory: Required<NewMemory>): Work<void> {
  const { key, content, category, storedMs } = memory;
  const words = indexedWords(memory);
  yield* remove(dialect, scope, key, new Set(words));
  const [added] = yield* all<{ id: number }>(
    "INSERT INTO memories (scope, key, content, category, stored_ms) VALUES (?, ?, ?, ?, ?) RETURNING id",
    [scope, key, content, category, storedMs],
  );
  yield* run("INSERT INTO memory_words (rowid, words) VALUES (?, ?)", [
    added?.id ?? 0,
    words.map((word) => `${scope}:${word}`).join(" "),
  ]);
  yield* run("UPDATE scopes SET memories = memories + 1 WHERE id = ?", [scope]);
  yield* addSpellings(scope, new Set(words));
}

/** Removes a memory, and the spellings that only this memory has; spellings in `keeping` stay. */
function* remove(
  { hasWords }: Dialect,
  scope: number,
  key: string,
  keeping: ReadonlySet<string> = new Set(),
): Work<boolean> {
  const memory = yield* find(scope, key);
  if (memory === undefined) return false;
  yield* run("DELETE FROM memory_words WHERE rowid = ?", [memory.id]);
  yield* run("DELETE FROM memories WHERE id = ?", [memory.id]);
  yield* run("UPDATE scopes SET memories = memories - 1 WHERE id = ?", [scope]);
  for (const word of new Set(indexedWords(memory))) {
    if (keeping.has(word)) continue;
    const { sql, value } = hasWords([`${scope}:${word}`]);
    const others = yield* all(`SELECT 1 FROM memory_words WHERE ${sql} LIMIT 1`, [value]);
    if (others.length === 0) yield* removeSpelling(scope, word);
  }
  return true;
}

/** The key counts twice. */
function indexedWords({ key, content }: Pick<Memory, "key" | "content">): readonly string[] {
  const ofKey = wordsOf(key, "index");
  return [...ofKey, ...ofKey, ...wordsOf(content, "index")];
}
