import { type Compilable, DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import type { Connection, Value } from "./driver.ts";
import type { Schema } from "./schema.ts";

/**
 * Builds typed statements for the tables; `rows` and `changes` run them. It runs nothing itself: work on SQLite is synchronous
 * (database.ts). Import this file where it is used (`await import`): it costs 10 ms, which a call on the command line can do without.
 */
export const builder = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (database) => new SqliteIntrospector(database),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

/** The rows that a built statement gives. */
export function rows<Row>(connection: Connection, query: Compilable<Row>): Row[] {
  const { sql, parameters } = query.compile();
  return connection.all<Row>(sql, parameters as readonly Value[]);
}

/** How many rows a built statement has changed. */
export function changes(connection: Connection, query: Compilable): number {
  const { sql, parameters } = query.compile();
  return connection.run(sql, parameters as readonly Value[]).changes;
}
