import { fstatSync } from "node:fs";
import { type FileHandle, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { OutputLog } from "../contract/backend.ts";
import { ToolFailure } from "../contract/failure.ts";
import { byteQueue } from "./byte-queue.ts";
import { liveFileName } from "./live-file.ts";
import { createPrivateFile, readRange } from "../util/private-file.ts";

export interface OutputLogOptions {
  /** Where the file is made, once the output is too big for memory. Made when first needed, for this user alone (0700). */
  readonly folder: string;
  /** Bytes that are kept. What is written beyond them is counted and dropped. Default 256 MiB. */
  readonly cap?: number;
}

/** An output log with its writing end. */
export interface WritableOutputLog extends OutputLog {
  /**
   * Takes a copy of the bytes. Never throws and never waits: what the disk has not taken yet stays in memory, at worst `cap`
   * bytes. A writer that is faster than the disk holds back until `drained`. Ignored once ended.
   */
  write(chunk: Uint8Array): void;
  /** True while 4 MiB or more wait for the disk. */
  readonly isBehind: boolean;
  /** Resolves when it is no longer behind. Never rejects. */
  drained(): Promise<void>;
  /**
   * From now on somebody else appends to the file that this resolves to, and `write` is ignored. On Linux that is our open file, which
   * is there whoever removes its folder. `undefined` when there is no file that takes what was written so far: then nothing has changed.
   */
  handOver(): Promise<string | undefined>;
  /** Nobody else writes after all. */
  takeBack(): void;
  /**
   * No more comes. Resolves when all that is kept is in its place and can be read. Never rejects. `dropped`: bytes that whoever
   * took it over has read and not kept.
   */
  end(dropped?: number): Promise<void>;
  readonly ended: boolean;
  /**
   * The file that holds all that is kept so far; `undefined` when that is in memory, or could not be written. Once ended, it
   * does not change any more: it may be linked to or moved away.
   */
  file(): Promise<string | undefined>;
  /** Why less is kept than `cap` says; `undefined` while the disk takes everything. */
  readonly problem: string | undefined;
  /** Ends it and removes its file; one that was linked to or moved away lives on there. Reading fails from now on. Never rejects. */
  dispose(): Promise<void>;
}

/** Up to this many bytes there is no file. */
const IN_MEMORY = 256 * 1024;
/** The disk is given about this much at a time, at least and at most (the last batch may be smaller). */
const BATCH = 64 * 1024;
const LARGEST_BATCH = 2 * 1024 * 1024;
/** From here on `drained` makes a writer wait. */
const MUCH_WAITING = 4 * 1024 * 1024;
/** `follow` hands out at most this much at a time. */
const CHUNK = 64 * 1024;
/** How often a file that somebody else writes is looked at while it is followed. */
const LOOK_MS = 50;

/**
 * Keeps what a process writes: small output in memory (256 KiB), beyond that all of it in one file (0600) of its own.
 *
 * Bytes are written to the file in the background, in order, one batch at a time, and leave memory when the file has them. A
 * read takes what the file has from the file and the rest from memory, so it sees everything written before the call. When the
 * file cannot be written, nothing more is kept from then on and `problem` says so; what is in memory stays readable.
 */
export function createOutputLog({ folder, cap = 256 * 1024 * 1024 }: OutputLogOptions): WritableOutputLog {
  const name = liveFileName();
  const path = join(resolve(folder), name);
  /** The bytes from `inFile` on. */
  const waiting = byteQueue();
  let inFile = 0;
  let size = 0;
  let state: "open" | "ended" | "disposed" = "open";
  let problem: string | undefined;
  let file: FileHandle | undefined;
  let writing: Promise<void> | undefined;
  let wakeUps: (() => void)[] = [];
  let writtenBy: "us" | "another" = "us";

  const kept = () => {
    // Whoever writes it may go a little beyond the cap, never we.
    if (writtenBy === "another" && state === "open" && file !== undefined) {
      inFile = Math.min(fstatSync(file.fd).size, cap);
      size = Math.max(size, inFile);
    }
    return inFile + waiting.size;
  };
  const isBehind = () => waiting.size >= MUCH_WAITING && writing !== undefined;
  const needsFile = () => problem === undefined && kept() > IN_MEMORY;

  /** Resolves at the next write, the next batch on disk, the end, or a follower's signal. */
  const change = () => new Promise<void>((wakeUp) => wakeUps.push(wakeUp));
  const changedOrLater = async () => {
    const timer = writtenBy === "another" ? setTimeout(changed, LOOK_MS) : undefined;
    await change();
    clearTimeout(timer);
  };
  const changed = () => {
    const sleepers = wakeUps;
    wakeUps = [];
    for (const wakeUp of sleepers) wakeUp();
  };

  const writeBatch = async () => {
    try {
      file ??= await createPrivateFile(dirname(path), name);
      const { bytesWritten } = await file.writev(waiting.front(LARGEST_BATCH), inFile);
      if (bytesWritten === 0) throw new Error("the system took no bytes");
      waiting.drop(bytesWritten);
      inFile += bytesWritten;
    } catch (error) {
      problem = `only the first ${kept()} bytes of the output are kept, its file could not be written: ${messageOf(error)}`;
    }
  };
  /** Starts writing if at least so many bytes wait, and goes on while there are batches. */
  const writeOn = (least: number) => {
    if (writing !== undefined || !needsFile() || waiting.size < least || state === "disposed") return;
    writing = writeBatch().then(() => {
      writing = undefined;
      changed();
      writeOn(BATCH);
    });
  };
  /** Resolves when all that is kept now is in the file, or will never be. */
  const writeAll = async () => {
    const target = kept();
    for (writeOn(1); writing !== undefined && inFile < target; writeOn(1)) await writing;
  };

  const grown = async (beyond: number, signal?: AbortSignal) => {
    signal?.addEventListener("abort", changed);
    try {
      while (kept() <= beyond && state === "open" && !signal?.aborted) await changedOrLater();
    } finally {
      signal?.removeEventListener("abort", changed);
    }
  };

  const read = async (start: number, end: number): Promise<Uint8Array> => {
    if (state === "disposed") throw goneFailure();
    const from = clamp(start, kept());
    const to = clamp(end, kept());
    if (from >= to) return new Uint8Array(0);
    // Copied before anything is awaited: meanwhile bytes move from memory to the file.
    const boundary = clamp(inFile, to);
    const inMemory = waiting.copy(Math.max(from, boundary) - inFile, to - inFile);
    if (file === undefined || from >= boundary) return inMemory;
    const onDisk = await readRange(file, from, boundary - from).catch((error: unknown) => {
      throw state === "disposed" ? goneFailure() : unreadableFailure(error);
    });
    return inMemory.length === 0 ? onDisk : Buffer.concat([onDisk, inMemory]);
  };

  return {
    get size() {
      return Math.max(kept(), size);
    },
    get kept() {
      return kept();
    },
    get ended() {
      return state !== "open";
    },
    get problem() {
      return problem;
    },
    write(chunk) {
      if (state !== "open" || writtenBy === "another") return;
      size += chunk.length;
      const room = problem === undefined ? cap - kept() : 0;
      if (room > 0) waiting.add(chunk.subarray(0, room));
      writeOn(BATCH);
      changed();
    },
    get isBehind() {
      return isBehind();
    },
    async drained() {
      while (isBehind()) await change();
    },
    async handOver() {
      await writeAll();
      if (state !== "open" || problem !== undefined || file === undefined || waiting.size > 0) return undefined;
      writtenBy = "another";
      changed(); // who waits for more has to look at the file from now on
      return process.platform === "linux" ? `/proc/${process.pid}/fd/${file.fd}` : path;
    },
    takeBack() {
      kept(); // what was appended stays
      writtenBy = "us";
      changed();
    },
    async end(dropped = 0) {
      if (state === "open") {
        size = Math.max(size, kept() + dropped);
        state = "ended";
      }
      changed();
      await writeAll();
    },
    async file() {
      await writeAll();
      return state !== "disposed" && problem === undefined && inFile > 0 ? path : undefined;
    },
    async dispose() {
      if (state === "disposed") return;
      state = "disposed";
      changed();
      await writing;
      waiting.drop(waiting.size);
      if (file === undefined) return;
      await file.close().catch(() => {});
      await unlink(path).catch(() => {});
    },
    read,
    tail: (bytes) => read(kept() - bytes, kept()),
    grown,
    async *follow(signal) {
      for (let position = 0; ;) {
        await grown(position, signal);
        if (signal?.aborted || state === "disposed" || position >= kept()) return;
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

function clamp(position: number, highest: number): number {
  return Math.min(Math.max(Math.trunc(position) || 0, 0), highest);
}

function goneFailure(): ToolFailure {
  return new ToolFailure("this output is gone: its log was disposed of", { hint: "Run the command again." });
}

function unreadableFailure(cause: unknown): ToolFailure {
  return new ToolFailure(`the file of this output could not be read: ${messageOf(cause)}`, { cause });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
