import type { Exit } from "../contract/backend.ts";

/** "Exit code 0", "Killed by SIGKILL", … */
export function describeExit(exit: Exit): string {
  switch (exit.how) {
    case "exited":
      return `Exit code ${exit.code}`;
    case "signaled":
      return `Killed by ${exit.signal}`;
    case "timed-out":
      return "Stopped at its timeout";
    case "aborted":
      return "Stopped";
    case "lost":
      return `Nobody knows how (${exit.reason})`;
  }
}
