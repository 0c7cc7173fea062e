import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type SqliteStoreOptions, sqliteStore } from "../../src/activity/sqlite-store.ts";
import type { ActivityEvent, Store } from "../../src/contract/activity.ts";
import { type Connection, loadEngine } from "../../src/db/driver.ts";
import { temporaryFolder } from "../support/workspace.ts";

/** Where a database may be made, with its folder. */
export const newFile = () => join(temporaryFolder(), "state", "handrail.db");

/** A store that is closed with the test, whatever comes of it. */
export function storeOn(file: string, options: Partial<SqliteStoreOptions> = {}): Store {
  const store = sqliteStore({ file, ...options });
  onTestFinished(() => store.close().catch(() => {}));
  return store;
}

/** The same file as another program sees it. */
export async function besides(file: string): Promise<Connection> {
  const connection = (await loadEngine())(file);
  onTestFinished(() => connection.close());
  return connection;
}

/** A call has begun. */
export const started = (call: string) => {
  return { call, thread: "main", at: Date.now(), type: "call.started", name: "bash", input: {} } as const;
};

/** An event with so many characters in it. */
export const heavy = (call: string, length: number): ActivityEvent => {
  return { call, thread: "main", at: Date.now(), type: "call.finished", status: "ok", data: "x".repeat(length) };
};

export const callsOf = (events: readonly { readonly call?: string | undefined }[]) =>
  events.map(({ call = "" }) => call);
