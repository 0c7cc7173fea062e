import type { Sql } from "../db/sql.ts";
import { type Work, all, run } from "../db/work.ts";

/** How often an attending process reports, and after how long without a report it no longer counts. Milliseconds. */
const BEAT_MS = 2_000;
const SILENT_MS = 8_000;

/** Tracks the processes through which people can answer questions. */
export function createAttendance(now: () => number) {
  const beats = new Set<NodeJS.Timeout>();
  const clocked = (clock: string) => (clock === "?" ? [now()] : []);

  return {
    /** Attends until the returned function is called. Rejects if attending cannot be recorded. */
    async begin(database: Sql): Promise<() => Promise<void>> {
      const { clock } = database.dialect;
      const begin = function* (): Work<number> {
        yield* run(`DELETE FROM attendance WHERE beat_at < ${clock} - ${SILENT_MS}`, clocked(clock));
        const added = `INSERT INTO attendance (beat_at) VALUES (${clock}) RETURNING id`;
        return (yield* all<{ id: number }>(added, clocked(clock)))[0]?.id ?? 0;
      };
      const id = await database.transaction(begin);
      // The database may be locked, full or unreachable: the next report follows soon.
      const write = (sql: string, values: readonly number[]) =>
        database.transaction(() => run(sql, values)).catch(() => undefined);
      // Inserts a new row if another process took this process for dead, for example after the machine slept.
      const report = `INSERT INTO attendance (id, beat_at) VALUES (?, ${clock})
        ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at`;
      const beat = setInterval(() => void write(report, [id, ...clocked(clock)]), BEAT_MS).unref();
      beats.add(beat);
      return async () => {
        clearInterval(beat);
        if (beats.delete(beat)) await write("DELETE FROM attendance WHERE id = ?", [id]);
      };
    },
    async isAttended(database: Sql): Promise<boolean> {
      const { clock } = database.dialect;
      const recent = `SELECT 1 FROM attendance WHERE beat_at >= ${clock} - ${SILENT_MS} LIMIT 1`;
      return (await database.read(() => all(recent, clocked(clock)))).length > 0;
    },
  };
}
