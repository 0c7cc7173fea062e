import { accessSync, constants, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Command } from "../../../contract/backend.ts";
import type { Env } from "../../../contract/effect.ts";
import { ToolFailure } from "../../../contract/failure.ts";
import { codeOf, tried } from "../../../util/errors.ts";

/** Throws, with the messages of the plain backend, if bwrap could not start the program. Called before any output. */
export function requireStartable(argv: Command["argv"], cwd: string, env: Env): void {
  const [program] = argv;
  const failure = (why: string) => new ToolFailure(`cannot start ${program}: ${why}`);
  if ([...argv, ...Object.entries(env).flat()].some((text) => text.includes("\0")))
    throw failure("its arguments and variables must be strings without null bytes");
  const folder = tried(() => statSync(cwd));
  if (folder === undefined) throw failure(`there is no folder ${cwd}`);
  if (!folder.isDirectory()) throw failure(`${cwd} is not a folder`);
  let refused: string | undefined;
  for (const file of placesOf(program, cwd, env["PATH"] ?? "")) {
    const code = whyNot(file);
    if (code === undefined) return;
    if (code !== "ENOENT") refused ??= code;
  }
  if (refused === "EISDIR") throw failure("it is a folder");
  if (refused !== undefined) throw failure(`it is not executable, or ${cwd} may not be entered`);
  throw failure(program.includes("/") ? "no such file" : "no such program on the PATH");
}

function placesOf(program: string, cwd: string, path: string): readonly string[] {
  if (program === "") return [];
  if (program.includes("/")) return [resolve(cwd, program)];
  return path.split(":").map((folder) => join(resolve(cwd, folder), program));
}

/** The system's error code if the file cannot be started; `undefined` if it can. */
function whyNot(file: string): string | undefined {
  try {
    const info = statSync(file, { throwIfNoEntry: false });
    if (info === undefined) return "ENOENT";
    if (info.isDirectory()) return "EISDIR";
    accessSync(file, constants.X_OK);
    return info.isFile() ? undefined : "EACCES";
  } catch (error) {
    return codeOf(error) ?? "ENOENT";
  }
}
