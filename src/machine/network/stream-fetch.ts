import { type RequestInit, fetch } from "undici";
import { ToolFailure } from "../../core/contract/failure.ts";
import { type AgentOptions, guardedAgent, reachable } from "./agent.ts";

/** The maximum number of bytes of a body, or of one server-sent event: 32 MiB. */
const MAX_BYTES = 33_554_432;

/** A `fetch` for libraries that need one. */
export interface StreamFetch {
  fetch(url: string | URL, init?: globalThis.RequestInit): Promise<Response>;
  /** Closes all connections. */
  close(): Promise<void>;
}

/**
 * Makes a `fetch` through the guard: the URL and every address of each hop is judged like those of `createFetcher`.
 * Bodies are passed on as they are received. A body longer than 32 MiB fails, and so does a longer server-sent event.
 *
 * @throws TypeError for settings that cannot be read, and for a proxy that is none.
 */
export function createStreamFetch(options: AgentOptions = {}): StreamFetch {
  const { agent, judge } = guardedAgent(options);
  return {
    async fetch(url, init) {
      reachable(judge, String(url));
      const given = { ...init, dispatcher: agent } as RequestInit; // the types of Node and undici differ in names only
      const response = (await fetch(url, given)) as unknown as Response;
      if (response.body === null) return response;
      const isEvents = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
      const { status, statusText, headers } = response;
      return new Response(response.body.pipeThrough(bounded(isEvents)), { status, statusText, headers });
    },
    close: () => agent.destroy(),
  };
}

/** Fails after too many bytes. The bytes of completed events no longer count. */
function bounded(isEvents: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const text = isEvents ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length) : undefined;
      const end = Math.max(text?.lastIndexOf("\n\n") ?? -1, text?.lastIndexOf("\r\n\r\n") ?? -1);
      bytes = end === -1 ? bytes + chunk.length : chunk.length - end;
      if (bytes <= MAX_BYTES) controller.enqueue(chunk);
      else controller.error(new ToolFailure(`the response is longer than ${MAX_BYTES} bytes`));
    },
  });
}
