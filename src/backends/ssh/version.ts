import { execFile } from "node:child_process";

/** It answers from within itself, so this is long. Milliseconds. */
const LIMIT_MS = 10_000;

/** What the ssh on the PATH says it is: "OpenSSH_9.2p1 …"; `undefined`: there is none, or it says nothing. Never rejects. */
export function sshVersion(): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile("ssh", ["-V"], { timeout: LIMIT_MS, killSignal: "SIGKILL" }, (_error, stdout, stderr) => {
      const [line = ""] = `${stderr}\n${stdout}`.trim().split("\n");
      resolve(line === "" ? undefined : line);
    });
  });
}

/** True for an OpenSSH of that version or a later one: `isAtLeast(version, [8, 7])`. */
export function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [, ownMajor, ownMinor] = /^OpenSSH_(?:for_Windows_)?(\d+)\.(\d+)/.exec(version) ?? [];
  if (ownMajor === undefined) return false;
  return Number(ownMajor) > major || (Number(ownMajor) === major && Number(ownMinor) >= minor);
}
