import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type SqliteStoreOptions, sqliteStore } from "../../../src/record/activity/sqlite-store.ts";
import type { ActivityEvent, Store } from "../../../src/core/contract/activity.ts";
import { type DatabaseConnection, loadEngine } from "../../../src/record/db/driver.ts";
import { temporaryFolder } from "../../support/workspace.ts";

/** Returns a path where a database and its folder can be created. */
export const newFile = () => join(temporaryFolder(), "state", "handrail.db");

/** Opens a store that is closed at the end of the test. */
export function storeOn(file: string, options: Partial<SqliteStoreOptions> = {}): Store {
  const store = sqliteStore({ file, ...options });
  onTestFinished(() => store.close().catch(() => {}));
  return store;
}

/** Opens the same file like another program. */
export async function besides(file: string): Promise<DatabaseConnection> {
  const connection = (await loadEngine())(file);
  onTestFinished(() => connection.close());
  return connection;
}

/** An event that starts a call. */
export const started = (call: string) => {
  return { call, thread: "main", at: Date.now(), type: "call.started", name: "bash", input: {} } as const;
};

/** An event with this many characters. */
export const heavy = (call: string, length: number): ActivityEvent => {
  return { call, thread: "main", at: Date.now(), type: "call.finished", status: "ok", data: "x".repeat(length) };
};

export const callsOf = (events: readonly { readonly call?: string | undefined }[]) =>
  events.map(({ call = "" }) => call);
