import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { eventOf, rowOf } from "../record/activity/event-rows.ts";
import { openDatabase } from "../record/db/database.ts";
import { type DatabaseConnection, type Value, loadTextEngine } from "../record/db/driver.ts";
import { RECORD_TABLES } from "../record/db/migrations.ts";
import type { Ask } from "../record/db/postgres.ts";
import { MEMORY_TABLES } from "../record/memory/tables.ts";
import { SCHEDULE_TABLES } from "../record/schedule/tables.ts";
import { type ProcessIdentity, livenessOf } from "../machine/programs/process-identity.ts";
import { plural } from "../core/util/text.ts";

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  /** The column that orders the table's rows and is read in steps. */
  readonly key?: string;
  /** Whether the server numbers the table's new rows. */
  readonly isNumbered?: true;
}

const table = (name: string, columns: string, more: Pick<Table, "key" | "isNumbered"> = {}): Table => {
  return { name, columns: columns.split(" "), ...more };
};

/** What is copied of each file. Not copied: which processes attend, have threads, or do chores now. */
const FILES: readonly { readonly file: string; readonly made: readonly string[]; readonly tables: readonly Table[] }[] =
  [
    {
      file: "handrail.db",
      made: RECORD_TABLES,
      tables: [
        table("sessions", "id host boot pid_namespace pid process_start opened_at", { key: "id", isNumbered: true }),
        table("events", "id session call thread at type body", { key: "id" }),
        table("seals", "first last above calls hash", { key: "first" }),
        table("removals", "call last"),
        table("checkpoint", "first last hash", { key: "first" }),
        table(
          "parked_calls",
          "call question thread target state has_turn until session body rowid tool place timeline",
          {
            key: "rowid",
            isNumbered: true,
          },
        ),
      ],
    },
    {
      file: "memory.db",
      made: MEMORY_TABLES,
      tables: [
        table("scopes", "id name memories", { key: "id", isNumbered: true }),
        table("memories", "id scope key content category stored_ms", { key: "id", isNumbered: true }),
        table("memory_words", "rowid words", { key: "rowid" }),
        table("spellings", "scope length word reversed"),
      ],
    },
    {
      file: "schedule.db",
      made: SCHEDULE_TABLES,
      tables: [
        table("schedules", "id target definition created_ms next_ms queued_ms queued_by paused failures seen secret"),
        table("runs", "id schedule name target planned_ms cause state started_ms ended_ms thread note process", {
          key: "id",
          isNumbered: true,
        }),
        table("signatures", "signature until_ms"),
      ],
    },
  ];

/** How many rows one statement reads and writes. */
const STEP_ROWS = 500;

/**
 * Copies a record with its memories and schedules, ids, order and times. Call it inside one transaction of the target.
 * Resolves to the number of events.
 *
 * @param record the path of handrail.db, whose folder has the other files
 * @param told called with the rows of a table that are copied
 * @throws Error when the target is not empty, when processes write to the source, and when the source cannot be read.
 */
export async function copyRecord(
  record: string,
  target: Ask,
  told: (table: string, rows: number) => void,
): Promise<number> {
  if (!existsSync(record)) throw new Error(`${record} does not exist: name the handrail.db of a state folder`);
  for (const name of ["events", "memories", "schedules"]) {
    const [some] = await target(`SELECT 1 FROM ${name} LIMIT 1`);
    if (some !== undefined) throw new Error(`the target has ${name} already: copy into an empty database`);
  }
  let events = 0;
  for (const { file, made, tables } of FILES) {
    const path = made === RECORD_TABLES ? record : join(dirname(record), file);
    if (!existsSync(path)) continue;
    const engine = made === MEMORY_TABLES ? { engine: await loadTextEngine() } : {};
    const { connection, close } = await openDatabase({ file: path, tables: made, ...engine });
    try {
      connection.exec("BEGIN"); // one state of the file
      if (made === RECORD_TABLES) requireQuiet(connection);
      for (const each of tables) {
        const count = await copyTable(each, connection, target, told);
        if (each.name === "events") events = count;
      }
    } finally {
      close();
    }
  }
  return events;
}

function requireQuiet(source: DatabaseConnection): void {
  const sessions = source.all<ProcessIdentity>(
    `SELECT host, boot, pid_namespace AS "pidNamespace", pid, process_start AS "processStart" FROM sessions`,
  );
  const alive = sessions.filter((session) => livenessOf(session) === "alive");
  if (alive.length === 0) return;
  const ids = alive.map(({ pid }) => pid).join(", ");
  throw new Error(`${plural(alive.length, "process", "processes")} may still write to it: end ${ids} first`);
}

async function copyTable(
  { name, columns, key, isNumbered }: Table,
  source: DatabaseConnection,
  target: Ask,
  told: (table: string, rows: number) => void,
): Promise<number> {
  const list = columns.join(", ");
  const into = name === "events" ? [...columns, "facet"] : columns;
  let count = 0;
  for (let after = 0, isLast = false; !isLast;) {
    const rows =
      key === undefined
        ? source.all<Row>(`SELECT ${list} FROM ${name}`)
        : source.all<Row>(`SELECT ${list} FROM ${name} WHERE ${key} > ? ORDER BY ${key} LIMIT ${STEP_ROWS}`, [after]);
    for (let next = 0; next < rows.length; next += STEP_ROWS) {
      const some = rows.slice(next, next + STEP_ROWS).map((row) => valuesOf(name, row, columns));
      const places = some.map((values) => `(${values.map(() => "?").join(", ")})`).join(", ");
      // A call can have only one end on the server.
      await target(`INSERT INTO ${name} (${into.join(", ")}) VALUES ${places} ON CONFLICT DO NOTHING`, some.flat());
      count += some.length;
      told(name, count);
    }
    isLast = key === undefined || rows.length < STEP_ROWS;
    after = key === undefined ? 0 : Number(rows.at(-1)?.[key] ?? 0);
  }
  if (isNumbered && key !== undefined && count > 0) {
    await target(`SELECT setval(pg_get_serial_sequence('${name}', '${key}'), (SELECT max(${key}) FROM ${name}))`);
  }
  return count;
}

type Row = { readonly [column: string]: Value };

function valuesOf(name: string, row: Row, columns: readonly string[]): readonly Value[] {
  const values = columns.map((column) => row[column] ?? null);
  if (name !== "events") return values;
  const { at, facet } = rowOf(eventOf(String(row["body"])));
  return [...values.with(columns.indexOf("at"), Math.round(at)), facet];
}
