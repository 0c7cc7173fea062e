import { messageOf } from "../../src/core/util/errors.ts";
/** A failed request. The message is shown to people. */
export class RequestFailed extends Error {
  /** HTTP status; 0 if there was no response. */
  readonly status: number;
  /** All members of the problem document. */
  readonly problem: { readonly [name: string]: unknown };

  constructor(status: number, detail: string, problem: { readonly [name: string]: unknown } = {}) {
    super(detail);
    this.status = status;
    this.problem = problem;
  }
}

/** Where the secret of this browser's session is kept: only pages of this host and port can read it. */
const SECRET = "handrail-session";

/** Keeps the secret of this browser's session. */
export function remember(secret: string): void {
  localStorage.setItem(SECRET, secret);
}

export function isRemembered(): boolean {
  return localStorage.getItem(SECRET) !== null;
}

/** Removes the secret when the session has ended. */
export function forget(): void {
  localStorage.removeItem(SECRET);
}

/** Gets JSON of the API. Rejects with `RequestFailed`. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await send(path, { signal: signal ?? null })).json()) as T;
}

/**
 * Posts JSON to the API. Rejects with `RequestFailed`.
 *
 * @param secret default: that of this browser's session
 */
export async function post<T>(path: string, body: object = {}, secret?: string): Promise<T> {
  const authorization = secret !== undefined && { authorization: `Bearer ${secret}` };
  const headers = { "content-type": "application/json", ...authorization };
  return (await (await send(path, { method: "POST", headers, body: JSON.stringify(body) })).json()) as T;
}

/** Sends a request. Resolves to a successful response. Rejects with `RequestFailed`. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const secret = localStorage.getItem(SECRET);
  if (secret !== null && !headers.has("authorization")) headers.set("authorization", `Bearer ${secret}`);
  const answer = await fetch(path, { ...init, headers, credentials: "omit" }).catch((error: unknown) => {
    if (init.signal?.aborted === true) throw error;
    throw new RequestFailed(0, "The server does not answer. Does `handrail serve` still run?");
  });
  if (answer.ok) return answer;
  const problem = (await answer.json().catch(() => ({}))) as { readonly [name: string]: unknown };
  const detail = typeof problem["detail"] === "string" ? problem["detail"] : `The server answered ${answer.status}.`;
  throw new RequestFailed(answer.status, detail, problem);
}

/**
 * Reads server-sent events until they end or the signal fires. Rejects with `RequestFailed` if they cannot be read, and
 * when the connection is lost.
 */
export async function readEvents(
  path: string,
  { signal, onOpen, onEvent }: { signal: AbortSignal; onOpen?: () => void; onEvent: (event: unknown) => void },
): Promise<void> {
  const answer = await send(path, { signal, headers: { accept: "text/event-stream" } });
  onOpen?.();
  let text = "";
  const decoder = new TextDecoderStream() as TransformStream<Uint8Array, string>;
  const reader = answer.body?.pipeThrough(decoder).getReader();
  try {
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
      const parts = (text + next.value).split("\n\n");
      text = parts.pop() ?? "";
      for (const each of parts) {
        const data = /^data: (.*)$/m.exec(each)?.[1]; // the server writes one line of JSON
        if (data !== undefined) onEvent(JSON.parse(data));
      }
    }
  } catch (error) {
    if (!signal.aborted) throw new RequestFailed(0, messageOf(error));
  }
}

/** Encodes untrusted text as a path segment. */
export function part(text: string | number): string {
  return encodeURIComponent(String(text));
}
