import { resolve } from "node:path";
import { stateFolder, undoFolder } from "../../app/config/state.ts";
import { createToolkit } from "../../app/toolkit.ts";
import { messageOf } from "../../core/util/errors.ts";
import { randomName } from "../../core/util/identifier.ts";
import { workerUndo } from "../../team/undo.ts";
import { createClaims, startWorker } from "../../team/worker.ts";
import type { GlobalOptions } from "../options.ts";
import { say, warn } from "../say.ts";
import { settingsFrom, tellHowToAttach, toolkitOptions } from "../settings.ts";
import { untilStopped } from "../signals.ts";

export interface WorkerCommandOptions extends GlobalOptions {
  readonly name?: string;
  readonly concurrency?: number;
  readonly maxWaiting?: number;
  /** Limits of tools: "bash=1". */
  readonly limit?: readonly string[];
}

const DEFAULT_CONCURRENCY = 4;
const DEFAULT_WAITING = 100;

/** Makes the calls that are delivered to workers of this name, until the process is asked to end. */
export async function run({ name, concurrency, maxWaiting, limit = [], ...options }: WorkerCommandOptions) {
  if (name === undefined) throw new Error("a worker needs a name, which its callers use: --name build");
  const { queue, store } = await settingsFrom(options);
  if (store === "memory") throw new Error("a worker shares its store with callers. Set store: postgres://… or sqlite");
  const given = await toolkitOptions({ preset: "all", ...options }, { sources: true });
  const claims = createClaims();
  const id = randomName(4);
  const toolkit = await createToolkit({
    ...given,
    beforeAct: claims.beforeAct,
    grants: "once", // the caller has the grants of its person
    outputOwner: "worker",
    workerId: id,
    ...(given.undo === true &&
      given.target === undefined && {
        tools: [
          ...(given.tools ?? []),
          workerUndo(undoFolder(resolve(options.io.cwd, given.stateDir ?? stateFolder(options.io.env)))),
        ],
      }),
  });
  const stopped = untilStopped(options.io);
  const slots = concurrency ?? DEFAULT_CONCURRENCY;
  const onError = (message: string) => warn(options.io, [message]);
  try {
    await tellHowToAttach(options.io, toolkit);
    await toolkit.ready;
    const take =
      queue === undefined
        ? undefined
        : async (work: () => Promise<void>) => {
            const { takeFromQueue } = await import("../../team/queue.ts");
            return await takeFromQueue(queue, { name, concurrency: slots, work, onError });
          };
    const worker = await startWorker(toolkit, claims, {
      ...{
        name,
        id,
        concurrency: slots,
        maxWaiting: maxWaiting ?? DEFAULT_WAITING,
        onError,
      },
      toolLimits: Object.fromEntries(limit.map(limitOf)),
      ...(take !== undefined && { queue: take }),
    });
    say(options.io, `worker:${name} (${id}) makes calls in ${toolkit.backend.workDir}`);
    if (!stopped.signal.aborted)
      await new Promise((end) => stopped.signal.addEventListener("abort", end, { once: true }));
    await worker.close();
  } finally {
    await toolkit.close().catch((error: unknown) => warn(options.io, [messageOf(error)]));
    stopped.release();
  }
}

function limitOf(written: string): [string, number] {
  const [, tool, calls] = /^([A-Za-z_][\w-]*)=([1-9]\d{0,5})$/.exec(written) ?? [];
  if (tool === undefined) throw new Error(`--limit ${written}: expected TOOL=CALLS, such as bash=1`);
  return [tool, Number(calls)];
}
