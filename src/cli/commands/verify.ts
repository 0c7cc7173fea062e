import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type AskOne, type Verified, verifyRecord } from "../../record/activity/verify.ts";
import { databaseFile } from "../../app/config/state.ts";
import { type Value, loadEngine } from "../../record/db/driver.ts";
import { inOneState } from "../../record/db/postgres.ts";
import type { SealLink } from "../../record/db/seals.ts";
import { plural } from "../../core/util/text.ts";
import { EXIT } from "../exit.ts";
import type { GlobalOptions } from "../options.ts";
import { say } from "../say.ts";
import { settingsFrom } from "../settings.ts";

export interface VerifyOptions extends GlobalOptions {
  readonly store?: string;
  readonly head?: string;
}

/**
 * Compares a record with its seals, and prints what it read and the newest seal. Changes nothing. Exit code 1 when
 * something is not as it was recorded.
 *
 * @throws Error when the record cannot be read, has no seals, or `head` is not one.
 */
export async function run({ store: named, head, ...options }: VerifyOptions): Promise<number> {
  const anchor = head === undefined ? undefined : linkOf(head);
  const { store: own } = await settingsFrom(options);
  const store = named ?? own;
  if (store === "memory") throw new Error("the configuration has store: memory, which keeps nothing to verify");
  const verified = /^postgres(ql)?:/.test(store)
    ? await inOneState(store, (ask) => verifyRecord(ask, anchor))
    : await verifyFile(
        store === "sqlite" ? databaseFile(options.io.env) : resolve(options.io.cwd, store.replace(/^sqlite:/, "")),
        anchor,
      );
  for (const line of linesOf(verified)) say(options.io, line);
  return verified.fault === undefined ? EXIT.ok : EXIT.notSucceeded;
}

function linkOf(head: string): SealLink {
  const [, first, hash] = /^(\d+):([\w-]{43})$/.exec(head) ?? [];
  if (first === undefined || hash === undefined)
    throw new Error(`--head ${head}: expected NUMBER:HASH, as verify printed it`);
  return [Number(first), hash];
}

async function verifyFile(file: string, anchor: SealLink | undefined): Promise<Verified> {
  if (!existsSync(file)) throw new Error(`${file} does not exist: name the handrail.db of a state folder`);
  const connection = (await loadEngine())(file);
  try {
    connection.exec("PRAGMA busy_timeout = 10000; BEGIN"); // one state of the file
    const sealed = connection.all("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'seals'");
    if (sealed.length === 0) throw new Error(`${file} has no seals: it is not a record, or an older Handrail made it`);
    const ask: AskOne = async <Row extends object>(sql: string, values: readonly Value[] = []) =>
      connection.all<Row>(sql, values);
    return await verifyRecord(ask, anchor);
  } finally {
    connection.close();
  }
}

function linesOf({ events, seals, removed, unsealed, checkpoint, head, fault }: Verified): readonly string[] {
  return [
    `Read ${plural(events, "event")} in ${plural(seals, "seal")}.`,
    ...(unsealed > 0 ? [`${plural(unsealed, "older event")} without a seal: recorded before there were seals.`] : []),
    ...(removed > 0 ? [`Retention has removed the events of ${plural(removed, "call")} from these seals.`] : []),
    ...(checkpoint ? [`Retention has removed everything up to the seal ${checkpoint.join(":")}.`] : []),
    ...(fault === undefined ? ["Nothing was changed, removed, added or moved."] : [`BROKEN: ${fault}.`]),
    ...(head && fault === undefined ? [`Head: ${head.join(":")}`] : []),
  ];
}
