/**
 * The tables of memories: each entry migrates the file to the next version (db/migrations.ts).
 *
 * The words of a memory are indexed as `SCOPE:word`, so that a search never reads memories of another scope. words.ts
 * makes them; FTS5 only splits them at spaces. A row has the memory's id, which grows with time, so that the newest are
 * found first without sorting.
 */
export const MEMORY_TABLES: readonly string[] = [
  `CREATE TABLE scopes (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, memories INTEGER NOT NULL DEFAULT 0);
   CREATE TABLE memories (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     scope INTEGER NOT NULL REFERENCES scopes,
     key TEXT NOT NULL,
     content TEXT NOT NULL,
     category TEXT NOT NULL,
     stored_ms INTEGER NOT NULL,
     UNIQUE (scope, key)
   );
   CREATE INDEX memories_scope ON memories (scope);
   CREATE INDEX memories_category ON memories (scope, category);
   CREATE VIRTUAL TABLE memory_words
     USING fts5(words, detail = none, columnsize = 0, tokenize = "ascii tokenchars '_:+#'");
   CREATE TABLE spellings (
     scope INTEGER NOT NULL,
     length INTEGER NOT NULL,
     word TEXT NOT NULL,
     reversed TEXT NOT NULL,
     PRIMARY KEY (scope, length, word)
   ) WITHOUT ROWID;
   CREATE INDEX spellings_reversed ON spellings (scope, length, reversed);`,
];
