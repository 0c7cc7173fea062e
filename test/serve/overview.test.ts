import { join } from "node:path";
import { sqliteStore } from "../../src/record/activity/sqlite-store.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { overviewTests } from "./overviews.ts";

const folder = temporaryFolder();
let stores = 0;
overviewTests(async () => sqliteStore({ file: join(folder, String(++stores), "handrail.db") }), 60);
