/**
 * The tables of schedules and their runs: each entry migrates the file to the next version (db/migrations.ts).
 *
 * `next_ms` is the planned time of the next run, `queued_ms` the time of a run that is due as soon as no other run of
 * the schedule runs. The unique index is what makes a planned time run once, whatever the clock does. A run has the
 * identity of the process that claimed it.
 */
export const SCHEDULE_TABLES: readonly string[] = [
  `CREATE TABLE schedules (
     id TEXT PRIMARY KEY,
     target TEXT NOT NULL,
     definition TEXT NOT NULL,
     created_ms INTEGER NOT NULL,
     next_ms INTEGER,
     queued_ms INTEGER,
     queued_by TEXT,
     paused TEXT,
     failures INTEGER NOT NULL DEFAULT 0,
     seen TEXT,
     secret TEXT
   );
   CREATE INDEX schedules_target ON schedules (target);
   CREATE TABLE runs (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     schedule TEXT NOT NULL,
     name TEXT NOT NULL,
     target TEXT NOT NULL,
     planned_ms INTEGER NOT NULL,
     cause TEXT NOT NULL,
     state TEXT NOT NULL,
     started_ms INTEGER NOT NULL,
     ended_ms INTEGER,
     thread TEXT,
     note TEXT,
     process TEXT NOT NULL
   );
   CREATE UNIQUE INDEX runs_planned ON runs (schedule, planned_ms);
   CREATE INDEX runs_open ON runs (target) WHERE state IN ('running', 'waiting');
   CREATE INDEX runs_thread ON runs (thread);
   CREATE TABLE runners (target TEXT NOT NULL, process TEXT NOT NULL, PRIMARY KEY (target, process));
   CREATE TABLE signatures (signature TEXT PRIMARY KEY, until_ms INTEGER NOT NULL);`,
];
