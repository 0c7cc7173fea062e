import { describe } from "vitest";
import { mustBeHere } from "../../support/here.ts";
import { postgresProblem, postgresServer } from "../../support/postgres.ts";
import { recallCases } from "./recall-cases.ts";

const problem = postgresProblem();
mustBeHere("PostgreSQL", problem);

describe.skipIf(problem !== undefined)("memories on PostgreSQL", async () => {
  if (problem !== undefined) return;
  const server = await postgresServer();
  recallCases(async (count) => ({ url: await server.create(`among-${count}`) }));
});
