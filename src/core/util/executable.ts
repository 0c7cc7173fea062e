import { accessSync, constants, statSync } from "node:fs";
import { delimiter, resolve } from "node:path";
import { tried } from "./errors.ts";

/** Whether a path is a program that this process may start. Never throws. */
export function isExecutable(path: string): boolean {
  const isFile = tried(() => {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile(); // folders are executable too
  });
  return isFile === true;
}

/** What the first word of a command leads to: the path of a file that may be started, or why there is none. */
export type CommandProgram =
  | { readonly path: string }
  | { readonly problem: "missing" | "not executable" | "a folder" };

/**
 * Finds the program of a command as a shell does: the first file in the folders of `PATH` that may be started. A folder
 * that is missing or may not be entered is passed over, whatever the system reports about it, and so is a folder with
 * the program's name. A name with a slash is a path. What Handrail runs by itself is found by `machine/programs.ts`.
 *
 * @param path `PATH` of the command. Relative folders are those of its folder.
 */
export function commandProgram(name: string, { cwd, path = "/usr/bin:/bin" }: ProgramSearch): CommandProgram {
  if (name === "") return { problem: "missing" };
  const isPath = name.includes("/");
  const files = isPath ? [resolve(cwd, name)] : path.split(delimiter).map((folder) => resolve(cwd, folder, name));
  const found = files.find(isExecutable);
  if (found !== undefined) return { path: found };
  const kinds = files.flatMap((file) => tried(() => statSync(file)) ?? []);
  if (kinds.some((info) => !info.isDirectory())) return { problem: "not executable" };
  return { problem: isPath && kinds.length > 0 ? "a folder" : "missing" };
}

export interface ProgramSearch {
  readonly cwd: string;
  readonly path?: string | undefined;
}
