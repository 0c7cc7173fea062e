import { constants } from "node:fs";
import { access, stat, statfs, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { DEFAULT_MAX_DATABASE_BYTES } from "../../record/activity/sqlite-store.ts";
import { databaseFile, outputsFolder, stateFolder, undoFolder } from "../../app/config/state.ts";
import { openDatabase } from "../../record/db/database.ts";
import { all } from "../../record/db/work.ts";
import { DEFAULT_MAX_OUTPUT_BYTES } from "../../core/output/outputs.ts";
import { usedBytes } from "../../core/output/remove-old.ts";
import { formatSize } from "../../core/output/size.ts";
import { readLog } from "../../record/undo/log.ts";
import { DEFAULT_MAX_UNDO_BYTES, storeOf } from "../../record/undo/store.ts";
import { messageOf } from "../../core/util/errors.ts";
import { randomName } from "../../core/util/identifier.ts";
import { createPrivateFile } from "../../core/util/private-file.ts";
import { quoteWord } from "../../core/util/quote.ts";
import type { GlobalOptions } from "../options.ts";
import { type Check, type Finding, inTemporaryFolder } from "./check.ts";
import { settingsOf } from "./settings.ts";
import type { Io } from "../io.ts";

/** The least free space, in bytes. Below it, writing the record or saved outputs may soon fail. */
const LEAST_FREE = 100 * 1024 * 1024;

/** Checks what Handrail keeps: its folder, saved outputs, the record of calls, and what undo needs. */
export function state(options: GlobalOptions): readonly Check[] {
  const own = databaseFile(options.io.env);
  const checks: readonly Omit<Check, "group">[] = [
    {
      name: "state folder",
      required: true,
      fix: `mkdir -p -m 700 ${quoteWord(stateFolder(options.io.env))}`,
      run: () => folderOfState(options.io),
    },
    {
      name: "saved outputs",
      required: false,
      fix: `du -sh ${quoteWord(outputsFolder(stateFolder(options.io.env)))}`,
      run: () => savedOutputs(options),
    },
    {
      name: "database",
      required: true,
      fix: `mv ${quoteWord(own)} ${quoteWord(`${own}.broken`)}`,
      run: () => database(options),
    },
    { name: "undo", required: false, fix: "see docs/undo.md", run: () => undo(options) },
  ];
  return checks.map((check) => ({ ...check, group: "state" }));
}

/** The folder exists or can be created, only the user has access, it is writable, and there is free space. */
async function folderOfState(io: Io): Promise<Finding> {
  const folder = stateFolder(io.env);
  const there = await nearestThere(folder);
  if (!there.isFolder) {
    const fix = `mv ${quoteWord(there.path)} ${quoteWord(`${there.path}.old`)}`;
    return { status: "broken", detail: `${there.path} is not a folder`, fix };
  }
  if (there.path !== folder && !(await isWritable(there.path))) {
    const fix = `sudo install -d -m 700 -o "$(id -u)" ${quoteWord(folder)}`;
    return { status: "broken", detail: `${folder} cannot be created: ${there.path} is not writable`, fix };
  }
  if (there.path === folder && (there.mode & 0o077) !== 0) {
    const mode = (there.mode & 0o777).toString(8);
    const fix = `chmod 700 ${quoteWord(folder)}`;
    return { status: "broken", detail: `${folder} is open to others (mode ${mode})`, fix };
  }
  if (there.path === folder) await tryWriting(folder);
  const { bavail, bsize } = await statfs(there.path);
  const free = bavail * bsize;
  if (free < LEAST_FREE) {
    const fix = `df -h ${quoteWord(there.path)}`;
    return { status: "broken", detail: `only ${formatSize(free)} free in ${folder}`, fix };
  }
  const made = there.path === folder ? "" : ", made when it is needed";
  return { status: "ok", detail: `${folder} (${formatSize(free)} free${made})` };
}

/** Compares the size of the saved outputs with its limit. */
async function savedOutputs(options: GlobalOptions): Promise<Finding> {
  const folder = outputsFolder(stateFolder(options.io.env));
  const { state: limits } = await settingsOf(options);
  const { saved, live } = await usedBytes(folder);
  const most = formatSize(limits.outputs ?? DEFAULT_MAX_OUTPUT_BYTES);
  const running = live === 0 ? "" : `, and ${formatSize(live)} of commands and jobs whose session still runs`;
  return { status: "ok", detail: `${folder}: ${formatSize(saved)} of at most ${most}${running}` };
}

/** The engine works, its file, if any, is intact, and how much of its size limit is used. */
async function database(options: GlobalOptions): Promise<Finding> {
  const { store } = await settingsOf(options);
  if (store.includes("://")) return await server(store);
  const file = databaseFile(options.io.env);
  const size = await sizeOf(file);
  if (size === undefined) return { status: "ok", detail: `${await tryEngine()}; ${file} is created on first use` };
  const log = (await sizeOf(`${file}-wal`)) ?? 0; // read first: the last process to close removes it
  const open = await openDatabase({ file, patienceMs: 2_000 });
  try {
    const [found] = open.connection.all<{ quick_check: string }>("PRAGMA quick_check(1)");
    if (found?.quick_check !== "ok") throw new Error(`${file} is damaged: ${found?.quick_check ?? "no answer"}`);
    const { state: limits } = await settingsOf(options);
    const most = formatSize(limits.database ?? DEFAULT_MAX_DATABASE_BYTES);
    const beside = log === 0 ? "" : `, and ${formatSize(log)} of write-ahead log`;
    const used = `${formatSize(size)} of at most ${most}${beside}`;
    return { status: "ok", detail: `${versionOf(open.connection)}; ${file} is whole: ${used}` };
  } finally {
    open.close();
  }
}

/** The server answers, and has the tables of this version. */
async function server(url: string): Promise<Finding> {
  const { openPostgres } = await import("../../record/db/postgres.ts");
  const sql = await openPostgres(url).catch((error: unknown) => messageOf(error));
  if (typeof sql === "string") {
    const fix = sql.includes("store migrate") ? "handrail store migrate" : "see docs/operations.md";
    return { status: "broken", detail: sql, fix };
  }
  try {
    const [found] = await sql.read(() => all<{ version: string; events: number; bytes: number }>(ABOUT_SERVER));
    const { version = "?", events = 0, bytes = 0 } = found ?? {};
    const about = Math.max(0, events);
    return { status: "ok", detail: `PostgreSQL ${version} has the record: some ${about} events, ${formatSize(bytes)}` };
  } finally {
    await sql.close();
  }
}

const ABOUT_SERVER = `SELECT current_setting('server_version') AS version, reltuples::bigint AS events,
  pg_database_size(current_database()) AS bytes FROM pg_class WHERE oid = 'events'::regclass`;

/** Whether changes of tools in this folder can be undone, and how much space that takes. */
async function undo(options: GlobalOptions): Promise<Finding> {
  const settings = await settingsOf(options);
  if (settings.undo === "off") return { status: "ok", detail: "off in the configuration" };
  if (options.target !== undefined) return { status: "ok", detail: "off: it keeps files of this machine only" };
  const workDir = resolve(options.io.cwd, options.workDir ?? settings.tools.workDir ?? ".");
  const { path } = await storeOf({ folder: undoFolder(stateFolder(options.io.env)), workDir }, { make: false });
  const { bytes } = await readLog(path);
  const most = formatSize(settings.state.undo ?? DEFAULT_MAX_UNDO_BYTES);
  return { status: "ok", detail: `${workDir}: ${formatSize(bytes)} of at most ${most} in ${path}` };
}

/** Returns the folder, or the nearest existing folder above it. */
async function nearestThere(path: string): Promise<{ path: string; mode: number; isFolder: boolean }> {
  try {
    const info = await stat(path);
    return { path, mode: info.mode, isFolder: info.isDirectory() };
  } catch (error) {
    const isMissing =
      error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
    if (!isMissing || path === dirname(path)) throw error;
    return await nearestThere(dirname(path));
  }
}

async function isWritable(folder: string): Promise<boolean> {
  return await access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function tryWriting(folder: string): Promise<void> {
  const name = `.doctor-${randomName(8)}`;
  const file = await createPrivateFile(folder, name);
  try {
    await file.writeFile("ok\n");
  } finally {
    await file.close();
    await unlink(join(folder, name)).catch(() => undefined);
  }
}

async function sizeOf(file: string): Promise<number | undefined> {
  return (await stat(file).catch(() => undefined))?.size;
}

function tryEngine(): Promise<string> {
  return inTemporaryFolder(async (folder) => {
    const open = await openDatabase({ file: join(folder, "try.db") });
    try {
      return versionOf(open.connection);
    } finally {
      open.close();
    }
  });
}

function versionOf(connection: { all<Row>(sql: string): Row[] }): string {
  return `SQLite ${connection.all<{ version: string }>("SELECT sqlite_version() AS version")[0]?.version ?? "?"}`;
}
