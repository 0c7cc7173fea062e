import type { StoredEvent } from "../../src/core/contract/activity.ts";
import { RequestFailed, readEvents } from "./api.ts";
import { notifies } from "./notifications.ts";

/** Whether events are arriving. */
export type StreamState =
  | { readonly how: "connecting" }
  | { readonly how: "connected" }
  /** The next attempt is made at `retryMs`. Both are in milliseconds since 1970. */
  | { readonly how: "lost"; readonly sinceMs: number; readonly retryMs: number };

export interface EventStreamOptions {
  /** Only events after this one. */
  readonly after: number;
  /** Called with the events in order. Events that arrive within one frame are passed together. */
  readonly onEvents: (events: readonly StoredEvent[]) => void;
  readonly onConnection: (connection: StreamState) => void;
  /** Called when the session of this browser has ended. */
  readonly onRefused: (error: RequestFailed) => void;
}

/** Longest pause between two attempts, in milliseconds. */
const LONGEST_PAUSE_MS = 15_000;
/**
 * A page in the background closes its connection after this time, because a browser allows six connections per host. If
 * notifications are on, one background page keeps its connection.
 */
const UNWATCHED_MS = 60_000;
const BACKGROUND_LOCK = "handrail-background";
/** A page in the background gets no animation frames. Its events are delivered after this time, in milliseconds. */
const BACKGROUND_MS = 250;

/**
 * Follows the events of all threads. After a lost connection it resumes after the last event, so that none is missed or
 * repeated. Returns a function that attempts to connect at once.
 */
export function followEvents({ after, onEvents, onConnection, onRefused }: EventStreamOptions): () => void {
  let last = after;
  let lostSince: number | undefined;
  let pauseMs = 1_000;
  let source: AbortController | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let queue: StoredEvent[] = [];

  const flush = () => {
    const events = queue;
    queue = [];
    onEvents(events);
  };

  const connect = () => {
    clearTimeout(retry);
    source?.abort();
    const opened = new AbortController();
    source = opened;
    const onOpen = () => {
      lostSince = undefined;
      pauseMs = 1_000;
      onConnection({ how: "connected" });
    };
    const onEvent = (received: unknown) => {
      const event = received as StoredEvent;
      if (opened.signal.aborted || event.id <= last) return;
      last = event.id;
      if (queue.push(event) > 1) return;
      if (document.hidden) setTimeout(flush, BACKGROUND_MS);
      else requestAnimationFrame(flush);
    };
    const onEnd = (error?: unknown) => {
      if (opened.signal.aborted) return;
      opened.abort();
      if (error instanceof RequestFailed && error.status === 401) return onRefused(error);
      lostSince ??= Date.now();
      const retryMs = Date.now() + pauseMs;
      retry = setTimeout(connect, pauseMs);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      onConnection({ how: "lost", sinceMs: lostSince, retryMs });
    };
    const { signal } = opened;
    readEvents(`/api/events?after=${last}`, { signal, onOpen, onEvent }).then(() => onEnd(), onEnd);
  };

  let unwatched: ReturnType<typeof setTimeout> | undefined;
  let watch = () => {};
  /** Closes the connection, and opens it again if no other background page has one. */
  const rest = () => {
    source?.abort();
    if (!notifies()) return;
    const waiting = new AbortController();
    const watched = new Promise<void>((resolve) => {
      watch = () => {
        resolve();
        waiting.abort();
      };
    });
    const turn = async () => {
      connect();
      await watched;
    };
    navigator.locks.request(BACKGROUND_LOCK, { signal: waiting.signal }, turn).catch(() => undefined);
  };
  document.addEventListener("visibilitychange", () => {
    clearTimeout(unwatched);
    watch();
    if (document.hidden) unwatched = setTimeout(rest, UNWATCHED_MS);
    if (!document.hidden && source?.signal.aborted === true) connect();
  });
  connect();
  window.addEventListener("online", connect);
  return connect;
}
