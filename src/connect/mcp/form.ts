import type { ElicitRequestFormParams, InputRequests } from "@modelcontextprotocol/server";
import type { CheckedCall } from "../../core/contract/call.ts";
import type { Approval, FormInput } from "../../core/contract/decision.ts";
import { oneLine } from "../../core/output/terminal-text.ts";

/** A question to a person: the form that the client shows, under its key in a result's `inputRequests`. */
export interface Question {
  readonly key: keyof InputRequests & string;
  readonly form: ElicitRequestFormParams;
}

/** The key of a form without a name. */
const FORM = "form";
/** The maximum length of the words of whoever asks, in characters, and of one of their lines. */
const MAX_WORDS = 4_000;

/**
 * Returns the form that a call asks a person to fill in, with its own fields: the form of its only effect, if that asks
 * (`Effect`). Its key is its `title`, if that is a plain name. `undefined` if the call asks for an approval, or has a
 * form with fields that MCP clients do not show: lists of lists, objects.
 */
export function formOf({ effects }: Pick<CheckedCall, "effects">): Question | undefined {
  const [effect, another] = effects;
  if (effect?.kind !== "foreign" || effect.asks === undefined || another !== undefined) return undefined;
  const { from, asks, form } = effect;
  const properties = fieldsOf(form?.["properties"]);
  if (form === undefined || Object.keys(properties).length === 0) return undefined;
  if (!Object.values(properties).every(isPlainField)) return undefined;
  const { title, required } = form;
  const words = asks.split("\n").map((line) => oneLine(line, MAX_WORDS));
  const requestedSchema = { type: "object", properties, ...(Array.isArray(required) && { required }) };
  return {
    key: typeof title === "string" && /^\w[\w-]{0,63}$/.test(title) ? title : FORM,
    form: {
      message: `${from} asks: ${words.join("\n").slice(0, MAX_WORDS)}`,
      requestedSchema: requestedSchema as ElicitRequestFormParams["requestedSchema"],
    },
  };
}

/** Converts a client's answer to a form. Anything that is not clearly an answer declines. Never throws. */
export function answerOf(response: unknown): Approval {
  const { action, content } = fieldsOf(response);
  return action === "accept" ? { answer: "once", input: fieldsOf(content) as FormInput } : { answer: "refuse" };
}

/** The kinds of fields that the protocol knows: texts, numbers, yes or no, and choices, of one or of some. */
function isPlainField(field: unknown): boolean {
  const { type, items } = fieldsOf(field);
  if (type === "array") return "enum" in fieldsOf(items) || "anyOf" in fieldsOf(items);
  return type === "string" || type === "number" || type === "integer" || type === "boolean";
}

/** Returns the fields of an object; of anything else, none. */
export function fieldsOf(value: unknown): { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}
