import { accessSync, constants, statSync } from "node:fs";
import type { Command } from "../../../core/contract/backend.ts";
import type { Env } from "../../../core/contract/effect.ts";
import { ToolFailure } from "../../../core/contract/failure.ts";
import { folderGone } from "../../process/command.ts";
import { tried } from "../../../core/util/errors.ts";
import { commandProgram } from "../../../core/util/executable.ts";

/** Throws, with the messages of the plain backend, if bwrap could not start the program. Called before any output. */
export function requireStartable(argv: Command["argv"], cwd: string, env: Env): void {
  const [program] = argv;
  const failure = (why: string) => new ToolFailure(`cannot start ${program}: ${why}`);
  if ([...argv, ...Object.entries(env).flat()].some((text) => text.includes("\0")))
    throw failure("its arguments and variables must be strings without null bytes");
  const infoOf = (path: string) => tried(() => statSync(path));
  const folder = infoOf(cwd);
  if (folder === undefined) throw folderGone(program, cwd);
  if (!folder.isDirectory()) throw failure(`${cwd} is not a folder`);
  const found = commandProgram(program, { cwd, path: env["PATH"] });
  if ("path" in found) return;
  if (found.problem === "a folder") throw failure("it is a folder");
  if (found.problem === "not executable" || tried(() => (accessSync(cwd, constants.X_OK), true)) !== true)
    throw failure(`it is not executable, or ${cwd} may not be entered`);
  throw failure(program.includes("/") ? "no such file" : "no such program on the PATH");
}
