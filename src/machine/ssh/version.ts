import { ProgramMissing } from "../programs/programs.ts";
import { runProgram } from "../programs/start.ts";

/** Time limit in milliseconds. It is generous: `ssh -V` opens no connection. */
const LIMIT_MS = 10_000;

/**
 * The version of the ssh on the PATH ("OpenSSH_9.2p1 …"); `undefined` if there is none, or it reports none.
 *
 * @throws ProgramMissing when ssh is only where tools can write.
 */
export async function sshVersion(): Promise<string | undefined> {
  const ran = await runProgram(["ssh", "-V"], { cwd: "/", timeout: LIMIT_MS }).catch((error: unknown) => {
    if (error instanceof ProgramMissing && error.onlyIn !== undefined) throw error;
  });
  if (ran === undefined) return undefined;
  const { stdout, stderr } = ran;
  const [line = ""] = `${stderr.toString()}\n${stdout.toString()}`.trim().split("\n");
  return line === "" ? undefined : line;
}

/** Whether a version of OpenSSH is this version or newer: `isAtLeast(version, [8, 7])`. */
export function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [, ownMajor, ownMinor] = /^OpenSSH_(?:for_Windows_)?(\d+)\.(\d+)/.exec(version) ?? [];
  if (ownMajor === undefined) return false;
  return Number(ownMajor) > major || (Number(ownMajor) === major && Number(ownMinor) >= minor);
}
