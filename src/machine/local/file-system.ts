import {
  type BigIntStats,
  type Stats,
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  read,
  readSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  statSync,
  write,
  writeSync,
} from "node:fs";
import { lstat, open, readdir, readlink, realpath, rename, stat } from "node:fs/promises";
import { promisify } from "node:util";
import { codeOf } from "../../core/util/errors.ts";

/** Whether the error says that nothing is at a path. */
export function isMissing(error: unknown): boolean {
  const code = codeOf(error);
  return code === "ENOENT" || code === "ENOTDIR";
}

export function ignoreMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
  return undefined;
}

/** File operations, on Node's thread pool or synchronous. */
export interface FileSystem {
  realpath(path: string): Promise<string>;
  lstat(path: string | Buffer): Promise<Stats>;
  /** The info of each path; `undefined` where nothing is. Rejects as `lstat` does for other reasons. */
  lstatAll(paths: readonly (string | Buffer)[]): Promise<readonly (Stats | undefined)[]>;
  lstatExactly(path: string): Promise<BigIntStats>;
  statExactly(path: string): Promise<BigIntStats>;
  readlink(path: string | Buffer): Promise<string>;
  /** The names in a folder. Each character is a byte of the name (Latin-1), since a name need not be UTF-8. */
  readdir(path: string): Promise<readonly string[]>;
  open(path: string, flags: number, mode?: number): Promise<Handle>;
  rename(from: string, to: string): Promise<void>;
}

/** An open file or folder, as `FileHandle` of `node:fs/promises`. */
export interface Handle {
  readonly fd: number;
  stat(exactly: typeof EXACTLY): Promise<BigIntStats>;
  read(buffer: Buffer, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
  write(bytes: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesWritten: number }>;
  chmod(mode: number): Promise<void>;
  chown(uid: number, gid: number): Promise<void>;
  truncate(size: number): Promise<void>;
  close(): Promise<void>;
}

/** Times in nanoseconds. */
export const EXACTLY = { bigint: true } as const;

/** Every operation uses Node's thread pool: it takes about 0.15 ms, and a slow disk delays nothing else. */
export const POOLED: FileSystem = {
  realpath: (path) => realpath(path),
  lstat: (path) => lstat(path),
  lstatAll: (paths) => Promise.all(paths.map((path) => lstat(path).catch(ignoreMissing))),
  lstatExactly: (path) => lstat(path, EXACTLY),
  statExactly: (path) => stat(path, EXACTLY),
  readlink: (path) => readlink(path),
  readdir: (path) => readdir(path, "latin1"),
  rename: (from, to) => rename(from, to),
  open: (path, flags, mode) => open(path, flags, mode),
};

/** Reads and writes of more bytes use the thread pool anyway. */
export const SMALL = 256 * 1024;

const readPooled = promisify(read);
const writePooled = promisify(write);

/** Small operations are synchronous: a few microseconds each on a disk of this machine. */
export const SYNCHRONOUS: FileSystem = {
  realpath: async (path) => realpathSync.native(path),
  lstat: async (path) => lstatSync(path),
  lstatAll: async (paths) => paths.map((path) => lstatSync(path, { throwIfNoEntry: false })),
  lstatExactly: async (path) => lstatSync(path, EXACTLY),
  statExactly: async (path) => statSync(path, EXACTLY),
  readlink: async (path) => readlinkSync(path),
  readdir: async (path) => readdirSync(path, "latin1"),
  rename: async (from, to) => renameSync(from, to),
  async open(path, flags, mode) {
    const fd = openSync(path, flags, mode);
    let isClosed = false;
    return {
      fd,
      stat: async () => fstatSync(fd, EXACTLY),
      async read(buffer, offset, length, position) {
        if (length > SMALL) return readPooled(fd, buffer, offset, length, position);
        return { bytesRead: readSync(fd, buffer, offset, length, position) };
      },
      async write(bytes, offset, length, position) {
        if (length > SMALL) return writePooled(fd, bytes, offset, length, position);
        return { bytesWritten: writeSync(fd, bytes, offset, length, position) };
      },
      chmod: async (mode_) => fchmodSync(fd, mode_),
      chown: async (uid, gid) => fchownSync(fd, uid, gid),
      truncate: async (size) => ftruncateSync(fd, size),
      async close() {
        if (!isClosed) closeSync(fd); // only once, because the number may be reused
        isClosed = true;
      },
    };
  },
};
