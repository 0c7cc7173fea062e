import { ToolFailure } from "../../../core/contract/failure.ts";

/** Other names of keys, in lower case, and the names that the browser knows. */
const NAMES: { readonly [name: string]: string } = {
  ...{ ctrl: "Control", control: "Control", strg: "Control", shift: "Shift", alt: "Alt", option: "Alt", opt: "Alt" },
  ...{ cmd: "Meta", command: "Meta", meta: "Meta", super: "Meta", win: "Meta", controlormeta: "ControlOrMeta" },
  ...{ enter: "Enter", return: "Enter", ret: "Enter", esc: "Escape", escape: "Escape", tab: "Tab", space: "Space" },
  ...{ spacebar: "Space", backspace: "Backspace", del: "Delete", delete: "Delete", ins: "Insert", insert: "Insert" },
  ...{ up: "ArrowUp", down: "ArrowDown", left: "ArrowLeft", right: "ArrowRight", home: "Home", end: "End" },
  ...{ arrowup: "ArrowUp", arrowdown: "ArrowDown", arrowleft: "ArrowLeft", arrowright: "ArrowRight" },
  ...{ pgup: "PageUp", pageup: "PageUp", pgdn: "PageDown", pgdown: "PageDown", pagedown: "PageDown", plus: "+" },
  ...{ numpadenter: "NumpadEnter", capslock: "CapsLock", contextmenu: "ContextMenu", minus: "-", comma: "," },
};

const MODIFIERS: ReadonlySet<string> = new Set(["Control", "Shift", "Alt", "Meta", "ControlOrMeta"]);

/**
 * The key or combination as the browser names it: "enter" and "Return" are `Enter`, "Ctrl+A" and "ctrl-a" are
 * `Control+a`.
 *
 * @throws ToolFailure for a name that is not known, with examples.
 */
export function keyOf(written: string): string {
  if (Array.from(written).length === 1) return written;
  const parts = /^(.*[^+-])[+-]([+-])$/s.exec(written)?.slice(1) ?? [written];
  const [last = "", ...before] = parts
    .flatMap((part) => (part.length === 1 ? [part] : part.split(/[+-]/)))
    .toReversed();
  const modifiers = before.toReversed().map((part) => NAMES[part.trim().toLowerCase()] ?? part);
  const named = nameOf(last.trim() || last);
  if (named === undefined || !modifiers.every((each) => MODIFIERS.has(each))) throw unknown(written);
  // "Ctrl+A" is what menus write. The capital letter alone would be that of Shift.
  const key = modifiers.length > 0 && !modifiers.includes("Shift") ? lowered(named) : named;
  return [...modifiers, key].join("+");
}

function nameOf(key: string): string | undefined {
  if (Array.from(key).length === 1) return key;
  const known = NAMES[key.toLowerCase()];
  if (known !== undefined) return known;
  if (/^f(?:[1-9]|1\d|2[0-4])$/i.test(key)) return key.toUpperCase();
  return /^(?:Key[A-Z]|Digit\d|Numpad\w+)$/.test(key) ? key : undefined;
}

function lowered(key: string): string {
  return /^[A-Z]$/.test(key) ? key.toLowerCase() : key;
}

function unknown(written: string): ToolFailure {
  return new ToolFailure(`there is no key ${JSON.stringify(written)}`, {
    hint:
      "Keys are Enter, Escape, Tab, Backspace, ArrowDown, PageDown, F5, a, …, also after Control+, Shift+ and Alt+. " +
      "To write text, use the action type.",
  });
}
