import { execFile } from "node:child_process";

/** Time limit in milliseconds. It is generous: `ssh -V` opens no connection. */
const LIMIT_MS = 10_000;

/** The version of the ssh on the PATH ("OpenSSH_9.2p1 …"); `undefined` if it reports none. Never rejects. */
export function sshVersion(): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile("ssh", ["-V"], { timeout: LIMIT_MS, killSignal: "SIGKILL" }, (_error, stdout, stderr) => {
      const [line = ""] = `${stderr}\n${stdout}`.trim().split("\n");
      resolve(line === "" ? undefined : line);
    });
  });
}

/** Whether a version of OpenSSH is this version or newer: `isAtLeast(version, [8, 7])`. */
export function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [, ownMajor, ownMinor] = /^OpenSSH_(?:for_Windows_)?(\d+)\.(\d+)/.exec(version) ?? [];
  if (ownMajor === undefined) return false;
  return Number(ownMajor) > major || (Number(ownMajor) === major && Number(ownMinor) >= minor);
}
