import { readFile } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { OutputLog } from "../../core/contract/backend.ts";
import { type WritableOutputLog, createOutputLog } from "../../core/output/log.ts";
import { pause } from "../../core/util/abort.ts";
import { parseProcessStatus } from "../../core/util/process-status.ts";
import { pipeToRead } from "./pipe.ts";
import type { Copying, Spawner } from "../spawner/connection.ts";

/** Bytes that pass through Node before another program copies the output to the file: 256 KiB. */
const MUCH = 262_144;

/** After the process has ended, its pipe is read until nothing arrives for this long. Milliseconds. */
const QUIET_MS = 15;
/** How long this reading may take in all: a child that still writes must not delay the call. Milliseconds. */
const DRAIN_MS = 500;
/** Also ends after the bytes that a pipe holds: 1 MiB (fs.pipe-max-size in pipe(7)). Later bytes are a child's. */
const MOST_IN_PIPE = 1_048_576;

/** Bytes that a background child may write after its command has ended, before its pipe is closed: 256 MiB. */
const MOST_UNREAD = 268_435_456;

/** Captures what a command writes to one pipe. */
export interface Capture {
  /** The pipe's path, with which the command opens its end of the pipe. Removed when reading begins. */
  readonly pipe: string;
  readonly log: OutputLog;
  /** Starts to read. Call it when the command has opened its end of the pipe. */
  begin(): void;
  /** Whether reading keeps this process alive. Default true. Has no effect before `begin` and after `finish`. */
  keepAlive(on: boolean): void;
  /** Reads the rest of an ended command and closes the log. Later output of children is discarded. Never rejects. */
  finish(): Promise<void>;
  /** Releases the pipe and the log, if no command was started. */
  abandon(): void;
}

export interface CaptureOptions {
  readonly spawner: Spawner;
  /** Folder for output that does not fit in memory. */
  readonly folder: string;
  /** False: the output is read while it arrives, so all of it passes through Node. */
  readonly mayLeaveNode: boolean;
}

/** Creates a capture. @throws ToolFailure when no pipe can be created. */
export async function capture({ spawner, folder, mayLeaveNode }: CaptureOptions): Promise<Capture> {
  const log = createOutputLog({ folder });
  let handingOver: Promise<Copying | undefined> | undefined;
  let released = false;
  const reading = { bytes: 0, lastChunk: 0, heldUp: false };
  let unread = 0;
  // The pipe's name is removed by then; only Linux can open a pipe without its name.
  let leaves = mayLeaveNode && process.platform === "linux";

  const take = (length: number, buffer: Uint8Array): boolean => {
    reading.bytes += length;
    reading.lastChunk = performance.now();
    if (log.ended) {
      unread += length;
      if (unread > MOST_UNREAD) reader.destroy();
      return true;
    }
    log.write(buffer.subarray(0, length));
    if (leaves && log.size > MUCH && handingOver === undefined) {
      handingOver = handOver();
      return false;
    }
    if (!log.isBehind) return true;
    // A command that writes faster than the disk has to wait, as with any reader.
    reading.heldUp = true;
    void log.drained().then(() => {
      reading.heldUp = false;
      reader.resume();
    });
    return false;
  };
  const reader = await pipeToRead(spawner, take);

  const handOver = async (): Promise<Copying | undefined> => {
    const file = await log.handOver();
    const copying = file === undefined ? undefined : await spawner.drain(`/proc/${process.pid}/fd/${reader.fd}`, file);
    if (copying === undefined) takeBack();
    // the program was killed, or has read everything: in both cases this process continues to read
    else void copying.ended.then(() => released || takeBack());
    return copying;
  };
  const takeBack = () => {
    log.takeBack();
    reader.resume();
  };

  return {
    pipe: reader.pipe,
    log,
    begin: reader.begin,
    keepAlive: (on) => (on && !log.ended ? reader.ref() : reader.unref()),
    async finish() {
      leaves = false; // so little output is left that this process can read it
      const copying = await handingOver;
      if (
        copying !== undefined &&
        (await Promise.race([copying.ended.then(() => "ended"), quietFile(log, copying.pid)])) === "quiet"
      ) {
        released = true;
        copying.release();
      }
      const dropped = await copying?.ended;
      if (!released) await Promise.race([reader.closed, quiet(reading)]);
      await log.end(dropped);
      // A background child may still write. Closing the pipe would end it, so its output is read and discarded.
      reader.resume();
      reader.unref();
    },
    abandon() {
      reader.abandon();
      void log.dispose();
    },
  };
}

/** Resolves when the content of the pipe has been read. While the disk delays reading, silence does not count. */
async function quiet(reading: {
  readonly bytes: number;
  readonly lastChunk: number;
  readonly heldUp: boolean;
}): Promise<void> {
  const ended = performance.now();
  const enough = reading.bytes + MOST_IN_PIPE;
  while (reading.bytes < enough) {
    await pause(QUIET_MS);
    await nextTurn(); // timers run before input: after a busy period some input may be unread
    const now = performance.now();
    if (reading.heldUp) continue;
    if (now - Math.max(ended, reading.lastChunk) >= QUIET_MS || now - ended >= DRAIN_MS) return;
  }
}

/** As `quiet`, while a program copies. The pipe is empty when the file does not grow while that program sleeps. */
async function quietFile(log: WritableOutputLog, pid: number): Promise<"quiet"> {
  const ended = performance.now();
  const enough = log.kept + MOST_IN_PIPE;
  for (let before = -1; ;) {
    const kept = log.kept;
    if (kept >= enough || performance.now() - ended >= DRAIN_MS) return "quiet";
    if (kept === before && (await isAsleep(pid))) return "quiet";
    before = kept;
    await pause(QUIET_MS);
  }
}

/** False while this process or a descendant, which copy, runs or waits for the disk ("R", "D" in proc(5)). */
async function isAsleep(pid: number): Promise<boolean> {
  if (process.platform !== "linux") return true;
  const read = (name: string) => readFile(`/proc/${pid}/${name}`, "latin1").catch(() => "");
  const [status, children] = await Promise.all([read("stat"), read(`task/${pid}/children`)]);
  if (/^[RD]/.test(parseProcessStatus(status)?.state ?? "")) return false;
  const asleep = await Promise.all((children.match(/\d+/g) ?? []).map((child) => isAsleep(Number(child))));
  return asleep.every(Boolean);
}
