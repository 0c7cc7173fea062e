import type { DatabaseConnection } from "./driver.ts";

/** "HRDL": SQLite keeps it in the file's header, so that another program's database is never taken for ours. */
const APPLICATION_ID = 0x48_52_44_4c;

/**
 * The tables of the record. Each entry raises the database by one version; PRAGMA user_version is the number of entries
 * applied. One list for all tables of a file, so opening it reads only one number. Never change a released entry, only
 * add.
 */
export const RECORD_TABLES: readonly string[] = [
  `CREATE TABLE sessions (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     host TEXT NOT NULL,
     boot TEXT NOT NULL,
     pid_namespace TEXT NOT NULL,
     pid INTEGER NOT NULL,
     process_start TEXT NOT NULL,
     opened_at INTEGER NOT NULL
   );
   CREATE TABLE events (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     session INTEGER NOT NULL,
     call TEXT NOT NULL,
     thread TEXT NOT NULL,
     at INTEGER NOT NULL,
     type TEXT NOT NULL,
     body TEXT NOT NULL
   );
   CREATE INDEX events_call ON events (call);
   CREATE INDEX events_thread ON events (thread);
   CREATE INDEX events_begun ON events (session) WHERE type IN ('call.started', 'job.started');
   CREATE INDEX events_finished ON events (call) WHERE type = 'call.finished';
   CREATE TABLE chores (name TEXT PRIMARY KEY, begun_at INTEGER NOT NULL) WITHOUT ROWID;`,
  `CREATE INDEX events_threads ON events (id) WHERE type = 'thread.created'`,
  `DROP INDEX events_threads;
   CREATE INDEX events_questions ON events (json_extract(body, '$.question'))
     WHERE type IN ('approval.requested', 'approval.decided');
   CREATE INDEX events_jobs ON events (call) WHERE type IN ('job.started', 'job.ended');
   CREATE TABLE attendance (id INTEGER PRIMARY KEY AUTOINCREMENT, beat_at INTEGER NOT NULL)`,
  `CREATE TABLE taken_threads (
     thread TEXT PRIMARY KEY,
     turn TEXT NOT NULL,
     host TEXT NOT NULL,
     boot TEXT NOT NULL,
     pid_namespace TEXT NOT NULL,
     pid INTEGER NOT NULL,
     process_start TEXT NOT NULL
   ) WITHOUT ROWID`,
  // A call's end and that of its row are one transaction, whoever writes the end.
  `CREATE TABLE parked_calls (
     call TEXT PRIMARY KEY,
     question TEXT NOT NULL,
     thread TEXT NOT NULL,
     target TEXT NOT NULL,
     state TEXT NOT NULL,
     has_turn INTEGER NOT NULL,
     until INTEGER NOT NULL,
     session INTEGER NOT NULL,
     body TEXT NOT NULL
   );
   CREATE INDEX parked_calls_question ON parked_calls (question);
   CREATE INDEX parked_calls_state ON parked_calls (state, until);
   CREATE TRIGGER parked_call_ended AFTER INSERT ON events WHEN NEW.type = 'call.finished' BEGIN
     DELETE FROM parked_calls WHERE call = NEW.call AND has_turn = 0;
     UPDATE parked_calls SET state = 'ended' WHERE call = NEW.call;
   END`,
  // Calls for workers: `tool`, `place` (the order in which they are taken) and `timeline` are null for other calls.
  `ALTER TABLE parked_calls ADD COLUMN tool TEXT;
   ALTER TABLE parked_calls ADD COLUMN place INTEGER;
   ALTER TABLE parked_calls ADD COLUMN timeline INTEGER;
   CREATE INDEX parked_calls_place ON parked_calls (target, place) WHERE place IS NOT NULL;
   CREATE TABLE workers (
     id TEXT PRIMARY KEY, name TEXT NOT NULL, beat_at INTEGER NOT NULL, body TEXT NOT NULL
   ) WITHOUT ROWID;`,
  // See seals.ts. `removals`: the newest event that retention has removed of a call. `checkpoint`: its newest seal.
  `CREATE TABLE seals (
     first INTEGER PRIMARY KEY,
     last INTEGER NOT NULL,
     above TEXT NOT NULL,
     calls TEXT NOT NULL,
     hash TEXT NOT NULL
   );
   CREATE TABLE removals (call TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;
   CREATE TABLE checkpoint (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, hash TEXT NOT NULL)`,
  "ALTER TABLE attendance ADD COLUMN process TEXT",
  // `asked`: the worker that is asked first to make a call; until `alone_until`, only this one may take it.
  `CREATE INDEX events_signals ON events (id) WHERE type IN ('approval.decided', 'input.requested',
     'job.watched', 'port.requested', 'stop.requested');
   ALTER TABLE parked_calls ADD COLUMN asked TEXT;
   ALTER TABLE parked_calls ADD COLUMN alone_until INTEGER;
   DROP INDEX parked_calls_place;
   CREATE INDEX parked_calls_queue ON parked_calls (target, state, place) WHERE place IS NOT NULL;
   CREATE INDEX workers_name ON workers (name)`,
  // The questions that nobody has answered, by their events. Without it, each answered one was looked at.
  `CREATE TABLE open_questions (asked INTEGER PRIMARY KEY, call TEXT NOT NULL, question TEXT NOT NULL);
   CREATE INDEX open_questions_call ON open_questions (call);
   INSERT INTO open_questions SELECT id, call, json_extract(body, '$.question') FROM events AS asked
     WHERE type = 'approval.requested' AND json_extract(body, '$.question') IS NOT NULL AND NOT EXISTS (
       SELECT 1 FROM events AS ending WHERE ending.call = asked.call AND (ending.type = 'call.finished' OR (
         ending.type = 'approval.decided'
         AND json_extract(ending.body, '$.question') = json_extract(asked.body, '$.question'))));
   CREATE TRIGGER question_asked AFTER INSERT ON events WHEN NEW.type = 'approval.requested'
     AND json_extract(NEW.body, '$.question') IS NOT NULL BEGIN
     INSERT INTO open_questions VALUES (NEW.id, NEW.call, json_extract(NEW.body, '$.question'));
   END;
   CREATE TRIGGER question_answered AFTER INSERT ON events WHEN NEW.type = 'approval.decided' BEGIN
     DELETE FROM open_questions WHERE call = NEW.call AND question = json_extract(NEW.body, '$.question');
   END;
   CREATE TRIGGER questions_ended AFTER INSERT ON events WHEN NEW.type = 'call.finished' BEGIN
     DELETE FROM open_questions WHERE call = NEW.call;
   END;
   CREATE INDEX parked_calls_timeline ON parked_calls (timeline) WHERE timeline IS NOT NULL`,
  "CREATE INDEX events_calls ON events (thread) WHERE type = 'call.started'",
];

