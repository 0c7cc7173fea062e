import { type Compilable, DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import type { DatabaseConnection, Value } from "./driver.ts";
import type { Schema } from "./schema.ts";

/**
 * Builds typed statements for the tables. It runs nothing: `rows` and `changes` do, since work on SQLite is synchronous
 * (database.ts). Import this file where it is used (`await import`): it takes 10 ms to load, which the command line
 * saves.
 */
export const builder = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (database) => new SqliteIntrospector(database),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

/** Runs a built statement. Returns its rows. */
export function rows<Row>(connection: DatabaseConnection, query: Compilable<Row>): Row[] {
  const { sql, parameters } = query.compile();
  return connection.all<Row>(sql, parameters as readonly Value[]);
}

/** Runs a built statement. Returns how many rows it changed. */
export function changes(connection: DatabaseConnection, query: Compilable): number {
  const { sql, parameters } = query.compile();
  return connection.run(sql, parameters as readonly Value[]).changes;
}
