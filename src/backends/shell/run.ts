import type { Command, Exit, Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { type WritableOutputLog, createOutputLog } from "../../output/log.ts";
import { onAbort, pause, within } from "../../util/abort.ts";
import { messageOf } from "../../util/errors.ts";
import { later } from "../../util/promises.ts";
import { keptStreams } from "../process/command.ts";
import { UNSTOPPABLE, stoppingOf } from "../process/stop.ts";
import { commandFunctions, startFailure, unreadyFailure } from "./command-script.ts";
import { endIfHeard, exitOf } from "./end-processes.ts";
import type { Transport } from "./transport.ts";
import { LineLost, type Shell, type Streaming } from "./shell.ts";
import type { Shells } from "./shells.ts";

/**
 * How long to wait for the shell after the command's output is complete. After that, a child holds the output open.
 * Milliseconds.
 */
const HELD_MS = 100;

/**
 * How long to wait for the exit report after everything was ended. After that, the command cannot be ended.
 * Milliseconds.
 */
const TOLD_MS = 5_000;

/** How long to wait for the end of a command whose line was lost: 2 s of grace, and a moment. Milliseconds. */
const GONE_MS = 3_000;

export interface RunOptions {
  readonly shells: Shells;
  readonly transport: Pick<Transport, "place" | "explain">;
  /** Folder on this machine for output that does not fit in memory. */
  readonly outputFolder: string;
  /** A real path on the remote host. */
  readonly cwd: string;
  /**
   * Returns the mark of the process and its children, and the PID of the first shell. Called after a shell was
   * acquired.
   */
  readonly identity: () => { readonly mark: string; readonly first: number };
}

/**
 * Runs a command in the foreground of its own shell. The process ends when the command exits, even if a child holds its
 * output open, or when the connection is lost.
 *
 * @throws ToolFailure when it cannot be started.
 */
export async function runThere(command: Command, options: RunOptions): Promise<Process> {
  keptStreams(command);
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

/** Acquires a shell. @throws ToolFailure if the command is stopped meanwhile. */
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

/** A shell's report of how its command ended. */
type Told = { readonly code: number; readonly orphaned: boolean };

async function runIn(
  shell: Shell,
  command: Command,
  { shells, transport, outputFolder, cwd, identity }: RunOptions,
): Promise<Process> {
  const { argv } = command;
  const streams = keptStreams(command);
  const stdin = command.stdin === "pipe" ? "pipe" : "closed";
  const { mark, first } = identity();
  const outputs = streams === "split" ? 2 : 1;
  const copying: string[] = [];
  const copied = later();
  const unready = later<number>();
  const started = later<string>();
  const exited = later<Told>();
  const written = later();
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
    const before = '"$hr_inner" sh "$hr_n"';
    const input = stdin === "closed" ? "</dev/null" : "";
    script = `${commandFunctions(command, { cwd, mark, before, input })}\nhr_foreground ${streams} ${first}`;
    // Afterwards the shell exits: it would read unread stdin as its next script.
    if (stdin === "pipe") script += "\nhr_tell end; hr_tell end >&2; exit 0";
  } catch (error) {
    shells.giveBack(shell);
    throw error;
  }
  const output = createOutputLog({ folder: outputFolder });
  const errors = streams === "split" ? createOutputLog({ folder: outputFolder }) : undefined;
  const logs = errors === undefined ? [output] : [output, errors];
  let behind = 0;
  /** A command that writes faster than the local disk has to wait. */
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
    // With merged streams, only the shell itself writes to stderr.
    err: (chunk) => errors !== undefined && void take(errors, chunk),
    told: tell,
  });
  const finished: Promise<undefined | LineLost> = streaming.finished.then(
    () => undefined,
    (error: unknown) =>
      error instanceof LineLost ? error : new LineLost({ code: null, signal: null, said: messageOf(error) }, false),
  );
  const release = () => {
    if (stdin === "pipe") shell.end(); // unread stdin must not be read as a script
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
    if (leader === "") shell.kill(); // something may hang before the command starts
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
    // Its children are ended before the call is over.
    await (lost instanceof LineLost ? within(GONE_MS, stopping.settled()) : stopping.settled());
    stopping.over();
    isOver = true;
    await Promise.all(logs.map((log) => log.end()));
    // A background child may still write. That output is no longer read, and the shell is given back.
    const letGo = () => shells.ask(`kill ${copying.join(" ")} 2>/dev/null`).catch(() => undefined);
    if (!drained.signal.aborted) void copied.promise.then(letGo);
    if (isStuck) return { how: "lost", reason: UNSTOPPABLE };
    if (stopping.stoppedAs !== undefined) return stopping.stoppedAs;
    if (end instanceof LineLost) return { how: "lost", reason: await reasonOf(end, transport) };
    if (end === undefined) return { how: "lost", reason: "the remote shell that watched it was killed" };
    // The connection was lost. This line ends in a moment, with the explanation.
    if (end.orphaned && !stopping.wasStopped)
      return { how: "lost", reason: await reasonOf(await within(GONE_MS, finished), transport) };
    return exitOf(end.code, stopping.wasStopped);
  })();

  return {
    id: beginning,
    output,
    errors,
    exit,
    async write(text) {
      if (stdin === "closed") throw new ToolFailure("this process was started with stdin closed");
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
  return new ToolFailure(`${program} was stopped while it was starting`, {
    hint:
      "If it was not stopped on purpose, something hangs on the remote host: " +
      `check that ${cwd} and the folders of PATH can be listed.`,
  });
}

/** Resolves after all output has arrived and the shell still has not ended: a child holds the output open. */
async function held(written: Promise<void>, finished: AbortSignal): Promise<"held"> {
  await written;
  await pause(HELD_MS, finished);
  return "held";
}

/** Returns the reason of a lost connection. `undefined`: only the loss itself is known. */
async function reasonOf(lost: LineLost | undefined, transport: Pick<Transport, "place" | "explain">): Promise<string> {
  const message =
    lost === undefined ? `the connection to ${transport.place} was lost` : (await transport.explain(lost.end)).message;
  return `${message}; it may have run in full or in part, and what remains of it is ended on the remote host`;
}
