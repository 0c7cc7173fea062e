import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { codeOf } from "../util/errors.ts";
import { processStatus } from "../util/process-status.ts";

/** Names one process for ever: process ids are used again, also by the same program. */
export interface ProcessIdentity {
  readonly host: string;
  /** Of this start of the system; "" where the system does not say. */
  readonly boot: string;
  /** Process ids mean something within it alone (containers have their own); "" where the system has none. */
  readonly pidNamespace: string;
  readonly pid: number;
  /** When it started, in the words of its system. */
  readonly processStart: string;
}

/** "unknown": a process of another host or container, which cannot be seen from here. */
export type Liveness = "alive" | "dead" | "unknown";

let own: ProcessIdentity | undefined;

/** This process. Costs some reads of /proc the first time; elsewhere a run of ps. */
export function thisProcess(): ProcessIdentity {
  own ??= { ...whereWeAre(), pid: process.pid, processStart: startOf(process.pid)?.start ?? "" };
  return own;
}

/** Whether a process that wrote its identity down is still there. "dead" is certain; what is not is "alive" or "unknown". */
export function livenessOf(other: ProcessIdentity): Liveness {
  const here = thisProcess();
  if (other.host !== here.host) return "unknown";
  if (other.boot !== here.boot) return "dead";
  if (other.pidNamespace !== here.pidNamespace) return "unknown";
  if (!exists(other.pid)) return "dead";
  const found = startOf(other.pid);
  if (found === undefined || other.processStart === "") return "alive";
  return found.ended || found.start !== other.processStart ? "dead" : "alive";
}

/**
 * When a process started, and whether it has ended and only waits for its parent; `undefined` when that cannot be told. From
 * /proc/PID/stat (fields 22 and 3, proc(5)), in clock ticks since the system started.
 */
function startOf(pid: number): { readonly start: string; readonly ended: boolean } | undefined {
  if (!existsSync("/proc/self/stat")) return startByPs(pid);
  return processStatus(pid);
}

/** The same from ps, for systems without /proc: the date it started, to the second. */
export function startByPs(pid: number): { readonly start: string; readonly ended: boolean } | undefined {
  const { status, stdout } = spawnSync("ps", ["-o", "state=,lstart=", "-p", String(pid)], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], LC_ALL: "C", TZ: "UTC" },
    timeout: 5_000,
  });
  const [, state = "", start] = /^\s*(\S+)\s+(.+?)\s*$/.exec(status === 0 ? stdout : "") ?? [];
  return start === undefined ? undefined : { start, ended: /^[ZX]/.test(state) };
}

function whereWeAre(): Pick<ProcessIdentity, "host" | "boot" | "pidNamespace"> {
  return {
    host: hostname(),
    boot: told(() => readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim()),
    pidNamespace: told(() => readlinkSync("/proc/self/ns/pid")),
  };
}

function told(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) !== "ESRCH"; // EPERM: it is there, and somebody else's
  }
}
