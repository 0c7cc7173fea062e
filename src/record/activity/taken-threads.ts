import type { ThreadId } from "../../core/contract/identity.ts";
import { keyOf } from "./event-rows.ts";
import { type Dialect, silentProcesses } from "../db/dialect.ts";
import { type Work, all, lock, run } from "../db/work.ts";
import {
  type ProcessIdentity,
  identityText,
  livenessOf,
  thisProcess,
} from "../../machine/programs/process-identity.ts";

/** The turns of this process that have not ended. */
const turns = new Set<string>();

/**
 * Takes a thread for a turn of this process. Returns false while another turn has the thread, in a running process that
 * this process can see. Call it inside a transaction.
 */
export function* takeThread(dialect: Dialect, thread: ThreadId, turn: string): Work<boolean> {
  yield* lock(`thread ${keyOf(thread)}`);
  const [holder] = yield* all<ProcessIdentity & { readonly turn: string }>(
    `SELECT turn, host, boot, pid_namespace AS "pidNamespace", pid, process_start AS "processStart" FROM taken_threads
     WHERE thread = ?`,
    [keyOf(thread)],
  );
  if (holder !== undefined && holder.turn !== turn && (yield* isHeld(dialect, holder))) return false;
  const { host, boot, pidNamespace, pid, processStart } = thisProcess();
  yield* run(
    `INSERT INTO taken_threads (thread, turn, host, boot, pid_namespace, pid, process_start)
     VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (thread) DO UPDATE SET turn = excluded.turn, host = excluded.host, boot = excluded.boot,
       pid_namespace = excluded.pid_namespace, pid = excluded.pid, process_start = excluded.process_start`,
    [keyOf(thread), turn, host, boot, pidNamespace, pid, processStart],
  );
  turns.add(turn);
  return true;
}

/**
 * A turn of this process may have ended without being able to record its end. A process of another machine is alive
 * while it reports to the server; without a server, turns do not wait for such a process.
 */
function* isHeld(dialect: Dialect, holder: ProcessIdentity & { readonly turn: string }): Work<boolean> {
  const liveness = livenessOf(holder);
  if (liveness !== "unknown") return liveness === "alive" && (holder.pid !== process.pid || turns.has(holder.turn));
  return dialect.silent !== undefined && !(yield* silentProcesses(dialect)).has(identityText(holder));
}

/** Marks a turn as ended: the thread is free for this process, even if `giveBack` cannot be written. */
export function endTurn(turn: string): void {
  turns.delete(turn);
}

/** Releases a thread that the turn holds. */
export function* giveBack(thread: ThreadId, turn: string): Work<void> {
  yield* run("DELETE FROM taken_threads WHERE thread = ? AND turn = ?", [keyOf(thread), turn]);
}
