/** Text, or the tmux name of a key. */
export type Stroke = { readonly text: string } | { readonly key: string };

/** The content of one request. The text is typed before the keys. */
export interface Batch {
  readonly text?: string;
  readonly keys?: readonly string[];
}

/** tmux key names, by `KeyboardEvent.key` (https://www.w3.org/TR/uievents-key/). */
const NAMES: { readonly [key: string]: string } = {
  ArrowUp: "Up",
  ArrowDown: "Down",
  ArrowLeft: "Left",
  ArrowRight: "Right",
  Home: "Home",
  End: "End",
  PageUp: "PageUp",
  PageDown: "PageDown",
  Insert: "Insert",
  Delete: "Delete",
  Enter: "Enter",
  Escape: "Escape",
  Backspace: "BSpace",
  Tab: "Tab",
};
/** Keys whose modifiers terminals do not report. */
const PLAIN = ["Enter", "Escape", "BSpace", "Tab"];
/** The most keys that the server accepts in one request. */
const MOST_KEYS = 256;

type Pressed = Pick<KeyboardEvent, "key" | "ctrlKey" | "altKey" | "shiftKey" | "metaKey">;

/**
 * Returns the tmux name of a key. Returns `undefined` for text, which arrives as input, and for keys of the browser.
 */
export function keyOf({ key, ctrlKey, altKey, shiftKey, metaKey }: Pressed): string | undefined {
  if (metaKey || (ctrlKey && shiftKey)) return undefined; // such as copy and paste
  const name = /^F(?:[1-9]|1[0-2])$/.test(key) ? key : NAMES[key];
  if (name === undefined) {
    if (ctrlKey && !altKey && /^[a-z@[\\^_? ]$/i.test(key)) return key === " " ? "C-Space" : `C-${key.toLowerCase()}`;
    return altKey && !ctrlKey && /^[!-~]$/.test(key) ? `M-${key}` : undefined;
  }
  if (name === "Tab" && shiftKey) return "BTab";
  const isPlain = PLAIN.includes(name);
  const held = [
    ctrlKey && !isPlain ? "C-" : "",
    altKey && name !== "Tab" ? "M-" : "",
    shiftKey && !isPlain ? "S-" : "",
  ];
  return `${held.join("")}${name}`;
}

/** Returns text that can be typed: newlines become line ends, control characters are removed. */
export function typeable(text: string): string {
  return text.replaceAll(/\r\n?/g, "\n").replaceAll(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "");
}

/** Removes as many strokes from the front as fit in one request, and returns them. */
export function nextBatch(typed: Stroke[]): Batch {
  let text = "";
  const keys: string[] = [];
  for (let [first] = typed; first !== undefined && keys.length < MOST_KEYS; [first] = typed) {
    if ("text" in first) {
      if (keys.length > 0) break;
      text += first.text;
    } else keys.push(first.key);
    typed.shift();
  }
  return { ...(text !== "" && { text }), ...(keys.length > 0 && { keys }) };
}
