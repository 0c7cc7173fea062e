import { describe } from "vitest";
import { mustBeHere } from "../../support/here.ts";
import { postgresProblem, postgresServer } from "../../support/postgres.ts";
import { scheduleCases } from "./schedule-cases.ts";

const problem = postgresProblem();
mustBeHere("PostgreSQL", problem);

describe.skipIf(problem !== undefined)("schedules on PostgreSQL", { timeout: 60_000 }, async () => {
  if (problem !== undefined) return;
  const server = await postgresServer();
  let databases = 0;
  scheduleCases(async () => ({ file: "none", url: await server.create(`schedules-${++databases}`) }));
});
