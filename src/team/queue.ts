import { messageOf } from "../core/util/errors.ts";

/** The queue of the workers of a name, for callers. */
export interface WakeQueue {
  /** Wakes a worker for a call. Never rejects: without it, a worker finds the call when it looks in the record. */
  wake(call: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * All keys on the server begin with this prefix. Workers of several records may share it: a wake-up may be for another.
 */
const PREFIX = "handrail";

/** How long a caller waits for the server. Milliseconds. */
const CONNECT_MS = 5_000;

/**
 * Opens the queue of a name for adding. Does not wait for the server.
 *
 * @throws Error that names the packages if they are missing.
 */
export async function openQueue(url: string, name: string): Promise<WakeQueue> {
  const { Queue, Redis } = await libraries();
  const connection = new Redis(url, {
    enableOfflineQueue: false, // a server that is away must not hold calls back
    maxRetriesPerRequest: 1,
    connectTimeout: CONNECT_MS,
  });
  connection.on("error", () => {});
  const connected = new Promise<void>((resolve) => {
    connection.once("ready", resolve);
    setTimeout(resolve, CONNECT_MS).unref();
  });
  const queue = new Queue(name, {
    connection,
    prefix: PREFIX,
    skipWaitingForReady: true,
    skipVersionCheck: true,
  });
  queue.on("error", () => {});
  return {
    async wake(call) {
      await connected;
      // A job is delivered at most once, and is only a wake-up: the claim in the record decides who makes which call.
      const how = { attempts: 1, removeOnComplete: true, removeOnFail: true } as const;
      await queue.add("call", { call }, how).catch(() => undefined);
    },
    async close() {
      await queue.close().catch(() => undefined);
      connection.disconnect();
    },
  };
}

export interface WorkOptions {
  readonly name: string;
  readonly concurrency: number;
  /** Does the work of one wake-up. The queue gives no further one to this process while `concurrency` are open. */
  readonly work: () => Promise<void>;
  readonly onError: (message: string) => void;
}

/**
 * Takes wake-ups from the queue until the returned function is called.
 *
 * @throws Error that names the packages if they are missing.
 */
export async function takeFromQueue(
  url: string,
  { name, concurrency, work, onError }: WorkOptions,
): Promise<() => Promise<void>> {
  const { Worker, Redis } = await libraries();
  const connection = new Redis(url, { maxRetriesPerRequest: null, connectTimeout: CONNECT_MS });
  let told = "";
  const report = (error: unknown) => {
    const message = messageOf(error) || "the connection failed";
    if (/^Missing (?:key|lock) for job/.test(message)) return; // a server that lost its jobs: the record has the calls
    if (message !== told) onError(`queue: ${message}`);
    told = message;
  };
  connection.on("error", report);
  connection.on("ready", () => (told = ""));
  const worker = new Worker(name, work, {
    connection,
    prefix: PREFIX,
    concurrency,
    maxStalledCount: 0, // whoever took a wake-up and died is found in the record
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
    skipVersionCheck: true,
  });
  worker.on("error", report);
  return async () => {
    await worker.close(true).catch(() => undefined);
    connection.disconnect();
  };
}

async function libraries() {
  try {
    const [{ Queue, Worker }, { Redis }] = await Promise.all([import("bullmq"), import("ioredis")]);
    return { Queue, Worker, Redis };
  } catch (error) {
    throw new Error(
      `queue: needs the packages bullmq and ioredis, which do not load (${messageOf(error)}). Install them where ` +
        "Handrail is installed: npm install bullmq ioredis",
      { cause: error },
    );
  }
}
