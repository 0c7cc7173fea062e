import { resolve } from "node:path";
import {
  MAX_MEMORY_CONTENT,
  MAX_MEMORY_KEY,
  type Memories,
  type Memory,
  type MemoryScope,
  type NewMemory,
} from "../contract/memory.ts";
import { type Database, openDatabase } from "../db/database.ts";
import { type DatabaseConnection, type Engine, type Value, loadTextEngine } from "../db/driver.ts";
import { type ScopeRow, recallIds } from "./recall.ts";
import { addSpellings, removeSpelling } from "./spelling.ts";
import { MEMORY_TABLES } from "./tables.ts";
import { wordsOf } from "./words.ts";

export interface MemoriesOptions {
  /** Created with mode 0600 (missing folders 0700). Several processes may share it. */
  readonly file: string;
  readonly scope: MemoryScope;
  /** Identifies the workspace. Only for the scope "workspace". */
  readonly workspace?: string;
  /** Masks secrets in what is stored. */
  readonly mask: (text: string) => string;
  /** Default: an engine on this machine with full-text search. */
  readonly engine?: Engine;
  /** Milliseconds since 1970. Default: the clock. */
  readonly now?: () => number;
}

/** Memories in a SQLite file, which is opened on first use. */
export function openMemories({
  file,
  scope,
  workspace = "",
  mask,
  engine,
  now = Date.now,
}: MemoriesOptions): Memories & { close(): Promise<void> } {
  const path = resolve(file);
  const name = scope === "user" ? "user" : `workspace:${workspace}`;
  let opened: Promise<Database> | undefined;

  const open = async () => {
    const database = openDatabase({ file: path, tables: MEMORY_TABLES, engine: engine ?? (await loadTextEngine()) });
    return await database;
  };
  const database = () => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined; // the cause may be gone the next time
      throw error;
    });
    return opened;
  };
  /** Reads a consistent state of the file, whatever others write meanwhile. */
  const read = async <T>(work: (connection: DatabaseConnection, row: ScopeRow) => T, none: T): Promise<T> => {
    const { connection, patiently } = await database();
    return await patiently(() => {
      connection.exec("BEGIN");
      try {
        const row = scopeRow(connection, name);
        return row === undefined ? none : work(connection, row);
      } finally {
        connection.exec("COMMIT");
      }
    });
  };
  const change = async <T>(work: (connection: DatabaseConnection, scopeId: number) => T): Promise<T> => {
    const { transaction, patiently } = await database();
    return await patiently(() =>
      transaction(
        (connection) => {
          connection.run("INSERT OR IGNORE INTO scopes (name) VALUES (?)", [name]);
          return work(connection, scopeRow(connection, name)?.id ?? 0);
        },
        { durable: true },
      ),
    );
  };
  const list: Memories["list"] = ({ limit, before = Number.MAX_SAFE_INTEGER, category }) =>
    read((connection, { id }) => {
      const ofCategory = category === undefined ? "" : "AND category = ?";
      const given = category === undefined ? [] : [category];
      return select(connection, `scope = ? AND id < ? ${ofCategory} ORDER BY id DESC LIMIT ?`, [
        ...[id, before],
        ...given,
        limit,
      ]);
    }, []);

  return {
    scope,
    list,
    async store(memories) {
      const clean = memories.map((memory) => cleaned(memory, mask, now()));
      await change((connection, id) => {
        for (const memory of clean) replace(connection, id, memory);
      });
    },
    async recall(query, limit) {
      if (query.trim() === "" || query.trim() === "*") return await list({ limit });
      return await read((connection, row) => {
        const ids = recallIds(connection, row, query, limit, now());
        return ids.flatMap((id) => select(connection, "id = ?", [id]));
      }, []);
    },
    get: (key) => read((connection, { id }) => find(connection, id, keyOf(key, mask)), undefined),
    forget: (key) => change((connection, id) => remove(connection, id, keyOf(key, mask))),
    async close() {
      (await opened?.catch(() => undefined))?.close();
      opened = undefined;
    },
  };
}

function scopeRow(connection: DatabaseConnection, name: string): ScopeRow | undefined {
  return connection.all<ScopeRow>("SELECT id, memories FROM scopes WHERE name = ?", [name])[0];
}

function select(connection: DatabaseConnection, condition: string, parameters: readonly Value[]): readonly Memory[] {
  return connection.all<Memory>(
    `SELECT id, key, content, category, stored_ms AS storedMs FROM memories WHERE ${condition}`,
    parameters,
  );
}

function find(connection: DatabaseConnection, scope: number, key: string): Memory | undefined {
  return select(connection, "scope = ? AND key = ?", [scope, key])[0];
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
    storedMs: Math.min(storedMs, now), // a future time would stay the newest
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

function replace(connection: DatabaseConnection, scope: number, memory: Required<NewMemory>): void {
  const { key, content, category, storedMs } = memory;
  const words = indexedWords(memory);
  remove(connection, scope, key, new Set(words));
  const { lastId } = connection.run(
    "INSERT INTO memories (scope, key, content, category, stored_ms) VALUES (?, ?, ?, ?, ?)",
    [scope, key, content, category, storedMs],
  );
  connection.run("INSERT INTO memory_words (rowid, words) VALUES (?, ?)", [
    lastId,
    words.map((word) => `${scope}:${word}`).join(" "),
  ]);
  connection.run("UPDATE scopes SET memories = memories + 1 WHERE id = ?", [scope]);
  addSpellings(connection, scope, new Set(words));
}

/** Removes a memory, and the spellings that only it has; those in `keeping` stay. */
function remove(
  connection: DatabaseConnection,
  scope: number,
  key: string,
  keeping: ReadonlySet<string> = new Set(),
): boolean {
  const memory = find(connection, scope, key);
  if (memory === undefined) return false;
  connection.run("DELETE FROM memory_words WHERE rowid = ?", [memory.id]);
  connection.run("DELETE FROM memories WHERE id = ?", [memory.id]);
  connection.run("UPDATE scopes SET memories = memories - 1 WHERE id = ?", [scope]);
  for (const word of new Set(indexedWords(memory))) {
    if (keeping.has(word)) continue;
    const others = connection.all("SELECT 1 FROM memory_words WHERE memory_words MATCH ? LIMIT 1", [
      `"${scope}:${word}"`,
    ]);
    if (others.length === 0) removeSpelling(connection, scope, word);
  }
  return true;
}

/** The key counts twice. */
function indexedWords({ key, content }: Pick<Memory, "key" | "content">): readonly string[] {
  const ofKey = wordsOf(key, "index");
  return [...ofKey, ...ofKey, ...wordsOf(content, "index")];
}
