import type { Command, Exit, Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { createOutputLog } from "../../output/log.ts";
import { pause } from "../../util/abort.ts";
import { messageOf } from "../../util/errors.ts";
import { quoteWord } from "../../util/shell.ts";
import { UNSTOPPABLE, stoppingOf } from "../stopping.ts";
import { awaitedLog } from "./awaited-log.ts";
import { endThere, exitOf } from "./ending.ts";
import type { Family } from "./family.ts";
import { outputFilesOf, startInFolder } from "./job-folder.ts";
import { inputOf } from "./job-input.ts";
import { type Ended, watchJobs } from "./lasting-watch.ts";
import type { Shells } from "./shells.ts";

/** Where there is no connection to end it over, that is tried again so often. Milliseconds. */
const AGAIN_MS = 1_000;

export interface LastingOptions {
  readonly shells: Shells;
  readonly family: Family;
  /** Where output goes here that is too big for memory. */
  readonly outputFolder: string;
  /** Where it is, in a sentence. */
  readonly place: string;
}

/** Jobs: commands that live on over a lost connection. */
export interface Lasting {
  /** @throws ToolFailure when it cannot be started. */
  start(command: Command, cwd: string): Promise<Process>;
  /** Nothing is asked any more. Who has not ended by now is `lost`. */
  stop(): void;
}

export function lastingJobs({ shells, family, outputFolder, place }: LastingOptions): Lasting {
  const watch = watchJobs(shells);
  const stopped = new AbortController();
  let numbers = 0;

  const folderFor = async (program: string) => {
    const parent = await family.folder().catch((error: unknown) => {
      throw new ToolFailure(`cannot start ${program}: there is no folder for it there: ${messageOf(error)}`, {
        cause: error,
      });
    });
    return `${parent}/${++numbers}`;
  };

  /** A FIFO lets go of whoever still waits to write into it when it is opened both ways. */
  const remove = async (folder: string) => {
    const input = quoteWord(`${folder}/in`);
    await shells.ask(`[ ! -p ${input} ] || : <>${input}; rm -rf ${quoteWord(folder)}`).catch(() => undefined);
  };

  return {
    async start(command, cwd) {
      const [program] = command.argv;
      if (command.signal?.aborted) throw new ToolFailure(`${program} was stopped before it was started`);
      const folder = await folderFor(program);
      const { mark } = family.lasting();
      const { pid } = await startInFolder(shells, command, { folder, mark, cwd });
      const streams = outputFilesOf(command).map((file) => ({ file, log: createOutputLog({ folder: outputFolder }) }));
      const [output, errors] = streams.map(({ log }) => awaitedLog(log, watch.awaited));
      if (output === undefined) throw new Error("a command has an output");

      let isOver = false;
      /** Some of it goes on, whatever is done. */
      let isLeft = false;
      let leave: () => void = () => undefined;
      const left = new Promise<undefined>((resolve) => (leave = () => resolve(undefined)));
      const stopping = stoppingOf(command, async () => {
        while (!isOver && !stopped.signal.aborted) {
          const all = await endThere(shells, mark, pid).catch(() => undefined); // there is no connection just now
          watch.wake();
          if (all === false) {
            isLeft = true;
            leave();
          }
          if (all !== undefined) return;
          await pause(AGAIN_MS, stopped.signal);
        }
      });
      const ended = new Promise<Ended>((over) => watch.add({ folder, streams, over }));
      const exit = (async (): Promise<Exit> => {
        const end = await Promise.race([ended, left]);
        isOver = true;
        await stopping.settled();
        stopping.over();
        await Promise.all(streams.map(({ file, log }) => log.end(end?.dropped[file])));
        if (end !== undefined) void remove(folder); // otherwise it is still written to
        if (isLeft || end === undefined) return { how: "lost", reason: UNSTOPPABLE };
        return (
          stopping.stoppedAs ?? (end.exit.how === "exited" ? exitOf(end.exit.code, stopping.wasStopped) : end.exit)
        );
      })();

      const input = command.stdin === "pipe" ? inputOf({ shells, folder, place, exit }) : undefined;
      return {
        id: pid,
        output,
        errors,
        exit,
        async write(text) {
          if (input === undefined) throw new ToolFailure("this process has no stdin: it was started with stdin closed");
          await input.write(text);
          watch.wake();
        },
        async endInput() {
          await input?.end();
          watch.wake();
        },
        async kill() {
          await stopping.stop();
          await exit;
        },
      };
    },
    stop() {
      stopped.abort();
      watch.stop();
    },
  };
}
