/** The longest delay of a timer of Node.js, in milliseconds (2^31 - 1). A longer one would fire at once. */
export const LONGEST_TIMER_MS = 0x7fff_ffff;

/**
 * Keeps the process alive until the work has ended: what the work waits for may not do so, such as a job, a sandbox
 * that is being ended, or a worker's answer. Settles as the work does.
 */
export async function keepingAlive<T>(work: Promise<T>): Promise<T> {
  timer ??= setInterval(() => {}, LONGEST_TIMER_MS);
  if (running++ === 0) timer.ref();
  try {
    return await work;
  } finally {
    if (--running === 0) timer.unref();
  }
}

/** One timer for all work: to make one and end it for each call would take a twentieth of a call. */
let timer: NodeJS.Timeout | undefined;
let running = 0;
