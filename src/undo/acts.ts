import { createHash, webcrypto } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statfsSync,
} from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { deflate, deflateSync } from "node:zlib";
import type { Effect } from "../contract/effect.ts";
import { formatSize } from "../output/size.ts";
import { tried } from "../util/errors.ts";
import { randomName } from "../util/identifier.ts";
import { isInside } from "../util/paths.ts";
import { git } from "./git.ts";
import { DISK_RESERVE, MAX_FILE_BYTES, parentsOf, pathIn, shown } from "./keep.ts";
import { type Item, type Log, type Point, type UndoStore, readLog, versionOf } from "./log.ts";

const { subtle } = webcrypto;

/** Content of at most this size is kept in the record of its act until a state is stored. In bytes. */
const RECORDED_BYTES = 16_384;

/** A file of at most this size is read synchronously. In bytes. */
const SMALL_BYTES = 262_144;

/** A file of at most this size is stored in this process; git stores larger files. In bytes. */
const IN_MEMORY_BYTES = 16 * 1_048_576;

/**
 * An act of a file tool: the files that it may change, and what they were before. No state of the whole workspace is
 * stored for it: except for these files, the next stored state is also the state before the act (`folded`).
 */
export interface FileAct {
  readonly act: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The point that the act makes, unless its turn already has a point. */
  readonly point: Point;
  /** What was at each path; `null` for nothing. Paths have one character per byte. */
  readonly before: readonly (readonly [path: string, item: Item | null])[];
  /** The parent folders that did not exist. */
  readonly folders: readonly string[];
  /** What could not be kept, in sentences. */
  readonly unkept: readonly string[];
  /** Content that is not stored yet, in base64, by the id of its object. */
  readonly contents?: { readonly [id: string]: string };
  /** How many bytes of content were kept. */
  readonly bytes: number;
  /** What the act left at each path. Absent while it runs, and if its process died. */
  readonly after?: ReadonlyMap<string, Item | null>;
}

/** Whether an effect may change files of the workspace. Network requests and changes of memories do not. */
export function mayChangeFiles({ kind }: Effect): boolean {
  return ["write", "exec", "terminal", "foreign", "delegate"].includes(kind);
}

/**
 * Returns the files of the workspace that the effects may change, as paths in it with one character per byte;
 * `undefined` if they may change any file, as a command may, or all files of a folder.
 */
export function filesOf(effects: readonly Effect[], { workDir }: UndoStore): readonly string[] | undefined {
  const files: string[] = [];
  for (const effect of effects.filter(mayChangeFiles)) {
    if (effect.kind !== "write" || effect.real === undefined) return undefined;
    if (lstatSync(effect.real, { throwIfNoEntry: false })?.isDirectory() === true) return undefined;
    if (isInside(effect.real, workDir)) files.push(Buffer.from(relative(workDir, effect.real)).toString("latin1"));
  }
  return [...new Set(files)].filter((path) => !path.split("/").includes(".git"));
}

/**
 * Keeps files before an act, and records the act. Call within `adding`.
 *
 * @throws Error when that fails, such as with a full disk.
 */
export async function keepAct(
  store: UndoStore,
  files: readonly string[],
  { act, point }: Pick<FileAct, "act" | "point">,
): Promise<void> {
  const contents: { [id: string]: string } = {};
  const kept = { before: [] as [string, Item | null][], folders: [] as string[], unkept: [] as string[], bytes: 0 };
  for (const path of files) {
    const found = await itemAt(store, path, contents);
    kept.bytes += found.bytes;
    if (found.item === undefined) kept.unkept.push(`${shown(path)} ${found.reason}`);
    else kept.before.push([path, found.item]);
    const isMissing = (folder: string) => found.item === null && !existsSync(pathIn(store.workDir, folder));
    kept.folders.push(...parentsOf(path).filter(isMissing));
  }
  await append(store, { act, at: Date.now(), point, ...kept, contents });
}

/** Returns what an act has left at its paths. */
export async function leftBehind(store: UndoStore, files: readonly string[]): Promise<Ended["after"]> {
  const after: [string, Item | null][] = [];
  for (const path of files) {
    const { item } = await itemAt(store, path, undefined);
    if (item !== undefined) after.push([path, item]);
  }
  return after;
}

/** Records what an act has left. Call within `adding`. */
export function endKeptAct(store: UndoStore, after: Ended["after"], act: string): Promise<void> {
  return append(store, { ended: act, after });
}

/** Returns the recorded acts since the last state, in chronological order. */
export function readActs(store: string, log: Log): readonly FileAct[] {
  const acts = new Map<string, FileAct>();
  const text = tried(() => readFileSync(journalOf(store, log), "utf8")) ?? "";
  for (const line of text.split("\n")) {
    const entry = tried(() => JSON.parse(line) as FileAct | Ended); // the last line of a killed process may be cut off
    if (entry === undefined) continue;
    if ("act" in entry) acts.set(entry.act, entry);
    else {
      const begun = acts.get(entry.ended);
      if (begun !== undefined) acts.set(entry.ended, { ...begun, after: new Map(entry.after) });
    }
  }
  return [...acts.values()];
}

