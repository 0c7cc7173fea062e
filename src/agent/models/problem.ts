import { tried } from "../../core/util/errors.ts";
import { clip } from "../../core/util/text.ts";
import { KINDS, type ProblemKind, RULES } from "./problem-table.ts";

/** Why a request to a model failed. */
export interface ModelProblem {
  readonly kind: ProblemKind;
  /** For people: what happened, and the next step. */
  readonly message: string;
  /** How often the request is retried. */
  readonly retries: number;
  /** How long the provider asks to wait, in milliseconds. */
  readonly retryAfterMs?: number;
}

/**
 * Classifies a failed request by `RULES`: by the fields of the AI SDK's errors (`statusCode`, `responseBody`, `url`)
 * and of the provider's JSON in them, then by the provider's words.
 *
 * @param request what was sent: whether it has pictures
 */
export function problemOf(
  error: unknown,
  model: { readonly provider: string; readonly modelId: string },
  request: { readonly hasPictures: boolean },
): ModelProblem {
  const { statusCode, responseBody, url, responseHeaders, message } = Object(error) as { [field: string]: unknown };
  const reply = replyIn(responseBody) ?? replyIn(error instanceof Error ? message : error) ?? NO_REPLY;
  const status = typeof statusCode === "number" && statusCode >= 400 ? String(statusCode) : reply.status;
  const waitMs = waitOf((responseHeaders ?? {}) as Headers, reply);
  const kind = status === "" && isNetwork(error) ? "unreachable" : kindOf(status, reply, waitMs, request);
  const [retries, sentence] = KINDS[kind];
  const said = sentence
    .replace("{name}", () => `${model.provider} (${model.modelId})`)
    .replace("{model}", () => model.modelId)
    .replace("{at}", () => (typeof url === "string" && url !== "" ? ` at ${url}` : ""));
  const words = withoutKeys(clip(reply.words.replaceAll(/\s+/g, " ").trim(), 2_000), kind, model.modelId);
  const reported = words === "" ? "" : ` It reported${status && ` ${status}`}: ${clip(words, 300)}`;
  const again = retries > 0 && waitMs !== undefined && { retryAfterMs: waitMs };
  return { kind, retries, message: `${said}${reported}`, ...again };
}

type Headers = { readonly [name: string]: string | undefined };

/** What a provider replied. */
interface Reply {
  /** The status in the reply itself: gateways send errors within a stream. "" without one. */
  readonly status: string;
  /** Its codes, types, reasons and details. */
  readonly codes: string;
  readonly words: string;
}

const NO_REPLY: Reply = { status: "", codes: "", words: "" };

function kindOf(
  status: string,
  { codes, words }: Reply,
  waitMs: number | undefined,
  { hasPictures }: { readonly hasPictures: boolean },
): ProblemKind {
  const fits = RULES.find(
    (rule) =>
      (rule.status?.test(status) ?? true) &&
      (rule.code?.test(codes) ?? true) &&
      (rule.words?.test(words) ?? true) &&
      (rule.waits === undefined || waitMs !== undefined) &&
      (rule.kind !== "picture" || hasPictures),
  );
  return fits?.kind ?? "refused";
}

/**
 * Reads a reply: text, or JSON with `error`, `message` or `detail`, in a list, or as the text of a gateway's message.
 */
function replyIn(given: unknown): Reply | undefined {
  if (typeof given === "string") {
    const value: unknown = /^\s*[[{]/.test(given) ? tried(() => JSON.parse(given)) : undefined;
    return replyIn(value) ?? (given.trim() === "" ? undefined : { ...NO_REPLY, words: given });
  }
  if (typeof given !== "object" || given === null) return undefined;
  if (Array.isArray(given)) return replyIn(given[0]);
  const { error, message, detail, code, type, status, details, metadata } = given as { [field: string]: unknown };
  const { raw } = Object(metadata) as { raw?: unknown }; // what the provider behind OpenRouter replied
  const within = replyIn(error) ?? replyIn(raw) ?? replyIn(message) ?? replyIn(detail);
  const names = [code, type, status].filter((each) => typeof each === "string" && each !== "");
  if (names.length === 0 && within === undefined) return undefined;
  const number = [code, status].map(Number).find((each) => each >= 400 && each < 600);
  const more = details === undefined ? [] : [JSON.stringify(details)]; // Google's reasons, quotas and delays
  return {
    status: within?.status || String(number ?? ""),
    codes: [...names, ...more, within?.codes ?? ""].join(" ").trim(),
    words: [...names, ...(within === undefined ? [] : [within.words])].join(": "),
  };
}

/** Returns true for a failed connection: fetch throws a TypeError, which the AI SDK may wrap as a cause. */
function isNetwork(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { cause } = error;
  const below = cause instanceof Error ? `${cause.message} ${"code" in cause ? String(cause.code) : ""}` : "";
  const pattern = /cannot connect to api|fetch failed|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH/i;
  return pattern.test(`${error.message} ${below}`);
}

/** "1h2m3.5s", "20 seconds", "350ms" after words that say when to ask again; Google's RetryInfo. */
const WAIT = /(?:(?:retry|try again) (?:in|after)|"retryDelay":")\s*((?:[\d.]+\s*(?:ms|h|m|s)[a-z]*\s*)+)/i;
const UNITS: { readonly [unit: string]: number } = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * Returns how long to wait: `retry-after-ms` in milliseconds, `retry-after` in seconds or as a date (RFC 9110, 10.2.3),
 * or what the reply says.
 */
function waitOf(headers: Headers, { codes, words }: Reply): number | undefined {
  const exact = Number.parseFloat(headers["retry-after-ms"] ?? "");
  if (exact >= 0) return exact;
  const after = headers["retry-after"] ?? "";
  const ms = /^[\d.]+$/.test(after) ? Number(after) * 1_000 : Date.parse(after) - Date.now();
  if (ms >= 0) return ms;
  const [, said] = WAIT.exec(codes) ?? WAIT.exec(words) ?? [];
  if (said === undefined) return undefined;
  const parts = [...said.matchAll(/([\d.]+)\s*(ms|h|m|s)/gi)];
  return parts.reduce((sum, [, count, unit = "s"]) => sum + Number(count) * (UNITS[unit.toLowerCase()] ?? 0), 0);
}

/** What may be a key: a word of 12 characters with a digit or stars, or with the beginning of a key. */
const KEY = String.raw`(?<![\w.-])(?:(?=[\w*.-]*[\d*])[\w*.-]{12,}|(?:sk|pk|rk|gsk|xai)[-_][\w*-]{8,})`;

/** Replaces keys. A provider repeats a key that it refuses, which may be one that no mask knows. */
function withoutKeys(words: string, kind: ProblemKind, modelId: string): string {
  const near = kind === "wrong-key" ? "" : String.raw`(?<=(?:key|token|secret|bearer|credential)\b.{0,30})`;
  return words.replaceAll(new RegExp(near + KEY, "gi"), (found) => (modelId.includes(found) ? found : "[key]"));
}
