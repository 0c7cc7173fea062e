import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Command } from "../../contract/backend.ts";
import type { Env } from "../../contract/effect.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { codeOf } from "../../util/errors.ts";

/** What bwrap would say among the command's own output is said before it is started, in the words of the plain backend. */
export async function requireStartable(argv: Command["argv"], cwd: string, env: Env): Promise<void> {
  const [program] = argv;
  const failure = (why: string) => new ToolFailure(`cannot start ${program}: ${why}`);
  if ([...argv, ...Object.entries(env).flat()].some((text) => text.includes("\0")))
    throw failure("its arguments and variables must be strings without null bytes");
  const folder = await stat(cwd).catch(() => undefined);
  if (folder === undefined) throw failure(`there is no folder ${cwd}`);
  if (!folder.isDirectory()) throw failure(`${cwd} is not a folder`);
  const codes = await Promise.all(placesOf(program, cwd, env["PATH"] ?? "").map(whyNot));
  if (codes.includes(undefined)) return;
  if (codes.includes("EACCES")) throw failure(`it is not executable, or ${cwd} may not be entered`);
  throw failure("no such program on the PATH");
}

function placesOf(program: string, cwd: string, path: string): readonly string[] {
  if (program === "") return [];
  if (program.includes("/")) return [resolve(cwd, program)];
  return path.split(":").map((folder) => join(resolve(cwd, folder), program));
}

/** The system's code for why the file cannot be started; `undefined`: it can. */
async function whyNot(file: string): Promise<string | undefined> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile() ? undefined : "EACCES";
  } catch (error) {
    return codeOf(error) ?? "ENOENT";
  }
}
