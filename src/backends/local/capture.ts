import { closeSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { type ConnectOpts, type OnReadOpts, Socket, type SocketConstructorOpts } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type WritableOutputLog, createOutputLog } from "../../output/log.ts";
import { pause } from "../../util/abort.ts";
import { parseProcessStatus } from "../../util/process-status.ts";
import { pipeToRead, removeName } from "./pipe.ts";
import type { Copying, Spawner } from "./spawner/connection.ts";

/** Bytes that are kept of an output; what is beyond them is read, counted and dropped. 256 MiB. */
export const MOST_KEPT = 268_435_456;

/** From so much on, output no longer passes through Node: a program copies it to the file. 256 KiB. */
const MUCH = 262_144;

/** After the process has ended its last output may still be in the pipe: it is read until nothing comes for this long … */
const QUIET_MS = 15;
/** … and no longer than this, since a background child that still writes must not hold the call … */
const DRAIN_MS = 500;
/** … nor for more bytes than a pipe can hold (fs.pipe-max-size in pipe(7), 1 MiB): what comes behind them is a child's. */
const MOST_IN_PIPE = 1_048_576;

/** From so much on that a child in the background writes after its command has ended, its pipe is closed: 256 MiB. */
const MOST_UNREAD = 268_435_456;

/** What a command writes into one pipe. */
export interface Capture {
  /** The pipe's name, for the command's end of it. Gone once reading has begun. */
  readonly pipe: string;
  readonly log: WritableOutputLog;
  /** The command has its end of the pipe: reads from now on. */
  begin(): void;
  /** The command has ended: reads what is still in the pipe and closes the log. What a background child writes from then on is dropped. Never rejects. */
  finish(): Promise<void>;
  /** There is no command: lets go of the pipe and the log. */
  abandon(): void;
}

export interface CaptureOptions {
  readonly spawner: Spawner;
  /** Where output goes that is too big for memory. */
  readonly folder: string;
  /** False: whoever started the command reads its output as it comes, so it passes through Node however much it is. */
  readonly mayLeaveNode: boolean;
}

/** @throws ToolFailure when there is no pipe to be had. */
export async function capture({ spawner, folder, mayLeaveNode }: CaptureOptions): Promise<Capture> {
  const { pipe, fd } = await pipeToRead(spawner);
  const log = createOutputLog({ folder, cap: MOST_KEPT });
  let reader: Socket | undefined;
  let closed: Promise<void> = Promise.resolve();
  let handingOver: Promise<Copying | undefined> | undefined;
  let released = false;
  const reading = { bytes: 0, lastChunk: 0, heldUp: false };
  let unread = 0;
  // The pipe has no name any more; only Linux opens it again all the same.
  let leaves = mayLeaveNode && process.platform === "linux";

  const take = (length: number, buffer: Uint8Array): boolean => {
    reading.bytes += length;
    reading.lastChunk = performance.now();
    if (log.ended) {
      unread += length;
      if (unread > MOST_UNREAD) reader?.destroy();
      return true;
    }
    log.write(buffer.subarray(0, length));
    if (leaves && log.size > MUCH && handingOver === undefined) {
      handingOver = handOver();
      return false;
    }
    if (!log.isBehind) return true;
    // A command that writes faster than the disk waits, as it would for any reader.
    reading.heldUp = true;
    void log.drained().then(() => {
      reading.heldUp = false;
      reader?.resume();
    });
    return false;
  };

  const handOver = async (): Promise<Copying | undefined> => {
    const file = await log.handOver();
    const copying =
      file === undefined ? undefined : await spawner.drain(`/proc/${process.pid}/fd/${fd}`, file, MOST_KEPT);
    if (copying === undefined) takeBack();
    else void copying.ended.then(() => released || takeBack()); // that program has been killed, or all is read: either way the rest is ours
    return copying;
  };
  const takeBack = () => {
    log.takeBack();
    reader?.resume();
  };

  return {
    pipe,
    log,
    begin() {
      removeName(pipe);
      reader = new Socket(readingOptions(fd, take));
      reader.on("error", () => undefined);
      closed = new Promise((resolve) => reader?.once("close", resolve));
    },
    async finish() {
      leaves = false; // what is still to come is little
      const copying = await handingOver;
      if (
        copying !== undefined &&
        (await Promise.race([copying.ended.then(() => "ended"), quietFile(log, copying.pid)])) === "quiet"
      ) {
        released = true;
        copying.release();
      }
      const dropped = await copying?.ended;
      if (!released) await Promise.race([closed, quiet(reading)]);
      await log.end(dropped);
      // A child in the background may still write: a closed pipe would end it, so what it writes is read on and dropped.
      reader?.resume();
      reader?.unref();
    },
    abandon() {
      closeSync(fd);
      removeName(pipe);
      void log.dispose();
    },
  };
}

/** `onread` hands out every chunk as it comes and, told so, reads no further: a stream would read ahead. The types forget it. */
function readingOptions(fd: number, callback: OnReadOpts["callback"]): SocketConstructorOpts & ConnectOpts {
  return { fd, readable: true, writable: false, onread: { buffer: Buffer.allocUnsafe(65_536), callback } };
}

/** Resolves when what was in the pipe has been read. While the disk holds up the reading, silence says nothing. */
async function quiet(reading: {
  readonly bytes: number;
  readonly lastChunk: number;
  readonly heldUp: boolean;
}): Promise<void> {
  const ended = performance.now();
  const enough = reading.bytes + MOST_IN_PIPE;
  while (reading.bytes < enough) {
    await pause(QUIET_MS);
    await nextTurn(); // timers come before input: when we were busy for long, there may be some unread
    const now = performance.now();
    if (reading.heldUp) continue;
    if (now - Math.max(ended, reading.lastChunk) >= QUIET_MS || now - ended >= DRAIN_MS) return;
  }
}

/** The same where a program copies: nothing is left in the pipe when the file no longer grows while that program sleeps. */
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

/** True unless it is at work or waits for the disk ("R", "D" in proc(5)). The copying program is a child of the shell with this number. */
async function isAsleep(pid: number): Promise<boolean> {
  if (process.platform !== "linux") return true;
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, "latin1").catch(() => "");
  const statuses = await Promise.all(
    [String(pid), ...children.split(" ").filter((child) => child !== "")].map((each) =>
      readFile(`/proc/${each}/stat`, "latin1").catch(() => ""),
    ),
  );
  return statuses.every((line) => !/^[RD]/.test(parseProcessStatus(line)?.state ?? ""));
}
