import type { ThreadId } from "../contract/identity.ts";
import type { DatabaseConnection } from "../db/driver.ts";
import { type ProcessIdentity, livenessOf, thisProcess } from "../util/process-identity.ts";

/** The turns of this process that have not ended. */
const turns = new Set<string>();

/**
 * Takes a thread for a turn of this process. Returns false while a turn of a running process that is visible from here
 * holds it. Call it inside a transaction.
 */
export function takeThread(connection: DatabaseConnection, thread: ThreadId, turn: string): boolean {
  const [holder] = connection.all<ProcessIdentity & { readonly turn: string }>(
    `SELECT turn, host, boot, pid_namespace AS pidNamespace, pid, process_start AS processStart FROM taken_threads
     WHERE thread = ?`,
    [thread],
  );
  if (holder !== undefined && isHeld(holder)) return false;
  const { host, boot, pidNamespace, pid, processStart } = thisProcess();
  connection.run(
    `INSERT OR REPLACE INTO taken_threads (thread, turn, host, boot, pid_namespace, pid, process_start)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    [thread, turn, host, boot, pidNamespace, pid, processStart],
  );
  turns.add(turn);
  return true;
}

/** A turn of this process may have ended without being able to write that. */
function isHeld(holder: ProcessIdentity & { readonly turn: string }): boolean {
  return livenessOf(holder) === "alive" && (holder.pid !== process.pid || turns.has(holder.turn));
}

/** Marks a turn as ended: the thread is free for this process, even if `giveBack` cannot be written. */
export function endTurn(turn: string): void {
  turns.delete(turn);
}

/** Releases a thread that the turn holds. */
export function giveBack(connection: DatabaseConnection, thread: ThreadId, turn: string): void {
  connection.run("DELETE FROM taken_threads WHERE thread = ? AND turn = ?", [thread, turn]);
}
