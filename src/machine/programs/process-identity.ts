import { existsSync, readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { codeOf, tried } from "../../core/util/errors.ts";
import { processStatus } from "../../core/util/process-status.ts";
import { runProgramSync } from "./start.ts";

/** Identifies a process uniquely, since process ids are reused. */
export interface ProcessIdentity {
  readonly host: string;
  /** The boot id of the system; "" if unknown. */
  readonly boot: string;
  /** The PID namespace, since containers have their own ids; "" if the system has none. */
  readonly pidNamespace: string;
  readonly pid: number;
  /** Its start time, in the system's own format. */
  readonly processStart: string;
}

/** "unknown": a process of another host or container, which is not visible from here. */
export type Liveness = "alive" | "dead" | "unknown";

let own: ProcessIdentity | undefined;

/** The identity of this process. Takes some reads of /proc the first time; without /proc a run of ps. */
export function thisProcess(): ProcessIdentity {
  own ??= { ...whereWeAre(), pid: process.pid, processStart: startOf(process.pid)?.start ?? "" };
  return own;
}

/** The identity as text, always in the same form. */
export function identityText({ host, boot, pidNamespace, pid, processStart }: ProcessIdentity): string {
  return JSON.stringify({ host, boot, pidNamespace, pid, processStart });
}

/** Whether a process with this identity still runs. "dead" is certain; any doubt gives "alive" or "unknown". */
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
 * When a process started, and whether it is a zombie; `undefined` if unknown. From /proc/PID/stat (fields 22 and 3,
 * proc(5)), in clock ticks since boot.
 */
function startOf(pid: number): { readonly start: string; readonly ended: boolean } | undefined {
  if (!existsSync("/proc/self/stat")) return startByPs(pid);
  return processStatus(pid);
}

/** The same from ps, for systems without /proc: the start date, to the second. */
export function startByPs(pid: number): { readonly start: string; readonly ended: boolean } | undefined {
  const { code, stdout } = runProgramSync(["ps", "-o", "state=,lstart=", "-p", String(pid)], 5_000);
  const [, state = "", start] = /^\s*(\S+)\s+(.+?)\s*$/.exec(code === 0 ? stdout : "") ?? [];
  return start === undefined ? undefined : { start, ended: /^[ZX]/.test(state) };
}

function whereWeAre(): Pick<ProcessIdentity, "host" | "boot" | "pidNamespace"> {
  return {
    host: hostname(),
    boot: tried(() => readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim()) ?? "",
    pidNamespace: tried(() => readlinkSync("/proc/self/ns/pid")) ?? "",
  };
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) !== "ESRCH"; // EPERM: it runs, under another user
  }
}
