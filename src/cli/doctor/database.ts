import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { databaseFile } from "../../config/state.ts";
import { openDatabase } from "../../db/database.ts";
import { formatSize } from "../../output/size.ts";
import { quoteWord } from "../../util/shell.ts";
import type { Check } from "./check.ts";

/** The record of calls: its engine works, and the file, where there is one, is whole. */
export const database: Check = {
  name: "database",
  required: true,
  fix: `mv ${quoteWord(databaseFile())} ${quoteWord(`${databaseFile()}.broken`)}`,
  async run() {
    const file = databaseFile();
    const there = await stat(file).catch(() => undefined);
    if (there === undefined) return { status: "ok", detail: `${await tryEngine()}; ${file} is made when it is needed` };
    const open = await openDatabase({ file, patienceMs: 2_000 });
    try {
      const [found] = open.connection.all<{ quick_check: string }>("PRAGMA quick_check(1)");
      if (found?.quick_check !== "ok") throw new Error(`${file} is damaged: ${found?.quick_check ?? "no answer"}`);
      return { status: "ok", detail: `${versionOf(open.connection)}; ${file} is whole (${formatSize(there.size)})` };
    } finally {
      open.close();
    }
  },
};

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
