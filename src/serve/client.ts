import type { ThreadSummary } from "../core/contract/activity.ts";
import type { Approval } from "../core/contract/decision.ts";
import type { Draft, Event, Question, StreamedMessage, ThreadMessage, Turn } from "./api-types.ts";

export type { ToolActivity } from "../record/activity/fold.ts";
export type { Approval, Draft, Event, Question, StreamedMessage, ThreadMessage, ThreadSummary, Turn };

export interface ClientOptions {
  /** The address of `handrail serve`. Default: "http://127.0.0.1:4747". */
  readonly url?: string;
  /** The token of `handrail serve`. */
  readonly token: string;
}

export interface FollowOptions {
  /** Only what an event after this one made or changed. Default 0: everything. */
  readonly after?: number;
  /** Ends the stream. */
  readonly signal?: AbortSignal;
}

/** A conversation as an app shows it. */
export interface Conversation {
  /** In order. The last one may be a draft: the reply that the model is writing. */
  readonly messages: readonly (StreamedMessage | Draft)[];
  /** How the last turn ended, until something is added. */
  readonly turn?: Turn;
}

/** A change of a call's cell. `null` deletes a field; `data` is merged. */
export interface CellChange {
  readonly data?: object;
  readonly display_message?: string | null;
  readonly error?: string | null;
}

/** What a call through the API returns. */
export interface CallOutcome {
  readonly call: string;
  /** "ok", "denied", "failed", … */
  readonly status: string;
  readonly isError: boolean;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
}

/**
 * A client of the HTTP API (docs/api.md), for browsers and Node. Every method rejects with `RequestFailed`. A stream
 * that breaks is resumed, and nothing is missed or repeated; it fails only if the server refuses it.
 */
export interface Client {
  /** Any other request: the JSON of the answer. A `body` makes it a POST request. */
  request<T>(path: string, body?: object, signal?: AbortSignal): Promise<T>;
  threads(): Promise<readonly ThreadSummary[]>;
  /** Resolves to the id of a new thread. */
  createThread(): Promise<string>;
  /** The messages of a thread, in order. */
  messages(thread: string, after?: number): Promise<readonly ThreadMessage[]>;
  /**
   * Calls back with the whole conversation, at once and after every change, until the signal fires. Resolves then.
   * Changes that arrive together are one call.
   */
  watch(thread: string, onChange: (now: Conversation) => void, signal?: AbortSignal): Promise<void>;
  /** Yields the events of a thread or, with `undefined`, of all threads and processes. */
  events(thread: string | undefined, options?: FollowOptions): AsyncGenerator<Event, void>;
  /** Gives the agent of a thread a message: a new turn or, while one runs, steering. */
  prompt(thread: string, text: string): Promise<void>;
  /** Makes a call, and resolves to its outcome. */
  call(thread: string, name: string, input?: object): Promise<CallOutcome>;
  /** Stops the turn and the calls of a thread, or one call. */
  stop(what: { readonly thread: string } | { readonly call: string }): Promise<void>;
  /** The open questions of all processes, oldest first. */
  questions(): Promise<readonly Question[]>;
  /** Answers a question. Rejects with the status 409 if it is closed, and 403 if it may not be approved from here. */
  answer(question: string, approval: Approval): Promise<void>;
  /** Changes the cell of a call, also after its end. */
  updateActivity(call: string, change: CellChange): Promise<ThreadMessage>;
}

/** A failed request. The message is for people. */
export class RequestFailed extends Error {
  override readonly name = "RequestFailed";
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Pauses before a stream is resumed, in milliseconds. They double up to the last one. */
const FIRST_PAUSE_MS = 500;
const LAST_PAUSE_MS = 15_000;

/** Makes a client. Nothing is sent until it is used. */
export function createClient({ url = "http://127.0.0.1:4747", token }: ClientOptions): Client {
  const send = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = { ...(init.headers as { [name: string]: string }), authorization: `Bearer ${token}` };
    const answer = await fetch(url.replace(/\/$/, "") + path, { ...init, headers }).catch((error: unknown) => {
      if (init.signal?.aborted === true) throw error;
      throw new RequestFailed(0, `${url} does not answer. Does \`handrail serve\` run, with this origin allowed?`);
    });
    if (answer.ok) return answer;
    const { detail } = (await answer.json().catch(() => ({}))) as { readonly detail?: string };
    throw new RequestFailed(answer.status, detail ?? `The server answered ${answer.status}.`);
  };

