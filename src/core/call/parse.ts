import type { ToolCall } from "../contract/call.ts";
import type { CallRequest } from "../contract/toolkit.ts";
import { withExactNumbers } from "../util/exact-json.ts";
import { newId } from "../util/identifier.ts";
import { MAX_JSON_DEPTH, type Parsed, isTooDeep, parseJson } from "../util/json.ts";
import { mendJson } from "../util/mend-json.ts";
import { clip } from "../util/text.ts";

/**
 * Parses a call that a model or a program wrote. Providers pass arguments as JSON text, some of them encoded twice, and
 * "" for none. Common mistakes in the text are repaired (`mendJson`). Never throws: `check`, which knows the tool,
 * reports text that is not JSON.
 *
 * @param own The defaults for what the request leaves out: the toolkit's thread, parent and agent.
 */
export function parse(request: CallRequest, own: Pick<CallRequest, "thread" | "parent" | "agent"> = {}): ToolCall {
  const { name, input, id = newId(), turn, trace, ...caller } = usable(request);
  const { thread = own.thread ?? "main", parent = own.parent, agent = own.agent } = caller;
  // Assigned one by one: spreading optional fields costs as much as the rest of this function.
  const call: { -readonly [Key in keyof ToolCall]: ToolCall[Key] } = { id, name, thread, input: undefined };
  if (turn !== undefined) call.turn = turn;
  if (parent !== undefined) call.parent = parent;
  if (agent !== undefined) call.agent = agent;
  if (trace !== undefined) call.trace = trace;
  return Object.assign(call, parseInput(input));
}

/** The fields of a request that are text. */
const TEXTS = ["name", "id", "turn", "trace", "thread", "parent", "agent"] as const;

/** The request, or what can be used of one that has not its type: servers omit the name, programs pass anything. */
function usable(given: CallRequest): CallRequest {
  const request: { readonly [field: string]: unknown } = Object(given);
  const isText = (field: string) => request[field] === undefined || typeof request[field] === "string";
  if (typeof request["name"] === "string" && TEXTS.every(isText)) return given;
  const texts = TEXTS.filter((field) => typeof request[field] === "string").map((field) => [field, request[field]]);
  return { name: "", ...(Object.fromEntries(texts) as Partial<CallRequest>), input: request["input"] };
}

/** The longest text of arguments that is parsed, in UTF-16 units: 16 MiB. */
const MAX_INPUT_LENGTH = 16_777_216;

function parseInput(input: unknown): Pick<ToolCall, "input" | "notJson"> {
  if (typeof input === "string" && input.length > MAX_INPUT_LENGTH) {
    const notJson = `too long: ${input.length} characters, and at most ${MAX_INPUT_LENGTH} are read`;
    return { input: clip(input, SHOWN), notJson };
  }
  const parsed = parseText(input);
  const isShort = typeof input === "string" && input.length <= MAX_JSON_DEPTH; // each level takes a character
  if (parsed.notJson !== undefined || isShort || !isTooDeep(parsed.input)) return parsed;
  const shown = typeof input === "string" ? clip(input, SHOWN) : "(nested too deep)";
  return { input: shown, notJson: `nested more than ${MAX_JSON_DEPTH} levels deep` };
}

/** How much of unusable arguments is kept, in UTF-16 units. */
const SHOWN = 1_000;

function parseText(input: unknown): Pick<ToolCall, "input" | "notJson"> {
  if (input === undefined || input === null || input === "") return { input: {} };
  if (typeof input !== "string") return { input };
  const once = parseMended(input);
  if (!once.ok) return { input, notJson: `not valid JSON: ${once.message}` };
  if (typeof once.value !== "string") return { input: once.value ?? {} };
  const twice = parseJson(once.value);
  return { input: twice.ok && typeof twice.value === "object" ? (twice.value ?? {}) : once.value };
}

/** Parses the text, repaired if necessary. An error describes the text as it was written. */
function parseMended(text: string): Parsed {
  const plain = parseJson(withExactNumbers(text));
  if (plain.ok) return plain;
  const mended = parseJson(withExactNumbers(mendJson(text)));
  return mended.ok ? mended : parseJson(text);
}
