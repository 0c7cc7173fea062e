import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_MAX_DATABASE_BYTES } from "../../activity/sqlite-store.ts";
import { databaseFile } from "../../config/state.ts";
import { openDatabase } from "../../db/database.ts";
import { formatSize } from "../../output/size.ts";
import { quoteWord } from "../../util/quote.ts";
import type { GlobalOptions } from "../options.ts";
import type { Check } from "./check.ts";
import { settingsOf } from "./settings.ts";

/**
 * Checks the record of calls: its engine works, its file, if any, is intact, and how much of its size limit is used.
 */
export function database(options: GlobalOptions): Check {
  return {
    name: "database",
    required: true,
    fix: `mv ${quoteWord(databaseFile())} ${quoteWord(`${databaseFile()}.broken`)}`,
    async run() {
      const file = databaseFile();
      const size = await sizeOf(file);
      if (size === undefined) return { status: "ok", detail: `${await tryEngine()}; ${file} is created on first use` };
      const log = (await sizeOf(`${file}-wal`)) ?? 0; // read first: the last process to close removes it
      const open = await openDatabase({ file, patienceMs: 2_000 });
      try {
        const [found] = open.connection.all<{ quick_check: string }>("PRAGMA quick_check(1)");
        if (found?.quick_check !== "ok") throw new Error(`${file} is damaged: ${found?.quick_check ?? "no answer"}`);
        const { state } = await settingsOf(options);
        const most = formatSize(state.database ?? DEFAULT_MAX_DATABASE_BYTES);
        const beside = log === 0 ? "" : `, and ${formatSize(log)} of write-ahead log`;
        const used = `${formatSize(size)} of at most ${most}${beside}`;
        return { status: "ok", detail: `${versionOf(open.connection)}; ${file} is whole: ${used}` };
      } finally {
        open.close();
      }
    },
  };
}

async function sizeOf(file: string): Promise<number | undefined> {
  return (await stat(file).catch(() => undefined))?.size;
}

async function tryEngine(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "handrail-doctor-"));
  try {
    const open = await openDatabase({ file: join(folder, "try.db") });
    try {
      return versionOf(open.connection);
    } finally {
      open.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function versionOf(connection: { all<Row>(sql: string): Row[] }): string {
  return `SQLite ${connection.all<{ version: string }>("SELECT sqlite_version() AS version")[0]?.version ?? "?"}`;
}
