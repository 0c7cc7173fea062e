import { onPath } from "../../util/executable.ts";

const SYSTEM_FOLDERS = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];

/** The path of a program that sets up the sandbox: of the system's folders, then of PATH. `undefined`: not found. */
export function systemProgram(name: string): string | undefined {
  return onPath(name, SYSTEM_FOLDERS);
}
