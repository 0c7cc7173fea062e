import { messageOf } from "../../core/util/errors.ts";

/** A parameter of a statement. SQLite returns a text that contains NUL truncated, so do not store such text. */
export type Value = string | number | null;

/** An open database file. All methods are synchronous, and throw the engine's own errors (see failure.ts). */
export interface DatabaseConnection {
  /** Runs a statement. Returns its rows. */
  all<Row>(sql: string, parameters?: readonly Value[]): Row[];
  /** Runs a statement that returns no rows. */
  run(sql: string, parameters?: readonly Value[]): { readonly changes: number; readonly lastId: number };
  /** Runs statements without parameters. */
  exec(script: string): void;
  /** Closing it again does nothing. */
  close(): void;
}

/** Opens a file as a database. Throws if that fails. */
export type Engine = (file: string) => DatabaseConnection;

/** What node:sqlite and libsql (which follows better-sqlite3) have in common. */
interface NativeDatabase {
  exec(script: string): unknown;
  prepare(sql: string): NativeStatement;
  close(): unknown;
}

interface NativeStatement {
  all(...parameters: unknown[]): unknown[];
  run(...parameters: unknown[]): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint };
}

type Bind = (parameters: readonly Value[]) => unknown[];

/** Loads Node's own SQLite (22.13 and newer), else that of the package libsql. @throws Error if there is neither. */
export async function loadEngine(): Promise<Engine> {
  return nodeEngine() ?? (await libsqlEngine());
}

/**
 * As `loadEngine`, but with full-text search (FTS5). Node's own engine has it since 22.16, and not in every build.
 *
 * @throws Error like `loadEngine`.
 */
export async function loadTextEngine(): Promise<Engine> {
  const engine = nodeEngine();
  return engine !== undefined && hasTextSearch(engine) ? engine : await libsqlEngine();
}

function hasTextSearch(engine: Engine): boolean {
  const connection = engine(":memory:");
  const found = connection.all("SELECT 1 FROM pragma_compile_options WHERE compile_options = 'ENABLE_FTS5'");
  connection.close();
  return found.length > 0;
}

/** Node's own engine; `undefined` on a Node that has none. */
export function nodeEngine(): Engine | undefined {
  const sqlite = withoutSqliteWarning(() => process.getBuiltinModule?.("node:sqlite")) as
    | { readonly DatabaseSync: new (file: string) => NativeDatabase }
    | undefined;
  if (sqlite === undefined) return undefined;
  return (file) =>
    connectionOf(new sqlite.DatabaseSync(file), (parameters) => {
      return [...parameters];
    });
}

/**
 * The engine of the package libsql, which brings a binary for the common systems.
 *
 * @throws Error when the package or its binary is not installed.
 */
export async function libsqlEngine(): Promise<Engine> {
  const { default: Database } = await import("libsql").catch((error: unknown) => {
    throw notLoaded(error);
  });
  // A list as the only argument: a lone null would be taken for named parameters.
  return (file) => connectionOf(new Database(file), (parameters) => [[...parameters]]);
}

/** Creates the error for the package libsql, or the package with its binary for this system, that does not load. */
export function notLoaded(error: unknown): Error {
  const [why = ""] = messageOf(error).split("\n"); // the lines below are a stack
  const install = why.includes("@libsql/")
    ? "install the optional packages too: npm install --include=optional"
    : "install it: npm install libsql";
  return new Error(
    `no SQLite engine: Node ${process.versions.node} has none (22.13 and newer do), and the package libsql does not ` +
      `load (${why}). Use a newer Node, or ${install}`,
    { cause: error },
  );
}

/** How many compiled statements are cached. Beyond this number, all of them are dropped. */
const MAX_STATEMENTS = 64;

function connectionOf(database: NativeDatabase, bind: Bind): DatabaseConnection {
  const statements = new Map<string, NativeStatement>();
  let isOpen = true;
  const prepare = (sql: string) => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    if (statements.size >= MAX_STATEMENTS) statements.clear();
    const statement = database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  return {
    all: <Row>(sql: string, parameters: readonly Value[] = []) => prepare(sql).all(...bind(parameters)) as Row[],
    run(sql, parameters = []) {
      const { changes, lastInsertRowid } = prepare(sql).run(...bind(parameters));
      return { changes: Number(changes), lastId: Number(lastInsertRowid) };
    },
    exec: (script) => void database.exec(script),
    close() {
      statements.clear(); // libsql releases the file when the last statement is collected
      if (isOpen) database.close();
      isOpen = false;
    },
  };
}

/** Node 22 and 23 warn that node:sqlite is experimental; the used part of it is stable. Other warnings are shown. */
function withoutSqliteWarning<T>(load: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error, ...rest: never[]) => {
    if (!messageOf(warning).startsWith("SQLite is an experimental feature")) emitWarning(warning, ...rest);
  };
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}
