import { readFile, readdir } from "node:fs/promises";
import { platform } from "node:process";
import type { Check } from "./check.ts";

const FIX = "mount -t proc proc /proc";

/** What is known of running processes: a child that left its group is found by it, and stopped with its command. */
export const processes: Check = {
  name: "/proc",
  required: platform === "linux",
  fix: FIX,
  async run() {
    if (platform !== "linux") return { status: "ok", detail: "not on this system: children are found by their group" };
    const entries = await readdir("/proc").catch((): string[] => []);
    if (!entries.includes(String(process.pid))) {
      return { status: "missing", detail: "this process is not in it", fix: FIX };
    }
    const environment = await readFile(`/proc/${process.pid}/environ`);
    const status = await readFile(`/proc/${process.pid}/stat`, "utf8");
    if (environment.length === 0 || !status.startsWith(`${process.pid} (`)) {
      return { status: "broken", detail: "it does not say what this process is", fix: FIX };
    }
    return { status: "ok", detail: "readable" };
  },
};
