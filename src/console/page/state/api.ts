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

/** Gets JSON of the API. Rejects with `RequestFailed`. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await send(path, { signal: signal ?? null })).json()) as T;
}

/** Posts JSON to the API. Rejects with `RequestFailed`. */
export async function post<T>(path: string, body: object = {}): Promise<T> {
  const headers = { "content-type": "application/json" };
  return (await (await send(path, { method: "POST", headers, body: JSON.stringify(body) })).json()) as T;
}

/** Sends a request. Resolves to a successful response. Rejects with `RequestFailed`. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const answer = await fetch(path, init).catch((error: unknown) => {
    if (init.signal?.aborted === true) throw error;
    throw new RequestFailed(0, "The server does not answer. Does `handrail serve` still run?");
  });
  if (answer.ok) return answer;
  const problem = (await answer.json().catch(() => ({}))) as { readonly [name: string]: unknown };
  const detail = typeof problem["detail"] === "string" ? problem["detail"] : `The server answered ${answer.status}.`;
  throw new RequestFailed(answer.status, detail, problem);
}

/** Encodes untrusted text as a path segment. */
export function part(text: string | number): string {
  return encodeURIComponent(String(text));
}
