import { fstatSync } from "node:fs";
import { type FileHandle, unlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { OutputLog } from "../contract/backend.ts";
import { ToolFailure } from "../contract/failure.ts";
import { byteQueue } from "./byte-queue.ts";
import { closeWith } from "../util/collected.ts";
import { KEPT_OF_END, KEPT_OF_START, missingLine } from "./kept.ts";
import { liveFileName } from "./live-file.ts";
import { messageOf } from "../util/errors.ts";
import { createPrivateFile, readRange } from "../util/private-file.ts";
import { bell } from "../util/promises.ts";

export interface OutputLogOptions {
  /** The folder of the file, which is created when the output becomes too big for memory. The folder has mode 0700. */
  readonly folder: string;
  /** How many bytes are kept of the beginning. Default `KEPT_OF_START`. */
  readonly start?: number;
  /** Of a longer output, between one and two times this many bytes of the end are kept too. Default `KEPT_OF_END`. */
  readonly end?: number;
}

/** An output log that can be written. */
export interface WritableOutputLog extends OutputLog {
  /**
   * Appends a copy of the bytes. Never throws and never waits: bytes that are not on disk yet stay in memory. A writer
   * that is faster than the disk should wait for `drained`. Ignored after `end`.
   */
  write(chunk: Uint8Array): void;
  /** True while 4 MiB or more wait for the disk. */
  readonly isBehind: boolean;
  /** Resolves when `isBehind` is false. Never rejects. */
  drained(): Promise<void>;
  /**
   * Resolves to the path of the file, to which another process appends from now on; `write` is then ignored. On Linux
   * the path is that of our open file, which stays valid if its folder is removed. Resolves to `undefined`, without any
   * effect, if no file contains everything written so far.
   */
  handOver(): Promise<string | undefined>;
  /** Makes this process the writer again. */
  takeBack(): void;
  /**
   * Ends the log. Resolves when all kept bytes can be read from their final place. Never rejects.
   *
   * @param dropped bytes that the other writer has read and not kept
   */
  end(dropped?: number): Promise<void>;
  readonly ended: boolean;
  /**
   * Resolves to the file with all bytes kept so far; `undefined` if they are in memory, or could not be written. Once
   * the log has ended, the file no longer changes and may be linked or moved.
   */
  file(): Promise<string | undefined>;
  /** Why less is kept than could be; `undefined` while writing to the disk succeeds. */
  readonly problem: string | undefined;
  /** Ends the log and removes its file, but not links to it. Reading fails from now on. Never rejects. */
  dispose(): Promise<void>;
}

/** Up to this many bytes, no file is created. */
const IN_MEMORY = 256 * 1024;
/** The minimum and maximum size of a write to the file. The last one may be smaller. */
const BATCH = 64 * 1024;
const LARGEST_BATCH = 2 * 1024 * 1024;
/** How many bytes may wait before `drained` makes a writer wait. */
const MUCH_WAITING = 4 * 1024 * 1024;
/** The maximum size of a chunk that `follow` yields. */
const CHUNK = 64 * 1024;
/** How often a file of another process is polled while it is followed. Milliseconds. */
const LOOK_MS = 50;

/**
 * Keeps the output of a process: up to 256 KiB in memory, more in one file (0600). A read combines the file and the
 * memory, so it sees everything written before the call, up to `start` bytes. The end of a longer output, with a line
 * that says how much is missing before it (`missingLine`), can be read once the log has ended.
 */
export function createOutputLog(options: OutputLogOptions): WritableOutputLog {
  const most = { start: options.start ?? KEPT_OF_START, end: options.end ?? KEPT_OF_END };
  let size = 0;
  let state: "open" | "ended" | "disposed" = "open";
  /** `change` resolves at the next write, the next batch on disk, the end, or a follower's signal. */
  const { next: change, ring: changed } = bell();
  const bytes = createSpill(join(resolve(options.folder), liveFileName()), most, changed);

  const grown = async (beyond: number, signal?: AbortSignal) => {
    signal?.addEventListener("abort", changed);
    try {
      while (bytes.kept <= beyond && state === "open" && !signal?.aborted) {
        const timer = bytes.isHandedOver ? setTimeout(changed, LOOK_MS) : undefined;
        await change();
        clearTimeout(timer);
      }
    } finally {
      signal?.removeEventListener("abort", changed);
    }
  };
  const read = async (start: number, end: number): Promise<Uint8Array> => {
    if (state === "disposed") throw goneFailure();
    return bytes.read(start, end).catch((error: unknown) => {
      if (state === "disposed") throw goneFailure();
      throw new ToolFailure(`the file of this output could not be read: ${messageOf(error)}`, { cause: error });
    });
  };

  return {
    get size() {
      return Math.max(bytes.kept, size);
    },
    get kept() {
      return bytes.kept;
    },
    get ended() {
      return state !== "open";
    },
    get problem() {
      return bytes.problem;
    },
    write(chunk) {
      if (state !== "open" || bytes.isHandedOver) return;
      size += chunk.length;
      bytes.add(chunk);
      changed();
    },
    get isBehind() {
      return bytes.isBehind;
    },
    async drained() {
      while (bytes.isBehind) await change();
    },
    async handOver() {
      await bytes.writeAll();
      return state === "open" ? bytes.handOver() : undefined;
    },
    takeBack: bytes.takeBack,
    async end(dropped = 0) {
      if (state === "open") {
        size = Math.max(size, bytes.kept + dropped);
        bytes.takeBack();
        bytes.addEnd();
        state = "ended";
      }
      changed();
      await bytes.writeAll();
    },
    async file() {
      await bytes.writeAll();
      return state === "disposed" ? undefined : bytes.path;
    },
    async dispose() {
      if (state === "disposed") return;
      state = "disposed";
      changed();
      await bytes.remove();
    },
    read,
    tail: (count) => read(bytes.kept - count, bytes.kept),
    grown,
    async *follow(signal) {
      for (let position = 0; ;) {
        await grown(position, signal);
        if (signal?.aborted || state === "disposed" || position >= bytes.kept) return;
        const chunk = await read(position, position + CHUNK).catch((error: unknown) => {
          if (state !== "disposed") throw error;
        });
        if (chunk === undefined || signal?.aborted) return;
        position += chunk.length;
        yield chunk;
      }
    },
  };
}

/** The kept bytes: the first ones in a file, if there are many, the rest in memory. */
interface Spill {
  /** The number of bytes. */
  readonly kept: number;
  /** Keeps a copy of the bytes. Those beyond the start are not among the kept ones before `addEnd`. */
  add(chunk: Uint8Array): void;
  /** Adds what is kept of the end. Call it once, after the last `add`. */
  addEnd(): void;
  /** Rejects with the system's error. */
  read(start: number, end: number): Promise<Uint8Array>;
  /** Resolves when all bytes kept now are in the file, or never will be. */
  writeAll(): Promise<void>;
  readonly isBehind: boolean;
  readonly problem: string | undefined;
  /** The file, if it has bytes and no problem. */
  readonly path: string | undefined;
  /** Lets another process append to the file: its path, or `undefined` if the file does not contain all bytes. */
  handOver(): string | undefined;
  readonly isHandedOver: boolean;
  takeBack(): void;
  /** Drops all bytes and removes the file. Never rejects. */
  remove(): Promise<void>;
}

/**
 * Creates the bytes of a log. They are written to the file in the background, in order, one batch at a time, and leave
 * memory once they are in the file. If that fails, nothing more is kept and `problem` describes the failure; what is in
 * memory stays readable. `changed` is called after each batch.
 */
function createSpill(path: string, most: Readonly<Record<"start" | "end", number>>, changed: () => void): Spill {
  /** The bytes after the first `inFile` ones. */
  const waiting = byteQueue();
  /** The last bytes of those beyond the start. */
  const ending = byteQueue();
  /** How many bytes between the start and `ending` were dropped. */
  let missing = 0;
  let inFile = 0;
  let file: FileHandle | undefined;
  let writing: Promise<void> | undefined;
  let problem: string | undefined;
  let writer: "us" | "another" | "nobody" = "us";

  const kept = () => {
    if (writer === "another" && file !== undefined) inFile = fstatSync(file.fd).size;
    return inFile + waiting.size;
  };
  const writeBatch = async () => {
    try {
      if (file === undefined) {
        file = await createPrivateFile(dirname(path), basename(path));
        closeWith(spill, file);
      }
      const { bytesWritten } = await file.writev(waiting.front(LARGEST_BATCH), inFile);
      if (bytesWritten === 0) throw new Error("the system wrote no bytes");
      waiting.drop(bytesWritten);
      inFile += bytesWritten;
    } catch (error) {
      const why = `its file could not be written: ${messageOf(error)}`;
      problem = `only the first ${kept()} bytes of the output are kept, ${why}`;
    }
  };
  /** Starts writing if at least `least` bytes wait, and continues while there are full batches. */
  const writeOn = (least: number) => {
    if (writing !== undefined || problem !== undefined || writer === "nobody") return;
    if (kept() <= IN_MEMORY || waiting.size < least) return;
    writing = writeBatch().then(() => {
      writing = undefined;
      changed();
      writeOn(BATCH);
    });
  };

  const spill: Spill = {
    get kept() {
      return kept();
    },
    add(chunk) {
      if (problem !== undefined) return;
      const room = clamp(most.start - kept(), chunk.length);
      waiting.add(chunk.subarray(0, room));
      ending.add(chunk.subarray(room));
      if (ending.size > 2 * most.end) {
        missing += ending.size - most.end;
        ending.drop(ending.size - most.end);
      }
      writeOn(BATCH);
    },
    addEnd() {
      if (missing > 0) waiting.add(new TextEncoder().encode(missingLine(missing)));
      for (const piece of ending.front(Infinity)) waiting.add(piece);
      ending.drop(ending.size);
    },
    async read(start, end) {
      const from = clamp(start, kept());
      const to = clamp(end, kept());
      if (from >= to) return new Uint8Array(0);
      // Copied before the first `await`, because bytes then move from memory to the file.
      const boundary = clamp(inFile, to);
      const inMemory = waiting.copy(Math.max(from, boundary) - inFile, to - inFile);
      if (file === undefined || from >= boundary) return inMemory;
      const onDisk = await readRange(file, from, boundary - from);
      return inMemory.length === 0 ? onDisk : Buffer.concat([onDisk, inMemory]);
    },
    async writeAll() {
      const target = kept();
      for (writeOn(1); writing !== undefined && inFile < target; writeOn(1)) await writing;
    },
    get isBehind() {
      return waiting.size >= MUCH_WAITING && writing !== undefined;
    },
    get problem() {
      return problem;
    },
    get path() {
      return problem === undefined && inFile > 0 ? path : undefined;
    },
    handOver() {
      if (problem !== undefined || file === undefined || waiting.size > 0) return undefined;
      writer = "another";
      changed(); // waiting readers must poll the file from now on
      return process.platform === "linux" ? `/proc/${process.pid}/fd/${file.fd}` : path;
    },
    get isHandedOver() {
      return writer === "another";
    },
    takeBack() {
      if (writer !== "another") return;
      kept(); // counts what the other process appended
      writer = "us";
      changed();
    },
    async remove() {
      writer = "nobody";
      await writing;
      waiting.drop(waiting.size);
      ending.drop(ending.size);
      if (file === undefined) return;
      await file.close().catch(() => {});
      await unlink(path).catch(() => {});
    },
  };
  return spill;
}

function clamp(position: number, highest: number): number {
  return Math.min(Math.max(Math.trunc(position) || 0, 0), highest);
}

function goneFailure(): ToolFailure {
  return new ToolFailure("this output is gone: its log was disposed of", { hint: "Run the command again." });
}
