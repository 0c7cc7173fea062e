import { describe, expect, test } from "vitest";
import { postgresStore } from "../../src/activity/postgres-store.ts";
import { urlOfTenant } from "../../src/config/state.ts";
import { inOneTransaction } from "../../src/db/postgres.ts";
import { mustBeHere } from "../support/here.ts";
import { postgresProblem, postgresServer } from "../support/postgres.ts";
import { tenantTests } from "./tenants.ts";

const problem = postgresProblem();
mustBeHere("PostgreSQL", problem);

describe.skipIf(problem !== undefined)("tenants with schemas of their own in one database", async () => {
  if (problem !== undefined) return;
  const server = await postgresServer();
  let scenes = 0;

  tenantTests(async (tenant) => {
    if (tenant === "none") scenes += 1;
    const url = urlOfTenant(await server.create(`scene${scenes}`), tenant === "none" ? undefined : tenant);
    await inOneTransaction(url, async () => {});
    return postgresStore({ url });
  });

  test("a tenant whose tables are missing is told how to make them", async () => {
    const store = postgresStore({ url: urlOfTenant(await server.create("fresh"), "acme") });
    await expect(store.threads()).rejects.toThrow(/schema handrail_acme has no tables .*: handrail store migrate/);
  });
});
