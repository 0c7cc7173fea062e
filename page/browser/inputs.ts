import type { PageInput } from "../../src/core/contract/live-page.ts";

/** Keys that write nothing, by `KeyboardEvent.key`. */
const NAMED =
  /^(?:Enter|Tab|Escape|Backspace|Delete|Insert|Home|End|PageUp|PageDown|Arrow(?:Up|Down|Left|Right)|F\d+)$/;

type Pressed = Pick<KeyboardEvent, "key" | "ctrlKey" | "altKey" | "shiftKey" | "metaKey">;

/**
 * Returns a key with the keys that are held: "Shift+Tab". `undefined` for text, which arrives as input, and for what
 * this browser does itself, such as pasting.
 */
export function keyOf({ key, ctrlKey, altKey, shiftKey, metaKey }: Pressed): string | undefined {
  const isCommand = ctrlKey || metaKey;
  if (/^[axyz]$/i.test(key)) return isCommand && !altKey ? `ControlOrMeta+${key.toLowerCase()}` : undefined;
  if (!NAMED.test(key)) return undefined;
  return `${isCommand ? "ControlOrMeta+" : ""}${altKey ? "Alt+" : ""}${shiftKey ? "Shift+" : ""}${key}`;
}

/** The maximum number of inputs that the server takes in one request. */
const MOST_INPUTS = 256;

/** Adds an input to the waiting inputs. Of several moves in a row only the last is kept. Turns of the wheel add up. */
export function addInput(waiting: PageInput[], input: PageInput): void {
  const last = waiting.at(-1);
  if (input.type === "move" && last?.type === "move") waiting.pop();
  if (input.type === "wheel" && last?.type === "wheel") {
    waiting.pop();
    waiting.push({ ...input, dx: last.dx + input.dx, dy: last.dy + input.dy });
  } else if (waiting.length < MOST_INPUTS) waiting.push(input);
}
