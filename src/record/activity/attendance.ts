import { silentProcesses } from "../db/dialect.ts";
import type { Sql } from "../db/sql.ts";
import { type Work, all, run } from "../db/work.ts";
import {
  type ProcessIdentity,
  identityText,
  livenessOf,
  thisProcess,
} from "../../machine/programs/process-identity.ts";

/**
 * How often an attending process reports, and after how long without a report it no longer counts if its death cannot
 * be seen: that of a process in another container which shares the file. Milliseconds.
 */
const BEAT_MS = 1_800_000;
const SILENT_MS = 3_600_000;

/** Tracks the processes through which people can answer questions. */
export function createAttendance(now: () => number) {
  const beats = new Set<NodeJS.Timeout>();
  const clocked = (clock: string) => (clock === "?" ? [now()] : []);

  /** The rows of processes that attend, and those of processes that have ended. */
  const attending = function* ({ dialect }: Sql): Work<{ readonly alive: number; readonly dead: readonly number[] }> {
    const { clock } = dialect;
    const rows = yield* all<{ id: number; process: string | null; silent: number }>(
      `SELECT id, process, ${clock} - beat_at AS silent FROM attendance`,
      clocked(clock),
    );
    const states = rows.map(({ process, silent }) => {
      const state = process === null ? "unknown" : livenessOf(JSON.parse(process) as ProcessIdentity);
      return state === "unknown" && silent > SILENT_MS ? "dead" : state;
    });
    const silent = yield* silentProcesses(dialect);
    const isDead = (row: number) =>
      states[row] === "dead" || (states[row] === "unknown" && silent.has(rows[row]?.process ?? ""));
    const dead = rows.filter((_, row) => isDead(row)).map(({ id }) => id);
    return { alive: rows.length - dead.length, dead };
  };

  return {
    /** Attends until the returned function is called. Rejects if attending cannot be recorded. */
    async begin(database: Sql): Promise<() => Promise<void>> {
      const { clock } = database.dialect;
      const own = identityText(thisProcess());
      const begin = function* (): Work<number> {
        for (const id of (yield* attending(database)).dead) yield* run("DELETE FROM attendance WHERE id = ?", [id]);
        const added = `INSERT INTO attendance (process, beat_at) VALUES (?, ${clock}) RETURNING id`;
        return (yield* all<{ id: number }>(added, [own, ...clocked(clock)]))[0]?.id ?? 0;
      };
      const id = await database.transaction(begin);
      // The database may be locked, full or unreachable: the next report follows.
      const write = (sql: string, values: readonly (number | string)[]) =>
        database.transaction(() => run(sql, values)).catch(() => undefined);
      // Inserts a new row if another process took this process for dead, for example after the machine slept.
      const report = `INSERT INTO attendance (id, process, beat_at) VALUES (?, ?, ${clock})
        ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at`;
      const beat = setInterval(() => void write(report, [id, own, ...clocked(clock)]), BEAT_MS).unref();
      beats.add(beat);
      return async () => {
        clearInterval(beat);
        if (beats.delete(beat)) await write("DELETE FROM attendance WHERE id = ?", [id]);
      };
    },
    isAttended: async (database: Sql): Promise<boolean> => (await database.read(() => attending(database))).alive > 0,
  };
}
