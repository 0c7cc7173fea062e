/** What a key of the chat does. */
export interface ChatKey {
  /** As written in the configuration and in `/keys`: "alt+enter". */
  readonly keys: readonly string[];
  /** What it does, for people. */
  readonly does: string;
}

/**
 * The actions of the chat that have keys, with the default keys. Keys are written as the keys that are held, then the
 * key: "ctrl+o", "shift+enter", "alt+left".
 */
export const CHAT_KEYS = {
  send: { keys: ["enter"], does: "send; during a turn, after the running call; alone, what is queued now" },
  queue: { keys: ["alt+enter"], does: "send when the turn has ended" },
  "new-line": { keys: ["ctrl+j", "shift+enter"], does: "begin a new line; a \\ before Enter does the same" },
  stop: { keys: ["escape"], does: "stop the turn; close a list; leave a question open. Twice: rewind" },
  interrupt: { keys: ["ctrl+c"], does: "clear the line, then stop the turn, then leave" },
  leave: { keys: ["ctrl+d"], does: "leave, on an empty line" },
  suspend: { keys: ["ctrl+z"], does: "suspend; fg continues" },
  expand: { keys: ["ctrl+o"], does: "show the last folded text whole; again: all of the turn" },
  "external-editor": { keys: ["ctrl+g"], does: "write in $VISUAL or $EDITOR" },
  search: { keys: ["ctrl+r"], does: "search earlier messages" },
  complete: { keys: ["tab"], does: "go to the question, or the next one; complete a command or a path" },
  up: { keys: ["up"], does: "move up, then to earlier messages; on an empty line, take back what is queued" },
  down: { keys: ["down"], does: "move down, then to later messages" },
  left: { keys: ["left", "ctrl+b"], does: "move left" },
  right: { keys: ["right", "ctrl+f"], does: "move right" },
  "word-left": { keys: ["alt+left", "ctrl+left", "alt+b"], does: "move a word left" },
  "word-right": { keys: ["alt+right", "ctrl+right", "alt+f"], does: "move a word right" },
  "line-start": { keys: ["home", "ctrl+a"], does: "move to the beginning of the line" },
  "line-end": { keys: ["end", "ctrl+e"], does: "move to the end of the line" },
  "page-up": { keys: ["pageUp"], does: "move a page up in a long message" },
  "page-down": { keys: ["pageDown"], does: "move a page down" },
  "delete-left": { keys: ["backspace"], does: "delete to the left; a folded paste as a whole" },
  "delete-right": { keys: ["delete"], does: "delete to the right" },
  "delete-word-left": { keys: ["ctrl+w", "alt+backspace"], does: "delete the word to the left" },
  "delete-word-right": { keys: ["alt+d", "alt+delete"], does: "delete the word to the right" },
  "delete-line-start": { keys: ["ctrl+u"], does: "delete to the beginning of the line" },
  "delete-line-end": { keys: ["ctrl+k"], does: "delete to the end of the line" },
  yank: { keys: ["ctrl+y"], does: "insert what was deleted last" },
  undo: { keys: ["ctrl+-"], does: "undo" },
} as const satisfies { readonly [action: string]: ChatKey };

export type ChatAction = keyof typeof CHAT_KEYS;

/** The keys of the configuration. An empty list leaves the action without a key. */
export type ChatKeySettings = { readonly [A in ChatAction]?: readonly string[] };
