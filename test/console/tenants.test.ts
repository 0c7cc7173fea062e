import { join } from "node:path";
import { describe } from "vitest";
import { sqliteStore } from "../../src/activity/sqlite-store.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { tenantTests } from "./tenants.ts";

describe("tenants with files of their own", () => {
  tenantTests(async () => sqliteStore({ file: join(temporaryFolder(), "handrail.db"), lookMs: 15 }));
});
