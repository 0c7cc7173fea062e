import { constants, type FileHandle, link, lstat, lutimes, open, rename, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { OpenFile, OutputLog } from "../contract/backend.ts";
import { closeWith } from "../util/collected.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { Outputs } from "../contract/tool.ts";
import { liveFileName } from "./live-file.ts";
import type { WritableOutputLog } from "./log.ts";
import type { MaskedOutput } from "./masked-output.ts";
import { messageOf } from "../util/errors.ts";
import { randomName } from "../util/identifier.ts";
import { createPrivateFile, hasCode, isMissing, makePrivateFolder, readRange } from "../util/private-file.ts";
import { removeOld, takenBytes } from "./remove-old.ts";
import { formatSize } from "./size.ts";

export interface OutputsOptions {
  /** The folder of the saved outputs of all owners. Created at the first save, with mode 0700. */
  readonly folder: string;
  /** The owner of these outputs: 1 to 64 letters, digits, `-` and `_`. Other owners cannot open them. */
  readonly owner: string;
  /** The first letters of every id, of the same alphabet. Default: random letters, like the others. */
  readonly idPrefix?: string;
  /** Milliseconds after which a saved output is removed. Default 7 days. */
  readonly maxAgeMs?: number;
  /**
   * The maximum size of the outputs of all owners, in bytes. The oldest are removed first. Default
   * `DEFAULT_MAX_OUTPUT_BYTES`.
   */
  readonly maxBytes?: number;
  /** Returns the time in milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
}

/** The saved outputs of one owner. */
export interface OutputsStore extends Omit<Outputs, "save"> {
  /** As `Outputs.save`; also what is masked piece by piece. */
  save(content: MaskedOutput): Promise<string>;
  /**
   * The owner's folder, as an absolute path. Created with the first file in it. An output log with its file in this
   * folder is saved without copying (as a hard link).
   */
  readonly folder: string;
  /** Waits for saving and removing. Saved outputs are kept; saving and opening fail from now on. Never rejects. */
  close(): Promise<void>;
}

/** The default size limit of all saved outputs, in bytes: 2 GiB. */
export const DEFAULT_MAX_OUTPUT_BYTES = 2_147_483_648;

/** The share of the limit that this process saves before it measures all outputs again. */
const LOOK_AFTER = 1 / 16;
/**
 * The share of the limit that is kept then. Four saving processes stay within the limit, or two that each save 1/8
 * meanwhile.
 */
const LEAVE = 3 / 4;

const DAY = 24 * 60 * 60 * 1000;
const OWNER = /^[A-Za-z0-9_-]{1,64}$/;
const ID = /^[0-9a-hjkmnp-tv-z]{16}$/;
/** The size of the pieces in which a log is copied, in bytes. */
const PIECE = 1024 * 1024;

/**
 * Saves outputs that are too big for a model, one file (0600) each: `folder/owner/id`. Ids have 80 random bits. An
 * output can only be opened with its id, through the outputs of the same owner.
 *
 * Old outputs of all owners are removed at the first save, then once a day and whenever this process has saved 1/16 of
 * `maxBytes`: those older than `maxAgeMs`, then the oldest until 3/4 of `maxBytes` is left, and owners' empty folders.
 * With two processes that save at the same time, `maxBytes` is exceeded only if they save more than 1/8 of it during a
 * removal; each additional process takes 1/16 of that margin. The newest output is never removed for its size. Output
 * logs of running processes are neither counted nor removed. Removing never leaves `folder`, follows no link, and never
 * makes a save fail or wait.
 *
 * @throws TypeError for an owner that could not be the name of a folder.
 * @throws RangeError for a `maxAgeMs` or `maxBytes` that is not above 0.
 */
export function createOutputs(options: OutputsOptions): OutputsStore {
  const {
    folder,
    owner,
    idPrefix = "",
    maxAgeMs = 7 * DAY,
    maxBytes = DEFAULT_MAX_OUTPUT_BYTES,
    now = Date.now,
  } = options;
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
  /** Bytes saved here since the size of all outputs was last measured. */
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
    await clearAway(); // removes what was saved meanwhile
  };

  const save = async (content: MaskedOutput): Promise<string> => {
    const id = `${idPrefix}${randomName(16)}`.slice(0, 16);
    const path = join(own, id);
    try {
      await makePrivateFolder(own);
      await refuseLink(own);
      if (!(await adopt(content, path, now()))) await copy(content, path, now());
      unseen += takenBytes((await lstat(path)).size);
    } catch (error) {
      await unlink(path).catch(() => {});
      throw new ToolFailure(`could not save the output: ${messageOf(error)}`, { cause: error });
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
        // ELOOP: the file was replaced with a link.
        throw isMissing(error) || hasCode(error, "ELOOP")
          ? unknownFailure(id, { maxAgeMs, maxBytes })
          : new ToolFailure(`could not open the saved output "${id}": ${messageOf(error)}`, { cause: error });
      });
    },
    async close() {
      closed = true;
      while (busy.size > 0) await Promise.allSettled(busy);
    },
  };
}

