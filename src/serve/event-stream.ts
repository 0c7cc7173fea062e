/** One event of a stream: data that is sent as JSON. */
export interface StreamEvent {
  /** With which a client resumes after it. */
  readonly id?: string | number;
  /** The name of the event. Default: none, which browsers call "message". */
  readonly event?: string;
  readonly data: unknown;
}

/** A comment is sent after this time without events, in milliseconds, so that both sides notice a dead connection. */
const HEARTBEAT_MS = 15_000;

/**
 * The most bytes buffered for a slow client. When the buffer is full, no event is read until the client has read some.
 */
const BUFFER_BYTES = 65_536;

export interface EventStreamOptions {
  /** Ends the stream. */
  readonly signal: AbortSignal;
  /** Sent as the data of a last event, as it is. Default: nothing. */
  readonly last?: string;
  readonly heartbeatMs?: number;
}

/**
 * Returns the events as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). `start`
 * gets a signal that fires when the client disconnects or `signal` fires. The stream ends when the events end.
 */
export function eventStream(
  start: (signal: AbortSignal) => AsyncIterable<StreamEvent>,
  { signal, last, heartbeatMs = HEARTBEAT_MS }: EventStreamOptions,
): Response {
  const gone = new AbortController();
  const encoder = new TextEncoder();
  let events: AsyncIterator<StreamEvent> | undefined;
  let next: Promise<IteratorResult<StreamEvent>> | undefined;
  const stop = () => gone.abort();
  signal.addEventListener("abort", stop, { once: true });

  const end = () => {
    signal.removeEventListener("abort", stop);
    gone.abort();
  };

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        // Tells the client at once that it is connected, and after how many milliseconds to reconnect.
        controller.enqueue(encoder.encode("retry: 1000\n\n"));
      },
      async pull(controller) {
        events ??= start(gone.signal)[Symbol.asyncIterator]();
        next ??= events.next();
        const result = await withinMs(next, heartbeatMs);
        if (result === undefined) return controller.enqueue(encoder.encode(":\n\n"));
        next = undefined;
        if (result.done === true) {
          end();
          if (last !== undefined) controller.enqueue(encoder.encode(`data: ${last}\n\n`));
          return controller.close();
        }
        const { id, event, data } = result.value;
        const head = `${id === undefined ? "" : `id: ${id}\n`}${event === undefined ? "" : `event: ${event}\n`}`;
        controller.enqueue(encoder.encode(`${head}data: ${JSON.stringify(data)}\n\n`));
      },
      cancel: end,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: BUFFER_BYTES }),
  );
  return new Response(body, {
    headers: { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" },
  });
}

/** Resolves to the promise's value, or to `undefined` if the promise takes longer than `ms`. */
async function withinMs<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), ms).unref()));
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
