import { clip } from "../../util/text.ts";
import { tried } from "../../util/errors.ts";

/** The cause of a failed request to a model. */
export interface ModelProblem {
  readonly kind:
    | "wrong-key"
    | "unknown-model"
    | "rate-limited"
    | "overloaded"
    | "context-overflow"
    | "unreachable"
    | "broke-off"
    | "refused";
  /** For people: what happened, and the next step. */
  readonly message: string;
  /** How often the request is retried. */
  readonly retries: number;
  /** How long the provider asks to wait, in milliseconds. */
  readonly retryAfterMs?: number;
}

const RETRIES: { readonly [kind in ModelProblem["kind"]]: number } = {
  "rate-limited": 5,
  overloaded: 5,
  "broke-off": 3,
  unreachable: 1,
  "wrong-key": 0,
  "unknown-model": 0,
  "context-overflow": 0,
  refused: 0,
};

/**
 * Classifies a failed request. Errors of the AI SDK are recognized by their fields (`statusCode`, `responseBody`,
 * `url`), errors in the middle of a stream by their text.
 */
export function problemOf(
  error: unknown,
  model: { readonly provider: string; readonly modelId: string },
): ModelProblem {
  const { status, words, url, headers } = factsOf(error);
  const kind = kindOf(error, status, words);
  const name = `${model.provider} (${model.modelId})`;
  const retryAfterMs = kind === "rate-limited" || kind === "overloaded" ? waitOf(headers) : undefined;
  return {
    kind,
    message: `${sentence(kind, name, model.modelId, url)} ${reportedText(words, status)}`.trim(),
    retries: RETRIES[kind],
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

// The wordings of OpenAI, Anthropic, Google, llama.cpp, Ollama and vLLM.
const OVERFLOW = new RegExp(
  "context.?(length|window|size)|maximum context|prompt is too long|too many (input )?tokens|input token count|" +
    "exceed.{0,30}(token|context)|n_ctx|request_too_large",
  "i",
);
const RATE = /rate.?limit|too many requests|quota|resource_exhausted/i;
const OVERLOAD = /overloaded|unavailable|server_error|internal.?(server)?.?error|capacity|api_error/i;

function kindOf(error: unknown, status: number | undefined, words: string): ModelProblem["kind"] {
  if (status === undefined || status < 400) return kindOfStream(error, words); // the reply had begun
  if (status === 429) return /insufficient_quota|billing|credit/i.test(words) ? "refused" : "rate-limited";
  if (status === 401 || status === 403) return "wrong-key";
  if (status === 404) return /model/i.test(words) ? "unknown-model" : "refused";
  if (status === 408) return "broke-off";
  if (status >= 500) return "overloaded";
  if (status === 413 || OVERFLOW.test(words)) return "context-overflow";
  if (/api key not valid|invalid.{0,10}api.?key/i.test(words)) return "wrong-key";
  return /model.{0,80}(not found|not exist|unknown|invalid|not supported)/i.test(words) ? "unknown-model" : "refused";
}

/** Classifies an error without a status: the provider's text in the middle of a stream, or a network exception. */
function kindOfStream(error: unknown, words: string): ModelProblem["kind"] {
  if (isNetwork(error)) return "unreachable";
  if (OVERFLOW.test(words)) return "context-overflow";
  if (RATE.test(words)) return "rate-limited";
  if (OVERLOAD.test(words)) return "overloaded";
  return "broke-off";
}

function sentence(kind: ModelProblem["kind"], name: string, modelId: string, url: string): string {
  switch (kind) {
    case "wrong-key":
      return `${name} does not accept the API key. Check the key, and that it may use this model.`;
    case "unknown-model":
      return `${name}: there is no model "${modelId}". Check its name in the provider's list of models.`;
    case "rate-limited":
      return `${name} limits the rate of requests.`;
    case "overloaded":
      return `${name} is overloaded or has an internal error.`;
    case "context-overflow":
      return `The conversation is too long for ${name}.`;
    case "unreachable":
      return (
        `${name} cannot be reached${url === "" ? "" : ` at ${url}`}. Check the network, and whether the server ` +
        "runs."
      );
    case "broke-off":
      return `The reply of ${name} broke off.`;
    case "refused":
      return `${name} refused the request.`;
  }
}

function reportedText(words: string, status: number | undefined): string {
  const code = status === undefined || status < 400 ? "" : ` ${status}`;
  return words === "" ? "" : `It reported${code}: ${clip(words.replaceAll(/\s+/g, " ").trim(), 300)}`;
}

interface Facts {
  readonly status: number | undefined;
  /** The provider's message. */
  readonly words: string;
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
}

function factsOf(error: unknown): Facts {
  if (typeof error !== "object" || error === null) {
    return { status: undefined, words: String(error), url: "", headers: {} };
  }
  const { statusCode, responseBody, url, responseHeaders, message } = error as {
    readonly [key: string]: unknown;
  };
  return {
    status: typeof statusCode === "number" ? statusCode : undefined,
    words: wordsOf(responseBody) ?? wordsOf(message) ?? wordsOf(error) ?? "",
    url: typeof url === "string" ? url : "",
    headers: (responseHeaders ?? {}) as Facts["headers"],
  };
}

/** Returns the message in a provider's response: text, or JSON with `error.message`, `error` or `message`. */
function wordsOf(given: unknown): string | undefined {
  if (typeof given === "string") {
    if (given.trim() === "") return undefined;
    return tried(() => wordsOf(JSON.parse(given))) ?? given;
  }
  if (typeof given !== "object" || given === null) return undefined;
  const { error, message, type, code, status } = given as { readonly [key: string]: unknown };
  if (error !== undefined && error !== given) return wordsOf(error);
  const words = [code, type, status, message].filter((each) => typeof each === "string" && each !== "");
  return words.length === 0 ? undefined : words.join(": ");
}

/** Returns true for a failed connection: fetch throws a TypeError, which the AI SDK may wrap as a cause. */
function isNetwork(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /cannot connect to api|fetch failed|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH/i.test(
    `${error.message} ${codeOfCause(error)}`,
  );
}

function codeOfCause(error: Error): string {
  const { cause } = error;
  return cause instanceof Error ? `${cause.message} ${"code" in cause ? String(cause.code) : ""}` : "";
}

/** Parses `retry-after-ms` in milliseconds, or `retry-after` in seconds or as a date (RFC 9110, 10.2.3). */
function waitOf(headers: Facts["headers"]): number | undefined {
  const exact = Number.parseFloat(headers["retry-after-ms"] ?? "");
  if (exact >= 0) return exact;
  const after = headers["retry-after"];
  if (after === undefined) return undefined;
  const ms = /^[\d.]+$/.test(after) ? Number.parseFloat(after) * 1_000 : Date.parse(after) - Date.now();
  return ms >= 0 ? ms : undefined;
}
