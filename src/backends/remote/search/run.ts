import type { Exit, Process } from "../../../contract/backend.ts";
import { ToolFailure } from "../../../contract/failure.ts";
import { createOutputLog } from "../../../output/log.ts";
import { onAbort } from "../../../util/abort.ts";
import { messageOf } from "../../../util/errors.ts";

/** What the work of a run is done with. */
export interface Run {
  write(bytes: Uint8Array): void;
  /** A line for stderr, as ripgrep says it: "PATH: what is wrong with it". */
  complain(line: string): void;
  /** Whoever is adopted is ended when the run is. Gives the process back. */
  adopt(process: Process): Process;
  readonly isStopped: () => boolean;
}

export interface RunOptions {
  readonly outputFolder: string;
  readonly signal?: AbortSignal;
  /** Where its stdin goes. Default: it is closed. */
  readonly input?: Process;
}

let runs = 0;

/** What several programs do there together, as one process. `work` resolves to its exit code; where it throws, stderr says why. */
export function runAsProcess(
  work: (run: Run) => Promise<number>,
  { outputFolder, signal, input }: RunOptions,
): Process {
  const output = createOutputLog({ folder: outputFolder });
  const errors = createOutputLog({ folder: outputFolder });
  const adopted = new Set<Process>();
  let stopped: Exit | undefined;
  let isDone = false;

  const stop = (as: Exit) => {
    if (isDone) return;
    stopped ??= as;
    for (const each of adopted) void each.kill();
  };
  const adopt = (process: Process): Process => {
    adopted.add(process);
    void process.exit.then((how) => {
      // Nothing that has gone through it can be relied on any more.
      if (how.how === "lost" || how.how === "signaled") stop(how);
    });
    if (stopped !== undefined) void process.kill();
    return process;
  };
  const complain = (line: string) => errors.write(Buffer.from(`rg: ${line}\n`));
  if (input !== undefined) adopt(input);
  const release = signal === undefined ? () => undefined : onAbort(signal, () => stop({ how: "aborted" }));

  const exit = (async (): Promise<Exit> => {
    let code = 2;
    try {
      code = await work({
        write: (bytes) => output.write(bytes),
        complain,
        adopt,
        isStopped: () => stopped !== undefined,
      });
    } catch (error) {
      if (stopped === undefined) complain(messageOf(error));
    }
    isDone = true;
    release();
    await Promise.all([...adopted].map((each) => each.kill()));
    const dropped = [...adopted].some((each) => each.output.size > each.output.kept) ? 1 : 0;
    await Promise.all([
      output.end(dropped),
      errors.end(),
      ...[...adopted].flatMap((each) => [each.output.dispose(), each.errors?.dispose()]),
    ]);
    return stopped ?? { how: "exited", code };
  })();

  return {
    id: `search ${++runs}`,
    output,
    errors,
    exit,
    async write(text) {
      if (input === undefined) throw new ToolFailure("this process has no stdin: it was started with stdin closed");
      await input.write(text);
    },
    endInput: async () => input?.endInput(),
    async kill() {
      stop({ how: "signaled", signal: "SIGTERM" });
      await exit;
    },
  };
}
