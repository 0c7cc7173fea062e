import { createHash, webcrypto } from "node:crypto";
import {
  type Stats,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statfsSync,
} from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { deflate, deflateSync } from "node:zlib";
import { randomName } from "../../core/util/identifier.ts";
import { startGit } from "./git.ts";
import { keepLarge } from "./large.ts";
import type { Item, UndoStore } from "./log.ts";
import { pathIn } from "./paths.ts";

const { subtle } = webcrypto;

/** A file of at most this size is read synchronously. In bytes. */
const SMALL_BYTES = 262_144;

/** The content of a file of at most this size is copied; a larger file is cloned or linked. In bytes. */
const MAX_COPIED_BYTES = 50 * 1_048_576;

/** Free disk space that is left, in bytes. */
const DISK_RESERVE = 256 * 1_048_576;

/** Takes content, and returns the id of its object (gitrepository-layout(5)). */
export type Put = (content: Buffer) => Promise<string>;

/** Whether a file is kept as a clone or a link: because of its size, or because git never changes it in place. */
export function isLarge(path: string, { size }: Stats): boolean {
  return size > MAX_COPIED_BYTES || /(^|\/)\.git\/(.*\/)?objects\//.test(path);
}

/**
 * Keeps what is at a path.
 *
 * @param info what lstat(2) has found there
 * @returns `null` if nothing is there any more
 */
export async function keepItem(
  { path: store, workDir }: UndoStore,
  path: string,
  info: Stats,
  put: Put,
): Promise<Item | null> {
  const at = pathIn(workDir, path);
  const mode = info.mode & 0o7777;
  const unkept = (why: string): Item => ({ kind: "unkept", size: info.size, changedAt: info.mtimeMs, why });
  if (info.isDirectory()) return { kind: "folder", mode };
  try {
    if (info.isSymbolicLink()) return { kind: "link", id: await put(readlinkSync(at, "buffer")) };
    if (!info.isFile()) return { kind: "other" };
    if (isLarge(path, info)) {
      const id = keepLarge(store, at, info);
      return id === undefined
        ? unkept("it can be neither cloned nor linked")
        : { kind: "large", id, mode, size: info.size };
    }
    return { kind: "file", id: await put(info.size > SMALL_BYTES ? await readFile(at, OPEN) : readSmall(at)), mode };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    if (["ENOENT", "ENOTDIR", "EISDIR", "EINVAL", "ELOOP", "ENXIO", "EAGAIN"].includes(code)) return null;
    if (["EACCES", "EPERM", "EIO"].includes(code)) return unkept("it cannot be read");
    throw error;
  }
}

/** A file that was replaced by a link is not followed, and one that was replaced by a pipe is not waited for. */
const OPEN = { flag: constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK };

function readSmall(at: Buffer): Buffer {
  const file = openSync(at, OPEN.flag);
  try {
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/** Returns the id of content. */
export async function idOf(content: Buffer): Promise<string> {
  const blob = asBlob(content);
  return blob.length > SMALL_BYTES
    ? Buffer.from(await subtle.digest("SHA-1", blob)).toString("hex")
    : createHash("sha1").update(blob).digest("hex");
}

/** Stores content as an object of its own. */
export async function putObject(store: string, content: Buffer): Promise<string> {
  const id = await idOf(content);
  const path = join(store, "objects", id.slice(0, 2), id.slice(2));
  if (existsSync(path)) return id;
  const blob = asBlob(content);
  const temporary = join(store, "objects", `tmp_obj_${randomName(8)}`); // git removes old ones when it prunes
  // Compressing a large one would take longer than the act.
  await writeFile(temporary, blob.length > SMALL_BYTES ? await stored(blob) : deflateSync(blob, { level: 1 }), {
    mode: 0o400,
  });
  if (!existsSync(dirname(path))) mkdirSync(dirname(path), { mode: 0o700 });
  renameSync(temporary, path);
  return id;
}

/** Stores much content at once: git writes one pack, which takes a third of the time of as many objects. */
export function openPack(store: string, signal: AbortSignal | undefined): { readonly put: Put; end(): Promise<void> } {
  const child = startGit(store, ["fast-import", "--quiet", "--depth=0"], signal === undefined ? {} : { signal });
  let errors = "";
  child.stdin.on("error", () => {}); // the exit code shows why
  child.stdout.resume();
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const ended = new Promise<void>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0 ? resolve() : reject(new Error(`git fast-import failed: ${errors.trim()}`)),
    );
  });
  ended.catch(() => {});
  return {
    async put(content) {
      child.stdin.write(`blob\ndata ${content.length}\n`);
      child.stdin.write(content);
      if (!child.stdin.write("\n") && child.stdin.writable)
        await Promise.race([new Promise((resolve) => child.stdin.once("drain", resolve)), ended]);
      return idOf(content);
    },
    async end() {
      child.stdin.end();
      await ended;
    },
  };
}

/** @throws Error if the disk would be nearly full with so many more bytes. */
export function requireSpace(store: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(store);
  if (bavail * bsize - bytes < DISK_RESERVE) throw new Error(`the disk with ${store} is nearly full`);
}

/** The content as git stores it. Its hash is its id. */
function asBlob(content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`blob ${content.length}\0`), content]);
}

/** The blob as zlib data that is not compressed: up to 64 KB each with five bytes before them. */
function stored(blob: Buffer): Promise<Buffer> {
  return promisify(deflate)(blob, { level: 0, chunkSize: blob.length + (blob.length >> 8) + 1_024 });
}
