import { join } from "node:path";
import { libsqlEngine, nodeEngine } from "../../../src/record/db/driver.ts";
import { temporaryFolder } from "../../support/workspace.ts";
import { recallCases } from "./recall-cases.ts";

const engine = nodeEngine() ?? (await libsqlEngine());
recallCases(async () => ({ file: join(temporaryFolder(), "memory.db"), engine }));
