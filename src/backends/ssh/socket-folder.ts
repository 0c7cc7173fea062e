import { Unreachable } from "../../contract/failure.ts";
import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { messageOf } from "../../util/errors.ts";

/** The path of a socket has at most about 100 bytes, of which ssh needs some itself: so a long TMPDIR is of no use. */
const PARENT = "/tmp";
const PREFIX = "handrail-ssh-";

/** A folder as young as this may belong to a connection that is being opened. Milliseconds. */
const YOUNG_MS = 120_000;

/**
 * A new folder for the socket and the words of one connection, for this user alone.
 *
 * @throws Unreachable when it cannot be made.
 */
export async function socketFolder(): Promise<string> {
  try {
    return await mkdtemp(join(PARENT, PREFIX));
  } catch (error) {
    throw new Unreachable(`no folder for the connection can be made in ${PARENT}: ${messageOf(error)}`, {
      hint: `Make room in ${PARENT}, and let this user write there.`,
      mayPass: false,
      cause: error,
    });
  }
}

/** The socket in it by which those meet that share the connection. */
export const socketIn = (folder: string) => join(folder, "c");

/** Removes the folders of processes of this user that were killed before they could. Never rejects. */
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
