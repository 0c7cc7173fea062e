import type { Command, Exit, Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { type WritableOutputLog, createOutputLog } from "../../output/log.ts";
import { onAbort, pause } from "../../util/abort.ts";
import { messageOf } from "../../util/errors.ts";
import { UNSTOPPABLE, stoppingOf } from "../stopping.ts";
import { commandWords, startFailure, unreadyFailure } from "./command-script.ts";
import { endIfHeard, exitOf } from "./ending.ts";
import { foreground } from "./foreground-script.ts";
import type { Transport } from "./transport.ts";
import { LineLost, type Shell, type Streaming } from "./shell.ts";
import type { Shells } from "./shells.ts";

/** A command whose output nobody holds is over so soon after all that it wrote has come. Milliseconds. */
const HELD_MS = 100;

/** When all was done to end it, it tells of its end within so long, or cannot be ended. Milliseconds. */
const TOLD_MS = 5_000;

/** Where its line has gone, whoever is ending it is waited for so long: 2 s of grace, and a moment. Milliseconds. */
const GONE_MS = 3_000;

export interface RunOptions {
  readonly shells: Shells;
  readonly transport: Pick<Transport, "place" | "explain">;
  /** Where output goes here that is too big for memory. */
  readonly outputFolder: string;
  /** A real path there. */
  readonly cwd: string;
  /** What names the process and all that it starts, and the number of the first shell there. Asked when there is a shell to run it in. */
  readonly identity: () => { readonly mark: string; readonly first: number };
}

/**
 * Runs a command in the foreground of a shell of its own. It has ended when it has, whatever still holds its output; and with the connection.
 *
 * @throws ToolFailure when it cannot be started.
 */
export async function runThere(command: Command, options: RunOptions): Promise<Process> {
  for (let attempt = 0; ; attempt++) {
    const shell = await taken(command, options.shells);
    try {
      return await runIn(shell, command, options);
    } catch (error) {
      if (!(error instanceof LineLost)) throw error;
      if (error.unsent && attempt === 0) continue;
      const { message, hint } = await options.transport.explain(error.end);
      throw new ToolFailure(`${command.argv[0]} may or may not have been started: ${message}`, {
        ...(hint !== undefined && { hint }),
        cause: error,
      });
    }
  }
}

/** A shell, unless the command is stopped before there is one. */
async function taken({ argv, signal }: Command, shells: Shells): Promise<Shell> {
  const stopped = () => new ToolFailure(`${argv[0]} was stopped before it was started`);
  if (signal?.aborted) throw stopped();
  const taking = shells.take();
  if (signal === undefined) return taking;
  return new Promise((resolve, reject) => {
    let isGiven = false;
    const release = onAbort(signal, () => {
      isGiven = true;
      reject(stopped());
    });
    taking.then((shell) => (isGiven ? shells.giveBack(shell) : resolve(shell)), reject).finally(release);
  });
}

/** What a shell tells of the command that it runs. */
type Told = { readonly code: number; readonly orphaned: boolean };

async function runIn(
  shell: Shell,
  command: Command,
  { shells, transport, outputFolder, cwd, identity }: RunOptions,
): Promise<Process> {
  const { argv, streams = "merged" } = command;
  const stdin = command.stdin === "pipe" ? "pipe" : "closed";
  const { mark, first } = identity();
  const outputs = streams === "split" ? 2 : 1;
  const copying: string[] = [];
  const copied = later<void>();
  const unready = later<number>();
  const started = later<string>();
  const exited = later<Told>();
  const written = later<void>();
  let unwritten = outputs;
  const tell = (words: string) => {
    const [word = "", value = ""] = words.split(" ");
    if (word === "started") started.resolve(value);
    if (word === "unready") unready.resolve(Number(value));
    if (word === "copying" && copying.push(value) === outputs) copied.resolve();
    if (word === "written" && --unwritten === 0) written.resolve();
    if (word === "exited" || word === "orphaned")
      exited.resolve({ code: Number(value), orphaned: word === "orphaned" });
  };

  let script: string;
  try {
    script = foreground(commandWords(command, cwd, mark), { streams, stdin, first });
  } catch (error) {
    shells.giveBack(shell);
    throw error;
  }
  const output = createOutputLog({ folder: outputFolder });
  const errors = streams === "split" ? createOutputLog({ folder: outputFolder }) : undefined;
  const logs = errors === undefined ? [output] : [output, errors];
  let behind = 0;
  /** A command that writes faster than the disk here waits. */
  const take = async (log: WritableOutputLog, chunk: Buffer) => {
    if (log.ended) return;
    log.write(chunk);
    if (!log.isBehind) return;
    if (behind++ === 0) streaming.pause();
    await log.drained();
    if (--behind === 0) streaming.resume();
  };
  const streaming: Streaming = shell.stream(script, {
    out: (chunk) => void take(output, chunk),
    // With merged streams only the shell itself could write there.
    err: (chunk) => errors !== undefined && void take(errors, chunk),
    told: tell,
  });
  const finished: Promise<undefined | LineLost> = streaming.finished.then(
    () => undefined,
    (error: unknown) =>
      error instanceof LineLost ? error : new LineLost({ code: null, signal: null, said: messageOf(error) }, false),
  );
  const release = () => {
    if (stdin === "pipe") shell.end(); // what was not read of its stdin must never be read as a script
    shells.giveBack(shell);
  };
  const drained = new AbortController();
  void finished.then(() => {
    drained.abort();
    release();
  });

  let leader = "";
  let isStuck = false;
  const told = new AbortController();
  const stopping = stoppingOf(command, async () => {
    if (leader === "") shell.kill(); // something may hang that stands before its beginning
    const all = await endIfHeard(shells, mark, leader);
    if (all === "unheard") return shell.kill();
    isStuck = !all;
    void pause(all ? TOLD_MS : 0, told.signal).then(() => {
      if (told.signal.aborted) return;
      isStuck = true;
      shell.kill();
    });
  });
  const beginning = await Promise.race([
    started.promise,
    unready.promise.then((code) => unreadyFailure(code, argv[0], cwd)),
    finished.then(
      async (lost) => lost ?? startFailure(Buffer.from(await output.tail(2_000)).toString("utf8"), argv[0]),
    ),
  ]);
  if (typeof beginning !== "string") {
    for (const log of logs) void log.dispose();
    await stopping.settled();
    stopping.over();
    told.abort();
    throw stopping.wasStopped ? neverBegun(argv[0], cwd) : beginning;
  }
  leader = beginning;

  let isOver = false;
  const exit = (async (): Promise<Exit> => {
    const end = await Promise.race([exited.promise, finished]);
    told.abort();
    const lost = end instanceof LineLost ? end : await Promise.race([finished, held(written.promise, drained.signal)]);
    // What it started goes too before the call is over.
    await (lost instanceof LineLost ? atMost(GONE_MS, stopping.settled()) : stopping.settled());
    stopping.over();
    isOver = true;
    await Promise.all(logs.map((log) => log.end()));
    // A child in the background may still write: nobody here reads that any more, and the shell goes back.
    const letGo = () => shells.ask(`kill ${copying.join(" ")} 2>/dev/null`).catch(() => undefined);
    if (!drained.signal.aborted) void copied.promise.then(letGo);
    if (isStuck) return { how: "lost", reason: UNSTOPPABLE };
    if (stopping.stoppedAs !== undefined) return stopping.stoppedAs;
    if (end instanceof LineLost) return { how: "lost", reason: await reasonOf(end, transport) };
    if (end === undefined) return { how: "lost", reason: "the shell that watched over it there was killed" };
    // The connection has gone, and its own line ends in a moment, with what is to be said of that.
    if (end.orphaned && !stopping.wasStopped)
      return { how: "lost", reason: await reasonOf(await atMost(GONE_MS, finished), transport) };
    return exitOf(end.code, stopping.wasStopped);
  })();

  return {
    id: beginning,
    output,
    errors,
    exit,
    async write(text) {
      if (stdin === "closed") throw new ToolFailure("this process has no stdin: it was started with stdin closed");
      if (isOver) throw new ToolFailure("the process no longer reads its stdin: it has ended");
      const sent = streaming.write(Buffer.from(text, "utf8")).catch((error: unknown) => {
        throw new ToolFailure(`the process no longer reads its stdin: ${messageOf(error)}`, { cause: error });
      });
      const ended = exit.then(() => {
        throw new ToolFailure("the process no longer reads its stdin: it has ended");
      });
      await Promise.race([sent, ended]);
    },
    async endInput() {
      if (stdin === "pipe" && !isOver) await Promise.race([streaming.endInput(), exit]);
    },
    async kill() {
      await stopping.stop();
      await exit;
    },
  };
}

function neverBegun(program: string, cwd: string): ToolFailure {
  return new ToolFailure(`${program} was stopped while it was being started`, {
    hint: `If nobody stopped it on purpose, something hangs there on the way to it: see whether ${cwd} and the PATH can be listed.`,
  });
}

/** What the work resolves to; `undefined` after so many milliseconds. */
async function atMost<T>(milliseconds: number, work: Promise<T>): Promise<T | undefined> {
  const done = new AbortController();
  const result = await Promise.race([work, pause(milliseconds, done.signal).then(() => undefined)]);
  done.abort();
  return result;
}

/** Resolves when all that a command wrote has come although its shell is not done: somebody holds its output. */
async function held(written: Promise<void>, finished: AbortSignal): Promise<"held"> {
  await written;
  await pause(HELD_MS, finished);
  return "held";
}

/** `undefined`: nothing is known but that the connection was lost. */
async function reasonOf(lost: LineLost | undefined, transport: Pick<Transport, "place" | "explain">): Promise<string> {
  const message =
    lost === undefined ? `the connection to ${transport.place} was lost` : (await transport.explain(lost.end)).message;
  return `${message}; it may have run to its end or in part, and what was left of it is ended there`;
}

function later<T>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}
