import {
  type Keybinding,
  type KeyId,
  KeybindingsManager,
  TUI_KEYBINDINGS,
  matchesKey,
  setKeybindings,
} from "@earendil-works/pi-tui";
import { CHAT_KEYS, type ChatAction, type ChatKeySettings } from "../../app/config/chat-keys.ts";

/** Which keys do what. */
export interface Keys {
  /** Whether the bytes of a key belong to an action. */
  is(data: string, action: ChatAction): boolean;
  /** The first key of an action, for people: "Ctrl-O". `undefined` if the action has no key. */
  name(action: ChatAction): string | undefined;
  /** A line for each action that has keys: the keys, and what they do. */
  list(): readonly string[];
}

/** The actions that the editor of pi-tui handles, by its names. */
const OF_EDITOR: { readonly [A in ChatAction]?: readonly Keybinding[] } = {
  send: ["tui.input.submit", "tui.select.confirm"],
  "new-line": ["tui.input.newLine"],
  stop: ["tui.select.cancel"],
  complete: ["tui.input.tab"],
  up: ["tui.editor.cursorUp", "tui.select.up"],
  down: ["tui.editor.cursorDown", "tui.select.down"],
  left: ["tui.editor.cursorLeft"],
  right: ["tui.editor.cursorRight"],
  "word-left": ["tui.editor.cursorWordLeft"],
  "word-right": ["tui.editor.cursorWordRight"],
  "line-start": ["tui.editor.cursorLineStart"],
  "line-end": ["tui.editor.cursorLineEnd"],
  "page-up": ["tui.editor.pageUp"],
  "page-down": ["tui.editor.pageDown"],
  "delete-left": ["tui.editor.deleteCharBackward"],
  "delete-right": ["tui.editor.deleteCharForward"],
  "delete-word-left": ["tui.editor.deleteWordBackward"],
  "delete-word-right": ["tui.editor.deleteWordForward"],
  "delete-line-start": ["tui.editor.deleteToLineStart"],
  "delete-line-end": ["tui.editor.deleteToLineEnd"],
  yank: ["tui.editor.yank"],
  undo: ["tui.editor.undo"],
};

/**
 * Returns the keys of the chat, and sets them for the editor of pi-tui, which has one set of keys in a process.
 *
 * @param settings replaces the default keys of some actions
 */
export function createKeys(settings: ChatKeySettings = {}): Keys {
  const keysOf = (action: ChatAction) => (settings[action] ?? CHAT_KEYS[action].keys) as readonly KeyId[];
  const actions = Object.keys(CHAT_KEYS) as ChatAction[];
  const none = Object.fromEntries(Object.keys(TUI_KEYBINDINGS).map((name) => [name, []]));
  const ours = actions.flatMap((action) => (OF_EDITOR[action] ?? []).map((name) => [name, [...keysOf(action)]]));
  setKeybindings(new KeybindingsManager(TUI_KEYBINDINGS, { ...none, ...Object.fromEntries(ours) }));

  return {
    is: (data, action) => keysOf(action).some((key) => matchesKey(data, key)),
    name: (action) => keysOf(action).map(shownKey)[0],
    list: () =>
      actions
        .filter((action) => keysOf(action).length > 0)
        .map((action) => `${keysOf(action).map(shownKey).join(", ").padEnd(24)}  ${CHAT_KEYS[action].does}`),
  };
}

/** Whether the bytes of a key are a character, not a command. */
export function isCharacter(data: string): boolean {
  return data !== "\x7f" && data >= " ";
}

function shownKey(key: string): string {
  return key
    .split("+")
    .map((part) => SHORT[part] ?? part.charAt(0).toUpperCase() + part.slice(1))
    .join("-")
    .replace(/-$/, "--");
}

const SHORT: { readonly [part: string]: string } = { escape: "Esc", "": "-" };
