import { delimiter, join } from "node:path";
import { isExecutable } from "../../util/executable.ts";

const SYSTEM_FOLDERS = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];

/**
 * The path of a program that sets up the sandbox: the system's own before another of its name on the PATH, whose relative folders do not
 * count. `undefined`: it is not installed.
 */
export function systemProgram(name: string): string | undefined {
  const folders = [
    ...SYSTEM_FOLDERS,
    ...(process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder.startsWith("/")),
  ];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}
