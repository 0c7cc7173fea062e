import { constants, type FileHandle, mkdir, open, rename, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { randomName } from "./identifier.ts";

/**
 * Creates a file that only this user can read (0600), and opens it for reading and writing. Creates missing folders for
 * this user only (0700). Never opens an existing file, and never follows a link in its place.
 *
 * @throws The system's error when the folder or the file cannot be created.
 */
export async function createPrivateFile(folder: string, name: string): Promise<FileHandle> {
  try {
    return await createIn(folder, name);
  } catch (error) {
    // Another process may just have removed the empty folder. Tried once more; a second failure is reported.
    if (!isMissing(error)) throw error;
    return await createIn(folder, name);
  }
}

async function createIn(folder: string, name: string): Promise<FileHandle> {
  await makePrivateFolder(folder);
  return await open(join(folder, name), constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
}

/**
 * Writes or replaces a file that only this user can read (0600). The file is complete at any moment, and durable when
 * this resolves.
 *
 * @throws The system's error when it cannot be written; the old file then remains.
 */
export async function replacePrivateFile(folder: string, name: string, text: string | Uint8Array): Promise<void> {
  const temporary = `.${randomName(16)}`;
  const file = await createPrivateFile(folder, temporary);
  try {
    await file.writeFile(text);
    await file.sync();
    await rename(join(folder, temporary), join(folder, name));
  } catch (error) {
    await unlink(join(folder, temporary)).catch(() => undefined);
    throw error;
  } finally {
    await file.close();
  }
}

/**
 * Creates a folder and its missing parents for this user only (0700). Existing folders are unchanged.
 *
 * @throws The system's error when it cannot be created.
 */
export async function makePrivateFolder(folder: string): Promise<void> {
  // Not mkdir's own `recursive`: Node 20 hangs if nothing can be created, as in /proc.
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
 * Reads up to `length` bytes from `offset` of an open file; fewer only at its end.
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