  const request = async <T>(path: string, body?: object, signal?: AbortSignal): Promise<T> => {
    const headers = { "content-type": "application/json" };
    const post = body !== undefined && { method: "POST", headers, body: JSON.stringify(body) };
    return (await (await send(path, { ...post, signal: signal ?? null })).json()) as T;
  };

  /** Yields the pieces of a stream, the events of each together; an empty piece whenever it is connected. */
  async function* follow(path: string, signal?: AbortSignal): AsyncGenerator<readonly Received[], void> {
    let last = "";
    const isOver = () => signal?.aborted === true;
    for (let pauseMs = FIRST_PAUSE_MS; !isOver(); pauseMs = Math.min(2 * pauseMs, LAST_PAUSE_MS)) {
      try {
        const resumed = last === "" ? {} : { "last-event-id": last };
        const answer = await send(path, { headers: resumed, signal: signal ?? null });
        yield [];
        let text = "";
        const decoder = new TextDecoder();
        for await (const bytes of chunksOf(answer)) {
          const parts = (text + decoder.decode(bytes, { stream: true })).split("\n\n");
          text = parts.pop() ?? "";
          const events = parts.flatMap(parse);
          last = events.findLast(({ id }) => id !== undefined)?.id ?? last;
          if (events.length > 0) yield events;
          pauseMs = FIRST_PAUSE_MS;
        }
      } catch (error) {
        const isFinal = error instanceof RequestFailed && error.status >= 400 && error.status < 500;
        if (isFinal && !isOver()) throw error;
      }
      if (!isOver()) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  return {
    request,
    threads: async () => (await request<{ threads: readonly ThreadSummary[] }>("/api/threads")).threads,
    createThread: async () => (await request<{ thread: string }>("/api/threads", {})).thread,
    async messages(thread, after = 0) {
      const path = `/api/threads/${part(thread)}/messages?after=${after}`;
      return (await request<{ messages: readonly ThreadMessage[] }>(path)).messages;
    },
    async watch(thread, onChange, signal) {
      const known = new Map<string, StreamedMessage | Draft>();
      let turn: Turn | undefined;
      for await (const events of follow(`/api/threads/${part(thread)}/stream`, signal)) {
        if (events.length === 0) for (const [key, each] of known) if ("draft" in each) known.delete(key);
        for (const { event, data } of events) {
          turn = event === "turn" ? (data as Turn) : undefined;
          if (event === "turn") continue;
          const message = data as StreamedMessage | Draft;
          known.set(message.key, message);
          if ("draft" in message && message.content.length === 0) known.delete(message.key);
        }
        onChange({ messages: [...known.values()], ...(turn !== undefined && { turn }) });
      }
    },
    async *events(thread, { after = 0, signal } = {}) {
      const path = thread === undefined ? "/api/events" : `/api/threads/${part(thread)}/events`;
      for await (const events of follow(`${path}?after=${after}`, signal)) {
        for (const { data } of events) yield data as Event;
      }
    },
    prompt: async (thread, text) => void (await request(`/api/threads/${part(thread)}/prompts`, { text })),
    call: (thread, name, input = {}) => request(`/api/threads/${part(thread)}/calls`, { name, input, wait: true }),
    async stop(what) {
      const path = "call" in what ? `/api/calls/${part(what.call)}` : `/api/threads/${part(what.thread)}`;
      await request(`${path}/stop`, {});
    },
    questions: async () => (await request<{ approvals: readonly Question[] }>("/api/approvals")).approvals,
    answer: async (question, approval) => void (await request(`/api/approvals/${part(question)}`, approval)),
    async updateActivity(call, change) {
      return (await request<{ message: ThreadMessage }>(`/api/calls/${part(call)}/activity`, change)).message;
    },
  };
}

interface Received {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: unknown;
}

/** Reads one server-sent event; none from a comment. The server writes one line of JSON. */
function parse(text: string): readonly Received[] {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(text)?.[1];
  const data = field("data");
  if (data === undefined) return [];
  return [{ id: field("id"), event: field("event") ?? "message", data: JSON.parse(data) as unknown }];
}

/** Reads a body piece by piece: not every browser can iterate over a stream. */
async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array, void> {
  const reader = body?.getReader();
  try {
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) yield next.value;
  } finally {
    await reader?.cancel().catch(() => undefined);
  }
}

function part(text: string): string {
  return encodeURIComponent(text);
}
