import { readFile, readdir } from "node:fs/promises";
import { platform } from "node:process";
import type { Check } from "./check.ts";

const FIX = "mount -t proc proc /proc";

/**
 * Checks what is known of running processes. It is used to find and stop children that have left their process group.
 */
export const processes: Check = {
  name: "/proc",
  required: platform === "linux",
  fix: FIX,
  async run() {
    if (platform !== "linux")
      return { status: "ok", detail: "not on this system: child processes are found by their process group" };
    const entries = await readdir("/proc").catch((): string[] => []);
    if (!entries.includes(String(process.pid))) {
      return { status: "missing", detail: "this process is not listed in it", fix: FIX };
    }
    const environment = await readFile(`/proc/${process.pid}/environ`);
    const status = await readFile(`/proc/${process.pid}/stat`, "utf8");
    if (environment.length === 0 || !status.startsWith(`${process.pid} (`)) {
      return { status: "broken", detail: "it has no environment or status of this process", fix: FIX };
    }
    return { status: "ok", detail: "readable" };
  },
};
