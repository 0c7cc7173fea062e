import { createRequire } from "node:module";

/** The functions of libsql's binary that are used here, as its own index.js calls them. */
interface Native {
  databaseOpen(file: string, token: string, cipher: string, key: string, timeout: number, remoteKey: string): object;
  databaseExecSync(this: object, script: string): void;
  databasePrepareSync(this: object, sql: string): object;
  databaseClose(this: object): void;
  statementRun(this: object, parameters: readonly unknown[]): { changes: number; lastInsertRowid: number };
  statementRowsSync(this: object, parameters: readonly unknown[]): object;
  rowsNext(this: object, into: unknown[]): void;
}

const FUNCTIONS: readonly (keyof Native)[] = [
  "databaseOpen",
  "databaseExecSync",
  "databasePrepareSync",
  "databaseClose",
  "statementRun",
  "statementRowsSync",
  "rowsNext",
];

/** How many rows are read at a time. */
const BATCH = 100;

/** A database as libsql's class of that name makes one, as far as it is used here. */
export interface LibsqlDatabase {
  exec(script: string): void;
  prepare(sql: string): {
    all(parameters: readonly unknown[]): unknown[];
    run(parameters: readonly unknown[]): { readonly changes: number; readonly lastInsertRowid: number };
  };
  close(): void;
}

/**
 * Loads libsql's binary without its JavaScript, which takes 20 ms to find the binary: a fifth of a start of the command
 * line. `undefined` if the package has another structure than expected; then it is loaded in the usual way.
 */
export function nativeLibsql(): ((file: string) => LibsqlDatabase) | undefined {
  const native = load();
  if (native === undefined) return undefined;
  return (file) => {
    const database = native.databaseOpen(file, "", "aes256cbc", "", 0, "");
    return {
      exec: (script) => native.databaseExecSync.call(database, script),
      prepare(sql) {
        const statement = native.databasePrepareSync.call(database, sql);
        return {
          all: (parameters) => allOf(native, native.statementRowsSync.call(statement, parameters)),
          run: (parameters) => native.statementRun.call(statement, parameters),
        };
      },
      close: () => native.databaseClose.call(database),
    };
  };
}

function allOf(native: Native, rows: object): unknown[] {
  const found: unknown[] = [];
  for (;;) {
    const batch = Array.from<unknown>({ length: BATCH });
    native.rowsNext.call(rows, batch);
    const end = batch.findIndex((row) => row === undefined || row === null);
    found.push(...(end === -1 ? batch : batch.slice(0, end)));
    if (end !== -1) return found;
  }
}

function load(): Native | undefined {
  try {
    const fromLibsql = createRequire(createRequire(import.meta.url).resolve("libsql"));
    for (const target of targets()) {
      const native = loadFrom(fromLibsql, `@libsql/${target}`);
      if (native !== undefined) return native;
    }
  } catch {
    // libsql itself is not there: importing it says so
  }
  return undefined;
}

function loadFrom(require: NodeJS.Require, name: string): Native | undefined {
  try {
    const native = require(name) as Native;
    return FUNCTIONS.every((each) => typeof native[each] === "function") ? native : undefined;
  } catch {
    return undefined; // not installed, or for another C library
  }
}

/** The packages with a binary for this system. Only the one for the installed C library can be loaded. */
function targets(): readonly string[] {
  const { platform, arch } = process;
  if (platform === "darwin") return [`darwin-${arch}`];
  if (platform === "win32") return [`win32-${arch}-msvc`];
  return arch === "arm" ? ["linux-arm-gnueabihf", "linux-arm-musleabihf"] : [`linux-${arch}-gnu`, `linux-${arch}-musl`];
}
