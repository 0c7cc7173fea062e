import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { messageOf } from "../../core/util/errors.ts";
import { unreachable } from "../shell/transport.ts";

/** Always /tmp: a socket's path may have about 100 bytes, some of them for ssh. A long TMPDIR would not work. */
const PARENT = "/tmp";
const PREFIX = "handrail-ssh-";

/** A folder as young as this may belong to a connection that is being opened. Milliseconds. */
const YOUNG_MS = 120_000;

/** Creates a folder for a connection's socket and messages, for this user only. @throws Unreachable if it cannot. */
export async function socketFolder(): Promise<string> {
  try {
    return await mkdtemp(join(PARENT, PREFIX));
  } catch (error) {
    throw unreachable(
      `no folder for the connection can be created in ${PARENT}: ${messageOf(error)}`,
      `Free space in ${PARENT}, and make it writable for this user.`,
      error,
    );
  }
}

/** The path of the socket in the folder, through which processes share the connection. */
export const socketIn = (folder: string) => join(folder, "c");

/** Removes folders that killed processes of this user left. Never rejects. */
export async function removeLeftFolders(): Promise<void> {
  const names = await readdir(PARENT).catch(() => []);
  const ours = names.filter((name) => name.startsWith(PREFIX)).map((name) => join(PARENT, name));
  await Promise.all(
    ours.map(async (folder) => ((await isLeft(folder)) ? rm(folder, { recursive: true, force: true }) : undefined)),
  ).catch(() => undefined);
}

async function isLeft(folder: string): Promise<boolean> {
  const info = await lstat(folder).catch(() => undefined);
  if (info === undefined || !info.isDirectory() || info.uid !== process.getuid?.()) return false;
  return Date.now() - info.mtimeMs > YOUNG_MS && !(await answers(socketIn(folder)));
}

/** True while an ssh listens at the socket. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const settle = (is: boolean) => {
      socket.destroy();
      resolve(is);
    };
    socket.once("connect", () => settle(true));
    socket.once("error", () => settle(false));
  });
}
