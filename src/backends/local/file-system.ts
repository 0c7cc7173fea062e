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

/** What files are worked with: the same operations on Node's thread pool, or synchronous. */
export interface FileSystem {
  realpath(path: string): Promise<string>;
  lstat(path: string | Buffer): Promise<Stats>;
  lstatExactly(path: string): Promise<BigIntStats>;
  statExactly(path: string): Promise<BigIntStats>;
  readlink(path: string | Buffer): Promise<string>;
  /** The names in a folder, as bytes. */
  readdir(path: string): Promise<readonly Buffer[]>;
  open(path: string, flags: number, mode?: number): Promise<Handle>;
  rename(from: string, to: string): Promise<void>;
}

/** An open file or folder. */
export interface Handle {
  readonly fd: number;
  stat(): Promise<BigIntStats>;
  /** Resolves to the bytes that were read: fewer than asked for only at the end of a regular file. */
  read(buffer: Buffer, offset: number, length: number, position: number): Promise<number>;
  /** Resolves to the bytes that were written. */
  write(bytes: Uint8Array, offset: number, length: number, position: number): Promise<number>;
  chmod(mode: number): Promise<void>;
  chown(uid: number, gid: number): Promise<void>;
  truncate(size: number): Promise<void>;
  close(): Promise<void>;
}

/** Every operation waits for a thread of Node's pool: about 0.15 ms each, and nothing else has to wait for a slow disk. */
export const POOLED: FileSystem = {
  realpath: (path) => realpath(path),
  lstat: (path) => lstat(path),
  lstatExactly: (path) => lstat(path, { bigint: true }),
  statExactly: (path) => stat(path, { bigint: true }),
  readlink: (path) => readlink(path),
  readdir: (path) => readdir(path, { encoding: "buffer" }),
  rename: (from, to) => rename(from, to),
  async open(path, flags, mode) {
    const file = await open(path, flags, mode);
    return {
      fd: file.fd,
      stat: () => file.stat({ bigint: true }),
      read: async (...at) => (await file.read(...at)).bytesRead,
      write: async (...at) => (await file.write(...at)).bytesWritten,
      chmod: (mode_) => file.chmod(mode_),
      chown: (uid, gid) => file.chown(uid, gid),
      truncate: (size) => file.truncate(size),
      close: () => file.close(),
    };
  },
};

/** A read or write of more bytes goes through the pool all the same. */
const SMALL = 256 * 1024;

const readPooled = promisify(read);
const writePooled = promisify(write);

/** Small operations are synchronous: a few microseconds each on a disk of this machine. */
export const SYNCHRONOUS: FileSystem = {
  realpath: async (path) => realpathSync.native(path),
  lstat: async (path) => lstatSync(path),
  lstatExactly: async (path) => lstatSync(path, { bigint: true }),
  statExactly: async (path) => statSync(path, { bigint: true }),
  readlink: async (path) => readlinkSync(path),
  readdir: async (path) => readdirSync(path, { encoding: "buffer" }),
  rename: async (from, to) => renameSync(from, to),
  async open(path, flags, mode) {
    const fd = openSync(path, flags, mode);
    return {
      fd,
      stat: async () => fstatSync(fd, { bigint: true }),
      async read(buffer, offset, length, position) {
        if (length <= SMALL) return readSync(fd, buffer, offset, length, position);
        return (await readPooled(fd, buffer, offset, length, position)).bytesRead;
      },
      async write(bytes, offset, length, position) {
        if (length <= SMALL) return writeSync(fd, bytes, offset, length, position);
        return (await writePooled(fd, bytes, offset, length, position)).bytesWritten;
      },
      chmod: async (mode_) => fchmodSync(fd, mode_),
      chown: async (uid, gid) => fchownSync(fd, uid, gid),
      truncate: async (size) => ftruncateSync(fd, size),
      close: async () => closeSync(fd),
    };
  },
};
