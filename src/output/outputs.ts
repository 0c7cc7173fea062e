import { randomBytes } from "node:crypto";
import { constants, type FileHandle, link, lstat, lutimes, open, rename, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { OpenFile, OutputLog } from "../contract/backend.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { Outputs } from "../contract/tool.ts";
import { liveFileName } from "./live-file.ts";
import type { WritableOutputLog } from "./log.ts";
import { createPrivateFile, hasCode, isMissing, makePrivateFolder, readRange } from "../util/private-file.ts";
import { removeOld, takenBytes } from "./remove-old.ts";
import { formatSize } from "./size.ts";

export interface OutputsOptions {
  /** Where saved outputs of all owners are. Made at the first save, for this user alone (0700). */
  readonly folder: string;
  /** Whose outputs these are: 1 to 64 letters, digits, `-` and `_`. Another owner cannot open them. */
  readonly owner: string;
  /** Milliseconds after which a saved output is removed. Default 7 days. */
  readonly maxAgeMs?: number;
  /**
   * Bytes that the saved outputs of all owners may take together, also those of other processes; the oldest are removed first. Default
   * `DEFAULT_MAX_OUTPUT_BYTES`.
   */
  readonly maxBytes?: number;
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
}

/** Saved outputs of one owner. */
export interface OutputsStore extends Outputs {
  /**
   * The owner's own folder. An output log that makes its file here is saved without copying it (a hard link). Absolute;
   * nothing makes it before the first file is made in it.
   */
  readonly folder: string;
  /** Waits for what is being saved or cleared away. What is saved stays; saving and opening fail from now on. Never rejects. */
  close(): Promise<void>;
}

/** Bytes that saved outputs may take together, unless the user says otherwise: 2 GiB. */
export const DEFAULT_MAX_OUTPUT_BYTES = 2_147_483_648;

/** It is looked how much all outputs take whenever this one process has saved so much: this part of the limit. */
const LOOK_AFTER = 1 / 16;
/** So much of the limit is then left: four processes that save at the same time stay within it, or two with 1/8 saved meanwhile. */
const LEAVE = 3 / 4;

const DAY = 24 * 60 * 60 * 1000;
const OWNER = /^[A-Za-z0-9_-]{1,64}$/;
/** Lower-case letters and digits without those that are taken for another: i, l, o, u (as in Crockford's base 32). */
const LETTERS = "0123456789abcdefghjkmnpqrstvwxyz";
const ID = /^[0-9a-hjkmnp-tv-z]{16}$/;
/** A log is copied in pieces of this size. */
const PIECE = 1024 * 1024;

/**
 * Keeps outputs that are too big for a model, one file (0600) each: `folder/owner/id`. Ids have 80 random bits: an output can
 * be opened only by who was told its id, through the outputs of the same owner.
 *
 * The first save, then one a day and one for every 1/16 of `maxBytes` that is saved here, removes outputs of any owner: those older
 * than `maxAgeMs`, then the oldest until 3/4 of `maxBytes` is left; and empty folders of owners. With two processes that save at the same
 * time, `maxBytes` is exceeded only when they save more than 1/8 of it while others are removed; each further process takes 1/16 of that
 * room. The newest output is never removed for its size. Output logs of running processes are neither counted nor removed.
 * Removing never leaves `folder`, follows no link, and never makes a save fail or wait.
 *
 * @throws TypeError for an owner that could not be the name of a folder.
 * @throws RangeError for a `maxAgeMs` or `maxBytes` that is not above 0.
 */
export function createOutputs({
  folder,
  owner,
  maxAgeMs = 7 * DAY,
  maxBytes = DEFAULT_MAX_OUTPUT_BYTES,
  now = Date.now,
}: OutputsOptions): OutputsStore {
  if (!OWNER.test(owner)) {
    throw new TypeError(`owner ${JSON.stringify(owner)}: expected 1 to 64 letters, digits, "-" or "_"`);
  }
  for (const [name, limit] of Object.entries({ maxAgeMs, maxBytes })) {
    if (!(limit > 0)) throw new RangeError(`${name} ${limit}: expected a number above 0`);
  }
  const root = resolve(folder);
  const own = join(root, owner);
  const busy = new Set<Promise<unknown>>();
  let clearedAt = -Infinity;
  let clearing = false;
  /** Bytes saved here since it was last looked how much all take. */
  let unseen = 0;
  let closed = false;

  const track = async <T>(work: Promise<T>): Promise<T> => {
    busy.add(work);
    try {
      return await work;
    } finally {
      busy.delete(work);
    }
  };

  const clearAway = async (): Promise<void> => {
    if (clearing || (unseen < maxBytes * LOOK_AFTER && now() - clearedAt < Math.min(DAY, maxAgeMs))) return;
    clearing = true;
    clearedAt = now();
    unseen = 0;
    await removeOld(root, { before: now() - maxAgeMs, maxBytes: maxBytes * LEAVE, except: owner });
    clearing = false;
    await clearAway(); // for what was saved meanwhile
  };

  const save = async (content: string | Uint8Array | OutputLog): Promise<string> => {
    const id = newId();
    const path = join(own, id);
    try {
      await makePrivateFolder(own);
      await refuseLink(own);
      if (!(await adopt(content, path, now()))) await copy(content, path, now());
      unseen += takenBytes((await lstat(path)).size);
    } catch (error) {
      await unlink(path).catch(() => {});
      throw saveFailure(error);
    }
    void track(clearAway());
    return id;
  };

  return {
    folder: own,
    async save(content) {
      if (closed) throw closedFailure();
      return await track(save(content));
    },
    async open(id) {
      if (closed) throw closedFailure();
      if (!ID.test(id)) throw unknownFailure(id, { maxAgeMs, maxBytes });
      return await openSaved(own, id).catch((error: unknown) => {
        // ELOOP: a link is in its place.
        throw isMissing(error) || hasCode(error, "ELOOP")
          ? unknownFailure(id, { maxAgeMs, maxBytes })
          : openFailure(id, error);
      });
    },
    async close() {
      closed = true;
      while (busy.size > 0) await Promise.allSettled(busy);
    },
  };
}

function newId(): string {
  return Array.from(randomBytes(16), (byte) => LETTERS.charAt(byte % 32)).join("");
}

/** Gives the file of an ended log a second name; false when it has none, or not on this disk: then it is to be copied. */
async function adopt(content: string | Uint8Array | OutputLog, path: string, nowMs: number): Promise<boolean> {
  if (!isEndedLog(content)) return false;
  const file = await content.file();
  if (file === undefined) return false;
  try {
    await setAge(file, nowMs); // it was written some time ago
    await link(file, path);
    const { size } = await lstat(path);
    if (size === content.kept) return true;
    await unlink(path);
    return false;
  } catch {
    return false;
  }
}

/** A log that still grows is not adopted: what is saved must not change. */
function isEndedLog(content: string | Uint8Array | OutputLog): content is WritableOutputLog {
  return typeof content === "object" && "ended" in content && content.ended === true && "file" in content;
}

/** Writes the content under another name first: under its id there is never a part of it. */
async function copy(content: string | Uint8Array | OutputLog, path: string, nowMs: number): Promise<void> {
  const name = liveFileName();
  const part = join(dirname(path), name);
  const file = await createPrivateFile(dirname(path), name);
  try {
    if (typeof content === "string" || content instanceof Uint8Array) await file.writeFile(content);
    else await copyLog(content, file);
    await setAge(part, nowMs);
    await rename(part, path);
  } catch (error) {
    await unlink(part).catch(() => {});
    throw error;
  } finally {
    await file.close();
  }
}

/** The age of an output counts from when it is saved. */
async function setAge(path: string, nowMs: number): Promise<void> {
  await lutimes(path, nowMs / 1_000, nowMs / 1_000);
}

/** What is kept now. What comes later is not part of it. */
async function copyLog(log: OutputLog, file: FileHandle): Promise<void> {
  const end = log.kept;
  for (let position = 0; position < end;) {
    const piece = await log.read(position, Math.min(end, position + PIECE));
    if (piece.length === 0) return;
    await file.writeFile(piece);
    position += piece.length;
  }
}

async function openSaved(folder: string, id: string): Promise<OpenFile> {
  await refuseLink(folder);
  // O_NONBLOCK: opening a FIFO somebody put here must not wait for its other end.
  const file = await open(join(folder, id), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return await openFile(file, join(folder, id));
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function openFile(file: FileHandle, path: string): Promise<OpenFile> {
  const stats = await file.stat({ bigint: true });
  if (!stats.isFile()) throw new Error("it is not a regular file");
  const size = Number(stats.size);
  let closed = false;
  return {
    info: {
      path,
      kind: "file",
      size,
      modifiedMs: Number(stats.mtimeMs),
      mode: Number(stats.mode & 0o777n),
      links: Number(stats.nlink),
      version: [stats.dev, stats.ino, stats.size, stats.mtimeNs].join("-"),
    },
    async read(offset, length) {
      if (closed) throw new ToolFailure("this saved output was closed; open it again to read it");
      const from = Math.min(Math.max(0, offset), size);
      return await readRange(file, from, Math.min(Math.max(0, length), size - from));
    },
    async close() {
      if (closed) return;
      closed = true;
      await file.close();
    },
  };
}

/** The owner's folder may be missing, but a link in its place would lead somewhere else. */
async function refuseLink(folder: string): Promise<void> {
  const stats = await lstat(folder).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
  if (stats !== undefined && !stats.isDirectory()) throw new Error(`${folder} is not a folder; remove it`);
}

function unknownFailure(id: string, limits: Required<Pick<OutputsOptions, "maxAgeMs" | "maxBytes">>): ToolFailure {
  const shown = id.length > 64 ? `${id.slice(0, 64)}…` : id;
  return new ToolFailure(`no saved output ${JSON.stringify(shown)}: it was removed or belongs to another session`, {
    hint: `Copy the id exactly as the notice wrote it, or call the tool again.${removalOf(limits)}`,
  });
}

/** When outputs are removed: " Outputs are removed after 7 days, or when all of them exceed 2GB, the oldest first." */
function removalOf({ maxAgeMs, maxBytes }: Required<Pick<OutputsOptions, "maxAgeMs" | "maxBytes">>): string {
  const when = [
    ...(maxAgeMs === Infinity ? [] : [`after ${duration(maxAgeMs)}`]),
    ...(maxBytes === Infinity ? [] : [`when all of them exceed ${formatSize(maxBytes)}, the oldest first`]),
  ];
  return when.length === 0 ? "" : ` Outputs are removed ${when.join(", or ")}.`;
}

function openFailure(id: string, cause: unknown): ToolFailure {
  return new ToolFailure(`could not open the saved output "${id}": ${messageOf(cause)}`, { cause });
}

function saveFailure(cause: unknown): ToolFailure {
  return new ToolFailure(`could not save the output: ${messageOf(cause)}`, { cause });
}

function closedFailure(): ToolFailure {
  return new ToolFailure("saved outputs are closed: the toolkit they belong to was closed");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function duration(ms: number): string {
  const [name, length] = DURATIONS.find(([, least]) => ms >= least) ?? ["second", 1000];
  const count = Math.round(ms / length);
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}

const DURATIONS = [
  ["day", DAY],
  ["hour", DAY / 24],
  ["minute", 60_000],
] as const;
