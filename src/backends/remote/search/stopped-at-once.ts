import type { Exit, Process } from "../../../contract/backend.ts";
import { pause } from "../../../util/abort.ts";
import type { Shells } from "../shells.ts";

/** A program that looks at files has no more to do when it is told to end; after so long it is ended like any other. Milliseconds. */
const TOLD_MS = 500;

/**
 * A program of ours that starts no others, so its end is all there is to end: one signal, and nobody looks through all processes there for what
 * it may have started. That takes many times as long, and searches that find much are stopped.
 */
export function stoppedAtOnce(child: Process, shells: Pick<Shells, "ask">): Process {
  let isStopped = false;
  const over = new AbortController();
  const exit = child.exit.then((how): Exit => {
    over.abort();
    return isStopped && how.how === "exited" && how.code === TERMINATED ? { how: "signaled", signal: "SIGTERM" } : how;
  });
  const stop = async () => {
    await shells.ask(`kill -s TERM ${Number(child.id)} 2>/dev/null`).catch(() => undefined); // then it is ended below
    await pause(TOLD_MS, over.signal);
    if (!over.signal.aborted) await child.kill();
  };
  return {
    id: child.id,
    output: child.output,
    errors: child.errors,
    exit,
    write: (text) => child.write(text),
    endInput: () => child.endInput(),
    async kill() {
      if (!isStopped && !over.signal.aborted) {
        isStopped = true;
        await stop();
      }
      await exit;
    },
  };
}

/** What a shell says of a program that SIGTERM has ended: 128 and the signal's number. */
const TERMINATED = 143;
