/** One event of a stream: its id, which a client names to resume behind it, and data that is sent as JSON. */
export interface StreamEvent {
  readonly id: string | number;
  readonly data: unknown;
}

/** A comment is sent where there was nothing for so long, so that both sides notice a dead connection. */
const HEARTBEAT_MS = 15_000;

/** Bytes that wait for a slow client; past them no event is read until it has taken some. */
const BUFFER_BYTES = 65_536;

/**
 * The events as a stream of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). `start` gets a signal that fires
 * when the client has gone or `signal` fires. The stream ends where the events end.
 */
export function eventStream(
  start: (signal: AbortSignal) => AsyncIterable<StreamEvent>,
  { signal, heartbeatMs = HEARTBEAT_MS }: { readonly signal: AbortSignal; readonly heartbeatMs?: number },
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
        // A client learns at once that it is connected, and how soon to come back.
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
          return controller.close();
        }
        const { id, data } = result.value;
        controller.enqueue(encoder.encode(`id: ${id}\ndata: ${JSON.stringify(data)}\n\n`));
      },
      cancel: end,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: BUFFER_BYTES }),
  );
  return new Response(body, {
    headers: { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" },
  });
}

/** The promise's value; `undefined` when it takes longer. */
async function withinMs<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), ms).unref()));
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
