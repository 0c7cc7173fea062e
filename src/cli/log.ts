import { closeSync, constants, fstatSync, openSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import type { ActivityEvent, ActivityEventType, Store } from "../core/contract/activity.ts";
import type { CallId } from "../core/contract/identity.ts";
import { asJson, boundJson } from "../core/call/bound-json.ts";
import { createMask } from "../core/output/mask.ts";
import { messageOf } from "../core/util/errors.ts";
import type { Io } from "./io.ts";

/**
 * The debug log of one run of the program: JSON objects, one per line, appended to a file. Each has `time` (ISO 8601),
 * `level`, `pid` and `what`. Secrets are masked. Longer lines are cut to about 50 KB.
 */
export interface DebugLog {
  /** Absolute. */
  readonly path: string;
  /** Appends a line. Never throws: a line that cannot be written is lost. */
  write(level: LogLevel, what: string, details?: object): void;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

/**
 * Opens the file. Creates it with mode 0600 if it does not exist.
 *
 * @throws Error that names the file when it cannot be written or is not a regular file.
 */
export function openLog(io: Io, file: string): DebugLog {
  const path = resolve(io.cwd, file);
  const descriptor = opened(path);
  const mask = createMask(io.env);
  return {
    path,
    write(level, what, details = {}) {
      try {
        const { at = Date.now(), ...rest } = details as { readonly at?: number };
        const bounded = boundJson(asJson(mask.json(rest)) ?? null, "head") as object;
        const line = { time: new Date(at).toISOString(), level, pid: process.pid, what, ...bounded };
        writeSync(descriptor, `${JSON.stringify(line)}\n`);
      } catch {
        // a full disk must not disturb the program
      }
    },
  };
}

function opened(path: string): number {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, HOW, 0o600);
    if (fstatSync(descriptor).isFile()) return descriptor;
    throw new Error("it is not a regular file");
  } catch (error) {
    if (descriptor !== undefined) closeSync(descriptor);
    throw new Error(
      `the log file ${path} cannot be written: ${messageOf(error)}. Name another with --log-file, or log_file ` +
        "in the configuration",
      { cause: error },
    );
  }
}

/** Without O_NONBLOCK, opening a FIFO would block. */
const HOW = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

/**
 * Returns a store that also logs its events and its failures. Omits messages, live output and the data of results,
 * which the store contains.
 */
export function loggedStore(store: Store, log: DebugLog): Store {
  const startedMs = new Map<CallId, number>();

  const logEvent = (event: ActivityEvent) => {
    if (isOmitted(event)) return;
    if (event.type === "call.finished") {
      const { type, data: _, ...rest } = event;
      const ms = event.at - (startedMs.get(event.call) ?? event.at);
      startedMs.delete(event.call);
      return log.write(event.status === "ok" ? "info" : "warn", type, { ...rest, ms });
    }
    const { type, ...rest } = event;
    if (event.type === "call.started") startedMs.set(event.call, event.at);
    log.write(LEVELS[type], type, rest);
  };

  const fail = (error: unknown): never => {
    log.write("error", "store.failed", { message: messageOf(error) });
    throw error;
  };

  return {
    append(event) {
      logEvent(event);
      try {
        store.append(event);
      } catch (error) {
        fail(error);
      }
    },
    async commit(event) {
      logEvent(event);
      await store.commit(event).catch(fail);
    },
    events: (options) => store.events(options),
    threads: () => store.threads(),
    ...(store.tails && { tails: store.tails.bind(store) }),
    search: (options) => store.search(options),
    questions: () => store.questions(),
    answer: (question, approval, by) => store.answer(question, approval, by).catch(fail),
    park: (...parking) => store.park(...parking).catch(fail),
    parked: (filter) => store.parked(filter),
    move: (call, move) => store.move(call, move).catch(fail),
    attend: () => store.attend().catch(fail),
    isAttended: () => store.isAttended(),
    takeThread: (thread, signal) => store.takeThread(thread, signal),
    jobs: () => store.jobs(),
    ...(store.health && { health: store.health.bind(store) }),
    ...(store.workers !== undefined && { workers: store.workers }),
    ...(store.url !== undefined && { url: store.url }),
    close: () => store.close().catch(fail),
  };
}

/** Messages and live output. */
const OMITTED = [
  "call.updated",
  "message.added",
  "message.offered",
  "input.requested",
  "job.watched",
  "job.output",
] as const;
type Omitted = (typeof OMITTED)[number];

function isOmitted(event: ActivityEvent): event is Extract<ActivityEvent, { type: Omitted }> {
  return (OMITTED as readonly string[]).includes(event.type);
}

const LEVELS: {
  readonly [type in Exclude<ActivityEventType, Omitted | "call.finished">]: LogLevel;
} = {
  "thread.created": "info",
  "call.started": "debug",
  "call.approved": "debug",
  "approval.requested": "info",
  "approval.decided": "info",
  "call.hooked": "info",
  "call.parked": "info",
  "call.delivered": "debug",
  "call.taken": "info",
  "stop.requested": "info",
  "turn.ended": "info",
  "activity.updated": "debug",
  "job.started": "info",
  "job.ended": "info",
  "port.requested": "info",
  "port.opened": "info",
  "sandbox.refused": "warn",
  "sandbox.alarmed": "warn",
};
