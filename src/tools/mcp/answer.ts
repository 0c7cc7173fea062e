import type { RequestId } from "@modelcontextprotocol/client";
import { readableOf } from "../../core/call/odd-part.ts";
import { tried } from "../../core/util/errors.ts";
import { withExactBody, withExactNumbers } from "../../core/util/exact-json.ts";
import { isRecord } from "../../core/util/record.ts";

/** The code of the error that stands for an answer that never came. Servers' own codes begin above -32000. */
export const NO_ANSWER = -32_768;

/** Returns the error of a request whose response ended without an answer. */
export function noAnswer(id: RequestId) {
  return { jsonrpc: "2.0" as const, id, error: { code: NO_ANSWER, message: "the response ended without an answer" } };
}

/**
 * Returns an answer as JSON-RPC has it: with its id, and a result or an error of the right type. The SDK would drop any
 * other, and its request would wait. Anything else is returned as it is, and so is a valid answer.
 *
 * @param id of the only request that it can answer, if that is known
 */
export function mendedAnswer(value: unknown, id?: RequestId): unknown {
  if (!isRecord(value) || "method" in value || !("result" in value || "error" in value)) return value;
  const { jsonrpc, result, error } = value;
  const own = value["id"] as RequestId | null | undefined;
  const isOther = own !== null && own !== undefined && (id === undefined || String(own) !== String(id));
  const fixed = isOther ? own : (id ?? own);
  const isError = error !== undefined && error !== null;
  const isValid = isError ? isErrorObject(error) && !("result" in value) : isResult(result) && !("error" in value);
  if (isValid && jsonrpc === "2.0" && fixed === own) return value;
  if (isError) return { jsonrpc: "2.0", id: fixed, error: isErrorObject(error) ? error : errorObject(error) };
  return { jsonrpc: "2.0", id: fixed, result: resultObject(result) };
}

function isResult(result: unknown): boolean {
  return isRecord(result) && (result["_meta"] === undefined || isRecord(result["_meta"]));
}

function resultObject(result: unknown): object {
  if (!isRecord(result)) return result === null || result === undefined ? {} : { content: result };
  const { _meta, ...rest } = result;
  return isRecord(_meta) ? result : rest;
}

function isErrorObject(error: unknown): boolean {
  return isRecord(error) && Number.isSafeInteger(error["code"]) && typeof error["message"] === "string";
}

function errorObject(error: unknown) {
  const { code, message } = isRecord(error) ? error : { message: error };
  const words = message === undefined ? readableOf(error) : readableOf(message);
  return { code: Number.isSafeInteger(Number(code)) ? Number(code) : -32_000, message: words };
}

/**
 * Returns the response to a POST as the SDK takes it, with exact numbers: an answer is mended, and a response to a
 * request that ended without one becomes an error.
 *
 * @param body of the POST
 */
export async function answerIn(response: Response, body: unknown): Promise<Response> {
  const id = requestIn(body);
  const type = response.headers.get("content-type") ?? "";
  if (id === undefined || !response.ok) return withExactBody(response);
  if (/event-stream/i.test(type)) return withExactBody(response, (line) => eventLine(line, id));
  if (response.status !== 202 && !/json/i.test(type)) return response;
  const text = (await response.text()).replace(/^\uFEFF/, "");
  const given = text.trim() === "" ? noAnswer(id) : tried(() => JSON.parse(withExactNumbers(text)) as unknown);
  const { headers } = response;
  if (given === undefined) return new Response(text, { headers });
  const answers = [given].flat().map((each) => mendedAnswer(each, id));
  const isAnswered = answers.some((each) => isRecord(each) && each["id"] === id);
  const kept = new Headers(headers);
  kept.set("content-type", "application/json");
  return new Response(JSON.stringify(isAnswered ? answers : [...answers, noAnswer(id)]), { headers: kept });
}

function eventLine(line: string, id: RequestId): string {
  const exact = withExactNumbers(line);
  if (!exact.startsWith("data:")) return exact;
  const value = tried(() => JSON.parse(exact.slice("data:".length)) as unknown);
  const mended = mendedAnswer(value, id);
  return mended === value ? exact : `data: ${JSON.stringify(mended)}`;
}

/** The id of the request in a body; `undefined` for what needs no answer. */
function requestIn(body: unknown): RequestId | undefined {
  const message = typeof body === "string" ? tried(() => JSON.parse(body) as unknown) : undefined;
  if (!isRecord(message) || !("method" in message)) return undefined;
  const { id } = message;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}
