import type { Effect } from "../contract/effect.ts";
import type { FetchOptions } from "../contract/fetch.ts";

type RequestEffect = Extract<Effect, { kind: "fetch" | "request" }>;

/** Headers that tools set themselves. They carry no data of the model. */
const OF_TOOLS: ReadonlySet<string> = new Set(["accept", "accept-language", "content-type"]);

/** The effect of a request. */
export function requestEffect(url: string, { method = "GET", headers = {}, body }: FetchOptions): RequestEffect {
  const own = Object.entries(headers).filter(([name]) => !OF_TOOLS.has(name.toLowerCase()));
  const given = own.length > 0 && { headers: Object.fromEntries(own) };
  if ((method === "GET" || method === "HEAD") && body === undefined) return { kind: "fetch", url, method, ...given };
  return { kind: "request", url, method, ...given, ...(body !== undefined && { body }) };
}

/** Whether a declared effect covers a request: the same URL and method, and no header or body that was not declared. */
export function covers(declared: Effect, made: RequestEffect): boolean {
  if (declared.kind === "search") return made.kind === "fetch" && new URL(made.url).origin === declared.engine;
  if (declared.kind !== made.kind || declared.method !== made.method) return false;
  if (!URL.canParse(declared.url) || new URL(declared.url).href !== made.url) return false;
  const named = declared.headers ?? {};
  if (Object.entries(made.headers ?? {}).some(([name, value]) => named[name] !== value)) return false;
  return made.kind !== "request" || declared.kind !== "request" || declared.body === made.body;
}