/**
 * Migrates a database to this program's version; several processes may do so at once. A new database gets write-ahead
 * logging.
 *
 * @throws Error for a database of a newer version or of another program, and if write-ahead logging does not work.
 */
export function migrate(connection: DatabaseConnection, file: string, tables: readonly string[]): void {
  const found = versionOf(connection, file, tables.length);
  if (found === tables.length) return;
  if (found === 0) prepareFile(connection, file);
  connection.exec("BEGIN IMMEDIATE");
  try {
    const version = versionOf(connection, file, tables.length); // another process may have been first
    for (const migration of tables.slice(version)) connection.exec(migration);
    connection.exec(`PRAGMA user_version = ${tables.length}; PRAGMA application_id = ${APPLICATION_ID}; COMMIT`);
  } catch (error) {
    connection.exec("ROLLBACK");
    throw error;
  }
}

function versionOf(connection: DatabaseConnection, file: string, known: number): number {
  const [header] = connection.all<{ version: number; application: number; tables: number }>(
    `SELECT user_version AS version, application_id AS application, (SELECT count(*) FROM sqlite_schema) AS tables
     FROM pragma_user_version, pragma_application_id`,
  );
  const { version = 0, application = 0, tables = 0 } = header ?? {};
  if (application !== APPLICATION_ID && (application !== 0 || version !== 0 || tables > 0)) {
    throw new Error(`${file} is the database of another program. Name another file; a missing file is created.`);
  }
  if (version > known) {
    throw new Error(
      `${file} was made by a newer Handrail (database version ${version}; this one knows up to ${known}). ` +
        "Update Handrail, or name another file.",
    );
  }
  return version;
}

/** Settings that must come before the first table and outside a transaction. */
function prepareFile(connection: DatabaseConnection, file: string): void {
  connection.exec("PRAGMA auto_vacuum = INCREMENTAL");
  const [mode] = connection.all<{ journal_mode: string }>("PRAGMA journal_mode = WAL");
  if (mode?.journal_mode === "wal") return;
  throw new Error(
    `${file} cannot be shared by several processes: its file system has no shared memory (a network folder?). ` +
      "Name a file on a local disk.",
  );
}
