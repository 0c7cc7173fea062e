import { join } from "node:path";
import { expect, test } from "vitest";
import { sqliteStore } from "../../src/record/activity/sqlite-store.ts";
import { loadEngine } from "../../src/record/db/driver.ts";
import { commandLine } from "./program.ts";

test("serve on the database of a newer version says so and ends", async () => {
  const line = await commandLine();
  const file = join(line.stateHome, "handrail", "handrail.db");
  const store = sqliteStore({ file });
  await store.commit({ type: "stop.requested", thread: "main", at: 1, by: "test" });
  await store.close();
  const database = (await loadEngine())(file);
  database.exec("PRAGMA user_version = 999");
  database.close();
  const ended = await line.run(["serve", "--port", "0"]);
  expect(ended).toMatchObject({
    stdout: "",
    stderr: expect.stringContaining("was made by a newer Handrail") as string,
  });
  expect(ended.code).not.toBe(0);
});
