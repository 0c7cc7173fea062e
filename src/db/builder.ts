import { type Compilable, DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import type { Value } from "./driver.ts";
import type { Schema } from "./schema.ts";
import { type Work, all, counted } from "./work.ts";

/**
 * Builds typed statements for the tables, in what both databases understand. It runs nothing: `rows` and `changes` make
 * work (work.ts) for either database. Import this file where it is used (`await import`): it takes 10 ms to load, which
 * the command line saves.
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
export function rows<Row>(query: Compilable<Row>): Work<Row[]> {
  const { sql, parameters } = query.compile();
  return all<Row>(sql, parameters as readonly Value[]);
}

/** Runs a built statement. Returns how many rows it changed. */
export function changes(query: Compilable): Work<number> {
  const { sql, parameters } = query.compile();
  return counted(sql, parameters as readonly Value[]);
}
