import { readFileSync } from "node:fs";

/** When a process began, in the system's own count (field 22 in proc(5)), since its number may be another's later; "" when it does not live. */
export function startOf(pid: number): string {
  if (process.platform !== "linux") return isThere(pid) ? "there" : "";
  try {
    const line = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
    return /[ZX]/.test(fields[0] ?? "Z") ? "" : (fields[19] ?? "");
  } catch {
    return "";
  }
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
