import { constants, type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";

/**
 * Makes a new file that only this user can read (0600) and opens it for writing and reading. Missing folders are made for this
 * user alone (0700). Never opens what is there already, and never follows a link in place of the file.
 *
 * @throws The system's error when the folder or the file cannot be made.
 */
export async function createPrivateFile(folder: string, name: string): Promise<FileHandle> {
  try {
    return await createIn(folder, name);
  } catch (error) {
    // Another process that clears away empty folders may have come between; once is bad luck, twice is a problem.
    if (!isMissing(error)) throw error;
    return await createIn(folder, name);
  }
}

async function createIn(folder: string, name: string): Promise<FileHandle> {
  await makePrivateFolder(folder);
  return await open(join(folder, name), constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
}

/**
 * Makes a folder, and those it is in, for this user alone (0700). One that is there stays as it is.
 *
 * @throws The system's error when it cannot be made.
 */
export async function makePrivateFolder(folder: string): Promise<void> {
  // Not mkdir's own `recursive`: Node 20 never comes back from it where nothing can be made, as in /proc.
  try {
    await makeFolder(folder);
  } catch (error) {
    if (!isMissing(error)) throw error;
    await makePrivateFolder(dirname(folder));
    await makeFolder(folder);
  }
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
    if (!hasCode(error, "EEXIST")) throw error;
  });
}

/** True for the system's "no such file or folder". */
export function isMissing(error: unknown): boolean {
  return hasCode(error, "ENOENT");
}

/** True for the system's error of this name. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/**
 * Up to `length` bytes from `offset` of an open file; fewer only where the file ends.
 *
 * @throws The system's error when it cannot be read.
 */
export async function readRange(file: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
