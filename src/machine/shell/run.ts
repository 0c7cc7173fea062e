import type { Command, Process } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { type WritableOutputLog, createOutputLog } from "../../core/output/log.ts";
import { pause, untilAborted, within } from "../../core/util/abort.ts";
import { messageOf } from "../../core/util/errors.ts";
import { later } from "../../core/util/promises.ts";
import { keptStreams } from "../process/command.ts";
import type { Ended, Stopped } from "../process/life.ts";
import { type Driver, type Started, run, untilOver } from "../process/run.ts";
import { type ContainedScript, commandFunctions, startFailure, unreadyFailure } from "./command-script.ts";
import { endIfHeard } from "./end-processes.ts";
import type { Transport } from "./transport.ts";
import { LineLost, type Shell, type Streaming } from "./shell.ts";
import type { Shells } from "./shells.ts";

/** How long to wait for the shell when the output is complete. After that, a child holds it open. Milliseconds. */
const HELD_MS = 100;

/** How long to wait for the exit report after all was ended. Then the command cannot be ended. Milliseconds. */
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
  /** The mark of the process and its children, and the PID of the first shell. Called when there is a shell. */
  readonly identity: () => { readonly mark: string; readonly first: number };
  readonly contained?: StartedContained | undefined;
}

/** A contained command, and what gets the words of its script's reports. */
export interface StartedContained extends ContainedScript {
  readonly told: (words: string) => void;
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
    if (command.signal?.aborted) options.shells.giveBack(shell);
    try {
      return await run(command, driverIn(shell, command, options));
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
  const taking = shells.take();
  if (signal === undefined) return taking;
  return untilAborted(taking, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    void taking.then(shells.giveBack, () => undefined);
    throw new ToolFailure(`${argv[0]} was stopped before it was started`);
  });
}

/** How a command ended, as its shell reports it. `orphaned`: everything was being ended, so the code means nothing. */
interface ExitReport {
  readonly code: number;
  readonly orphaned: boolean;
}

/** The reports of a shell about its command. */
function createReports(outputs: number, contained?: (words: string) => void) {
  const [started, unready, exited] = [later<string>(), later<number>(), later<ExitReport>()];
  const [written, copied] = [later(), later<readonly string[]>()];
  const copying: string[] = [];
  let unwritten = outputs;
  return {
    /** Takes the words of a report. */
    told(words: string) {
      const [word = "", value = ""] = words.split(" ");
      if (word === "started") started.resolve(value);
      if (word === "contained") contained?.(value);
      if (word === "unready") unready.resolve(Number(value));
      if (word === "copying" && copying.push(value) === outputs) copied.resolve(copying);
      if (word === "written" && --unwritten === 0) written.resolve();
      if (word === "exited" || word === "orphaned")
        exited.resolve({ code: Number(value), orphaned: word === "orphaned" });
    },
    /** Resolves to the command's PID on the remote host. */
    started: started.promise,
    /** Resolves to the reason for which it cannot be started. */
    unready: unready.promise,
    exited: exited.promise,
    /** Resolves when everything that the command itself has written has arrived. */
    written: written.promise,
    /** Resolves to the PIDs of the processes that copy the output. */
    copied: copied.promise,
  };
}

type Outputs = ReturnType<typeof streamTo>;

/** Starts a script whose output goes to logs on this machine. */
function streamTo(
  shell: Shell,
  script: string,
  { folder, streams, told }: { folder: string; streams: "merged" | "split"; told: (words: string) => void },
) {
  const out = createOutputLog({ folder });
  const errors = streams === "split" ? createOutputLog({ folder }) : undefined;
  const logs = errors === undefined ? [out] : [out, errors];
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
    out: (chunk) => void take(out, chunk),
    // With merged streams, only the shell itself writes to stderr.
    err: (chunk) => errors !== undefined && void take(errors, chunk),
    told,
  });
  /** Resolves when the script and its output have ended. Resolves to the reason if the script's line was lost. */
  const finished: Promise<LineLost | undefined> = streaming.finished.then(
    () => undefined,
    (error: unknown) =>
      error instanceof LineLost ? error : new LineLost({ code: null, signal: null, message: messageOf(error) }, false),
  );
  return {
    ...{ out, errors, finished, streaming },
    end: () => Promise.all(logs.map((log) => log.end())),
    dispose: () => logs.forEach((log) => void log.dispose()),
  };
}

