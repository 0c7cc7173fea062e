import { messageOf } from "./errors.ts";

export type Parsed = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly message: string };

/** The deepest nesting of JSON. Deeper JSON is refused: functions that walk it could exceed the stack. */
export const MAX_JSON_DEPTH = 100;

/** Whether a value is nested more than `MAX_JSON_DEPTH` levels deep, or contains itself. */
export function isTooDeep(value: unknown, levels = MAX_JSON_DEPTH): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const key in value) if (isTooDeep(value[key as keyof typeof value], levels - 1)) return true;
  return false;
}

/** Parses JSON. A failure names the fault, its line and column, and the text there. Never throws. */
export function parseJson(text: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, message: explain(messageOf(error), text) };
  }
}

// Engines describe the position differently or not at all ("Unexpected token 'h', "hello" is not valid JSON"), so only
// the first clause of their message is used, and the position is determined here.
function explain(message: string, text: string): string {
  const what = message.replace(
    /,? (?:\.{3})?"[\s\S]*is not valid JSON$|(?: in JSON)? at position \d+[\s\S]*$| of JSON input$/,
    "",
  );
  const offset = brokenAt(text);
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  const column = offset - before.lastIndexOf("\n");
  if (offset >= text.length) return `${what} at line ${line} column ${column}: the text ends there`;
  return `${what} at line ${line} column ${column}, at ${JSON.stringify(text.slice(offset, offset + 24))}`;
}

/** The offset of the first character after which no text could make it valid JSON: a bisection over its beginnings. */
function brokenAt(text: string): number {
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (couldGoOn(text.slice(0, middle + 1))) low = middle + 1;
    else high = middle;
  }
  return low;
}

function couldGoOn(beginning: string): boolean {
  try {
    JSON.parse(beginning);
    return true;
  } catch (error) {
    const message = messageOf(error);
    if (/^(Unexpected end|Unterminated string)/.test(message)) return true;
    const position = /at position (\d+)/.exec(message)?.[1];
    return position !== undefined && Number(position) >= beginning.length;
  }
}
