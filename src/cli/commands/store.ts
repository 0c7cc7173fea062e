import { resolve } from "node:path";
import { databaseFile, stateFolder } from "../../app/config/state.ts";
import { inOneTransaction } from "../../record/db/postgres.ts";
import { plural } from "../../core/util/text.ts";
import type { GlobalOptions } from "../options.ts";
import { say } from "../say.ts";
import { settingsFrom } from "../settings.ts";
import { copyRecord } from "../store-copy.ts";
import type { Io } from "../io.ts";

export interface MigrateOptions extends GlobalOptions {
  readonly from?: string;
  readonly to?: string;
}

/** The commands of `handrail store`. */
export const run = { migrate };

/**
 * Creates or upgrades the tables on a PostgreSQL server. With `from`, it also copies a record into them: all of it, or
 * nothing when it is interrupted. Progress goes to a terminal only.
 *
 * @throws Error when no server is named, when it cannot be used, and like `copyRecord`.
 */
async function migrate({ from, to, ...options }: MigrateOptions): Promise<void> {
  const { store } = await settingsFrom(options);
  const url = to ?? store;
  if (!/^postgres(ql)?:/.test(url)) {
    throw new Error("expected --to postgres://USER@HOST:PORT/DATABASE, or that as store in your configuration");
  }
  if (from !== undefined && !/^sqlite:./.test(from)) {
    throw new Error(
      `--from ${from}: expected sqlite:${databaseFile(options.io.env)}. pg_dump copies a database of PostgreSQL`,
    );
  }
  const { io } = options;
  const shown = progress(io);
  const lines = await inOneTransaction(url, async (ask, { found, now, where }) => {
    const what = found === now ? "has" : found === 0 ? "now has" : `was upgraded from version ${found} to`;
    const tables = `PostgreSQL at ${where} ${what} the tables of version ${now}.`;
    if (from === undefined) return [tables];
    const events = await copyRecord(resolve(io.cwd, from.slice("sqlite:".length)), ask, shown.tell);
    const stay = `Saved outputs, undo and grants stay in ${stateFolder(io.env)}.`;
    return [tables, `Copied ${plural(events, "event")}, memories and schedules. ${stay}`];
  }).finally(shown.end);
  for (const line of lines) say(io, line);
}

/** One line on a terminal, which is overwritten with each report. */
function progress({ stderr }: Io) {
  let width = 0;
  return {
    tell(table: string, rows: number) {
      if (!stderr.isTTY) return;
      const line = `copying ${table}: ${rows}`;
      stderr.write(`\r${line.padEnd(width)}`);
      width = line.length;
    },
    end() {
      if (width > 0) stderr.write(`\r${" ".repeat(width)}\r`);
    },
  };
}