/** How a command is run and ended in a shell that was acquired for it. The shell is given back at its end. */
function driverIn(shell: Shell, command: Command, options: RunOptions): Driver {
  const { shells, transport, outputFolder: folder, cwd, identity, contained } = options;
  const { argv, stdin } = command;
  const program = contained?.program ?? argv[0];
  const streams = keptStreams(command);
  const isPiped = stdin === "pipe";
  const { mark, first } = identity();
  const reports = createReports(streams === "split" ? 2 : 1, contained?.told);
  const { told, exited, written, copied } = reports;
  let outputs: Outputs | undefined;
  let leader = "";
  let isGivenBack = false;
  /** Another command may have the shell once it is given back. */
  const killShell = () => isGivenBack || shell.kill();

  const begin = (): Outputs => {
    try {
      const place = { cwd, mark, before: '"$hr_inner" sh "$hr_n"', input: isPiped ? "" : "</dev/null", contained };
      const script = `${commandFunctions(command, place)}\nhr_foreground ${streams} ${first}`;
      // Afterwards the shell exits: it would read unread stdin as its next script.
      const last = isPiped ? "\nhr_tell end; hr_tell end >&2; exit 0" : "";
      return streamTo(shell, script + last, { folder, streams, told });
    } catch (error) {
      shells.giveBack(shell);
      throw error;
    }
  };
  /** Resolves to the PID, or to why there is no PID. */
  const beginning = ({ finished, out }: Outputs): Promise<string | Error> =>
    Promise.race([
      reports.started,
      reports.unready.then((code) => unreadyFailure(code, program, cwd)),
      finished.then(async (lost) => lost ?? startFailure(Buffer.from(await out.tail(2_000)).toString("utf8"), program)),
    ]);

  return {
    startHint:
      "If it was not stopped on purpose, something hangs on the remote host: " +
      `check that ${cwd} and the folders of PATH can be listed.`,
    async start(): Promise<Started> {
      const { out, errors, finished, streaming, end, dispose } = (outputs = begin());
      const drained = new AbortController();
      void finished.then(() => {
        drained.abort();
        if (isPiped) shell.end(); // unread stdin must not be read as a script
        isGivenBack = true;
        shells.giveBack(shell);
      });
      const begun = await beginning(outputs);
      if (typeof begun !== "string") {
        dispose();
        throw begun;
      }
      leader = begun;
      return {
        id: leader,
        output: out,
        errors,
        ended: () => endOf(exited, finished, transport),
        async complete() {
          await Promise.race([finished, written.then(() => pause(HELD_MS, drained.signal))]);
          await end();
          if (drained.signal.aborted) return;
          // A background child may still write. That output is no longer read, and the shell is given back.
          const letGo = (pids: readonly string[]) => shells.ask(`kill ${pids.join(" ")} 2>/dev/null`);
          void copied.then(letGo).catch(() => undefined);
        },
        ...(isPiped && {
          input: {
            write: (text: string, over: AbortSignal) => untilOver(streaming.write(Buffer.from(text, "utf8")), over),
            end: () => streaming.endInput(),
          },
        }),
      };
    },
    async signal(): Promise<Stopped> {
      if (leader === "") killShell(); // something may hang before the command starts
      const lost = outputs?.finished.then((end) => (end === undefined ? never() : pause(GONE_MS))) ?? never();
      const all = await Promise.race([endIfHeard(shells, mark, leader), lost.then(() => "lost" as const)]);
      if (all === "lost") return "none";
      const over = outputs?.finished.then(() => true) ?? never();
      const isTold = all === true && (await within(TOLD_MS, Promise.race([exited, over]))) !== undefined;
      if (!isTold) killShell();
      return isTold || all === "unheard" ? "all" : "left";
    },
  };
}

/** Resolves to how a command has ended, by the reports of its shell or by the end of its line. */
async function endOf(
  exited: Promise<ExitReport>,
  finished: Outputs["finished"],
  transport: RunOptions["transport"],
): Promise<Ended> {
  const end = await Promise.race([exited, finished]);
  if (end instanceof LineLost) return { how: "lost", reason: await reasonOf(end, transport) };
  if (end === undefined) return { how: "lost", reason: "the remote shell that watched it was killed" };
  if (!end.orphaned) return { how: "code", code: end.code };
  // The connection was lost. This line ends in a moment, with the explanation.
  return { how: "lost", reason: await reasonOf(await within(GONE_MS, finished), transport) };
}

const never = () => new Promise<never>(() => undefined);

/** Returns the reason of a lost connection. `undefined`: only the loss itself is known. */
async function reasonOf(lost: LineLost | undefined, transport: Pick<Transport, "place" | "explain">): Promise<string> {
  const message =
    lost === undefined ? `the connection to ${transport.place} was lost` : (await transport.explain(lost.end)).message;
  return `${message}; it may have run in full or in part, and what remains of it is ended on the remote host`;
}
