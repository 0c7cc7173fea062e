import type { Database } from "../db/database.ts";

/** How often an attending process reports, and after how long without a report it no longer counts. Milliseconds. */
const BEAT_MS = 2_000;
const SILENT_MS = 8_000;

/** Tracks the processes through which people can answer questions. */
export function createAttendance(now: () => number) {
  const beats = new Set<NodeJS.Timeout>();

  return {
    /** Attends until the returned function is called. Rejects if this cannot be recorded. */
    async begin(database: Database): Promise<() => void> {
      const id = await database.patiently(() =>
        database.transaction((connection) => {
          connection.run("DELETE FROM attendance WHERE beat_at < ?", [now() - SILENT_MS]);
          return connection.run("INSERT INTO attendance (beat_at) VALUES (?)", [now()]).lastId;
        }),
      );
      const write = (sql: string, values: readonly number[]) => {
        try {
          database.transaction((connection) => connection.run(sql, values));
        } catch {
          // locked or full: the next report follows soon
        }
      };
      const beat = setInterval(() => {
        // Inserts a new row if another process took this one for dead, for example after the machine slept.
        write("INSERT OR REPLACE INTO attendance (id, beat_at) VALUES (?, ?)", [id, now()]);
      }, BEAT_MS).unref();
      beats.add(beat);
      return () => {
        clearInterval(beat);
        if (beats.delete(beat)) write("DELETE FROM attendance WHERE id = ?", [id]);
      };
    },
    isAttended({ connection }: Database): boolean {
      return connection.all("SELECT 1 FROM attendance WHERE beat_at >= ? LIMIT 1", [now() - SILENT_MS]).length > 0;
    },
  };
}
