import { delimiter, join } from "node:path";
import { isExecutable } from "../../util/executable.ts";

const SYSTEM_FOLDERS = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];

/** The path of a program that sets up the sandbox: of the system's folders, then of PATH. `undefined`: not found. */
export function systemProgram(name: string): string | undefined {
  const folders = [
    ...SYSTEM_FOLDERS,
    ...(process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder.startsWith("/")),
  ];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}