/**
 * Links the file of an ended log to a second name. Returns false if there is no file or it is on another disk; the
 * caller then copies it.
 */
async function adopt(content: MaskedOutput, path: string, nowMs: number): Promise<boolean> {
  if (!isEndedLog(content)) return false;
  const file = await content.file();
  if (file === undefined) return false;
  try {
    await setAge(file, nowMs); // the file may be old
    await link(file, path);
    const { size } = await lstat(path);
    if (size === content.kept) return true;
    await unlink(path);
    return false;
  } catch {
    return false;
  }
}

/** Returns true for a log that has ended. A growing log is copied, because a saved output must not change. */
function isEndedLog(content: MaskedOutput): content is WritableOutputLog {
  return typeof content === "object" && "ended" in content && content.ended === true && "file" in content;
}

/** Writes the content under another name first, so that the id never names an incomplete file. */
async function copy(content: MaskedOutput, path: string, nowMs: number): Promise<void> {
  const name = liveFileName();
  const part = join(dirname(path), name);
  const file = await createPrivateFile(dirname(path), name);
  try {
    if (typeof content === "string" || content instanceof Uint8Array) await file.writeFile(content);
    else if (Symbol.asyncIterator in content) for await (const piece of content) await file.writeFile(piece);
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

/** Makes the age of an output start when it is saved. */
async function setAge(path: string, nowMs: number): Promise<void> {
  await lutimes(path, nowMs / 1_000, nowMs / 1_000);
}

/** Copies what is kept now, not what is added later. */
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
  // O_NONBLOCK: opening a FIFO that somebody put here must not block.
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
  const opened: OpenFile = {
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
      const { size: end } = opened.info;
      const from = Math.min(Math.max(0, offset), end);
      return await readRange(file, from, Math.min(Math.max(0, length), end - from));
    },
    async close() {
      if (closed) return;
      closed = true;
      await file.close();
    },
  };
  closeWith(opened, file);
  return opened;
}

/** Throws if a link replaces the owner's folder. The folder may be missing. */
async function refuseLink(folder: string): Promise<void> {
  const stats = await lstat(folder).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
  if (stats !== undefined && !stats.isDirectory()) throw new Error(`${folder} is not a folder; remove it`);
}

function unknownFailure(id: string, limits: Required<Pick<OutputsOptions, "maxAgeMs" | "maxBytes">>): ToolFailure {
  const shown = id.length > 64 ? `${id.slice(0, 64)}…` : id;
  return new ToolFailure(`no saved output ${JSON.stringify(shown)}: it was removed or belongs to another session`, {
    hint: `Copy the id exactly from the notice, or call the tool again.${removalOf(limits)}`,
  });
}

/**
 * Describes when outputs are removed: " Outputs are removed after 7 days, or when all of them exceed 2GB, the oldest
 * first."
 */
function removalOf({ maxAgeMs, maxBytes }: Required<Pick<OutputsOptions, "maxAgeMs" | "maxBytes">>): string {
  const when = [
    ...(maxAgeMs === Infinity ? [] : [`after ${duration(maxAgeMs)}`]),
    ...(maxBytes === Infinity ? [] : [`when all of them exceed ${formatSize(maxBytes)}, the oldest first`]),
  ];
  return when.length === 0 ? "" : ` Outputs are removed ${when.join(", or ")}.`;
}

function closedFailure(): ToolFailure {
  return new ToolFailure("saved outputs are closed: the toolkit they belong to was closed");
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