/** Stores the content that the records of acts hold as objects (gitrepository-layout(5)). Call with the lock. */
export async function storeContents(store: string, acts: readonly FileAct[]): Promise<void> {
  for (const { contents = {} } of acts) {
    for (const [id, content] of Object.entries(contents)) {
      await storeObject(store, id, asBlob(Buffer.from(content, "base64")));
    }
  }
}

interface Ended {
  readonly ended: string;
  readonly after: readonly [string, Item | null][];
}

const journals = new Map<string, { readonly version: string; readonly path: string }>();

/** Appends a line to the file that the record names. The record is read only after it was replaced. */
async function append({ path: store }: UndoStore, line: Omit<FileAct, "after"> | Ended): Promise<void> {
  const version = versionOf(store);
  let journal = journals.get(store);
  if (journal?.version !== version) journal = { version, path: journalOf(store, await readLog(store)) };
  journals.set(store, journal);
  appendFileSync(journal.path, `\n${JSON.stringify(line)}`, { mode: 0o600 });
}

function journalOf(store: string, { acts = "acts-0" }: Log): string {
  return join(store, acts);
}

type Found =
  | { readonly item: Item | null; readonly bytes: number }
  | { readonly item: undefined; readonly bytes: 0; readonly reason: string };

/**
 * Returns what is at a path; `null` means that nothing is there. Keeps its content if `contents` is given: adds what is
 * small to it, and stores the rest.
 */
async function itemAt(
  { path: store, workDir, maxBytes }: UndoStore,
  path: string,
  contents: { [id: string]: string } | undefined,
): Promise<Found> {
  const at = pathIn(workDir, path);
  const info = lstatSync(at, { throwIfNoEntry: false });
  if (info === undefined) return { item: null, bytes: 0 };
  const keep = async (content: Buffer): Promise<string> => {
    const blob = asBlob(content);
    const id =
      content.length > SMALL_BYTES
        ? Buffer.from(await subtle.digest("SHA-1", blob)).toString("hex")
        : createHash("sha1").update(blob).digest("hex");
    if (contents === undefined) return id;
    if (content.length <= RECORDED_BYTES) contents[id] = content.toString("base64");
    else await storeObject(store, id, blob);
    return id;
  };
  if (info.isSymbolicLink()) {
    const target = readlinkSync(at, "buffer");
    return { item: { kind: "link", id: await keep(target) }, bytes: target.length };
  }
  const most = Math.min(MAX_FILE_BYTES, maxBytes);
  const unkept = (reason: string): Found => ({ item: undefined, bytes: 0, reason });
  if (!info.isFile()) return unkept("is not a file");
  if (info.size > most) return unkept(`has ${formatSize(info.size)}, more than ${formatSize(most)}`);
  const mode = info.mode & 0o7777;
  if (contents !== undefined) requireSpace(store, info.size);
  if (info.size > IN_MEMORY_BYTES) {
    const write = contents === undefined ? [] : ["-w"];
    const id = await git(store, ["hash-object", "--no-filters", ...write, "--", at.toString()]);
    return { item: { kind: "file", id: id.trim(), mode }, bytes: info.size };
  }
  const content = info.size > SMALL_BYTES ? await readFile(at).catch(nothing) : tried(() => readFileSync(at));
  if (content === undefined) return unkept("cannot be read");
  return { item: { kind: "file", id: await keep(content), mode }, bytes: content.length };
}

function nothing(): undefined {
  return undefined;
}

/** The content as git stores it. Its hash is its id. */
function asBlob(content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`blob ${content.length}\0`), content]);
}

/** Stores a loose object (gitrepository-layout(5)). Compressing a large one would take longer than the act. */
async function storeObject(store: string, id: string, blob: Buffer): Promise<void> {
  const path = join(store, "objects", id.slice(0, 2), id.slice(2));
  if (existsSync(path)) return;
  const isSmall = blob.length <= SMALL_BYTES;
  const temporary = join(store, "objects", `tmp_obj_${randomName(8)}`); // git removes old ones when it prunes
  await writeFile(temporary, isSmall ? deflateSync(blob, { level: 1 }) : await stored(blob), { mode: 0o400 });
  if (!existsSync(dirname(path))) mkdirSync(dirname(path), { mode: 0o700 });
  renameSync(temporary, path);
}

/** The blob as zlib data that is not compressed: up to 64 KB each with five bytes before them. */
function stored(blob: Buffer): Promise<Buffer> {
  return promisify(deflate)(blob, { level: 0, chunkSize: blob.length + (blob.length >> 8) + 1_024 });
}

function requireSpace(store: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(store);
  if (bavail * bsize - bytes < DISK_RESERVE) throw new Error(`the disk with ${store} is nearly full`);
}
