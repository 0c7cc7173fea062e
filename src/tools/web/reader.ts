import { Worker } from "node:worker_threads";
import { ToolFailure } from "../../core/contract/failure.ts";
import { onAbort, pause } from "../../core/util/abort.ts";
import { codeOf, messageOf } from "../../core/util/errors.ts";
import type { WorkerResult, Job, Reading, ReadingOf } from "./jobs.ts";

export interface ReadOptions {
  readonly signal: AbortSignal;
  /** The timeout of a conversion, from the moment it starts. Milliseconds; default 15,000. */
  readonly timeoutMs?: number;
}

/** The size of the worker's heap. A page of 10 MB needs some 400. */
const MEMORY_MB = 768;
const TIMEOUT_MS = 15_000;
/** How long an idle worker is kept: a start takes a tenth of a second. */
const IDLE_MS = 30_000;

let idle: { readonly worker: Worker; readonly end: NodeJS.Timeout } | undefined;
let last: Promise<unknown> = Promise.resolve();

/**
 * Converts content from the web in a worker, so that a page can neither block nor end this process. One at a time;
 * others wait.
 *
 * @throws ToolFailure when it takes too long, needs too much memory or cannot be converted; the signal's reason.
 */
export function read<K extends Job["kind"]>(
  job: Extract<Job, { kind: K }>,
  options: ReadOptions,
): Promise<ReadingOf[K]> {
  const reading = last.then(() => readNow(job, options));
  last = reading.catch(() => undefined);
  return reading as Promise<ReadingOf[K]>;
}

async function readNow(job: Job, { signal, timeoutMs = TIMEOUT_MS }: ReadOptions): Promise<Reading> {
  signal.throwIfAborted();
  const worker = takeWorker();
  const done = new AbortController();
  try {
    const answer = await Promise.race([
      answerOf(worker, job, done.signal),
      pause(timeoutMs, done.signal, { keepsAlive: false }).then(() => "late" as const),
      new Promise<never>((_, reject) => {
        const release = onAbort(signal, () => reject(signal.reason as Error));
        onAbort(done.signal, release);
      }),
    ]);
    if (answer === "late") throw tooMuch(job, `takes longer than ${timeoutMs / 1_000} s to read`);
    keepWorker(worker);
    if (answer.ok) return answer.reading;
    throw new ToolFailure(`the ${NAMES[job.kind]} could not be read: ${answer.message}`);
  } catch (error) {
    if (idle?.worker !== worker) void worker.terminate();
    throw error;
  } finally {
    done.abort();
  }
}

function answerOf(worker: Worker, job: Job, done: AbortSignal): Promise<WorkerResult> {
  return new Promise((resolve, reject) => {
    const failed = (error: unknown) => {
      const isMemory = codeOf(error) === "ERR_WORKER_OUT_OF_MEMORY";
      reject(isMemory ? tooMuch(job, `needs more than ${MEMORY_MB} MB of memory to be read`) : unread(job, error));
    };
    const ended = () => reject(unread(job, new Error("its thread ended")));
    worker.once("message", resolve).once("error", failed).once("exit", ended);
    onAbort(done, () => worker.off("message", resolve).off("error", failed).off("exit", ended));
    worker.ref();
    worker.postMessage(job, []);
  });
}

function takeWorker(): Worker {
  const kept = idle;
  idle = undefined;
  if (kept !== undefined) {
    clearTimeout(kept.end);
    return kept.worker;
  }
  const resourceLimits = { maxOldGenerationSizeMb: MEMORY_MB };
  const worker = new Worker(new URL(__WEB_WORKER__, import.meta.url), { resourceLimits, stdout: true, stderr: true });
  for (const printed of [worker.stdout, worker.stderr]) printed.resume(); // warnings of libraries about a page
  return worker.on("error", () => undefined); // even when nobody waits for it
}

/** Neither the worker nor its end keeps the process alive. */
function keepWorker(worker: Worker): void {
  worker.unref();
  const end = setTimeout(() => {
    idle = undefined;
    void worker.terminate();
  }, IDLE_MS).unref();
  idle = { worker, end };
}

const NAMES: { readonly [kind in Job["kind"]]: string } = {
  html: "page",
  json: "JSON",
  pdf: "PDF",
  results: "page of results",
};

function tooMuch(job: Job, what: string): ToolFailure {
  return new ToolFailure(`the ${NAMES[job.kind]} ${what}`, {
    hint: "Fetch a smaller page of the same site, or the part that you need.",
  });
}

function unread(job: Job, error: unknown): ToolFailure {
  return new ToolFailure(`the ${NAMES[job.kind]} could not be read: ${messageOf(error)}`, { cause: error });
}
