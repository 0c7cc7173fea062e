import type { Draft, MessageEditor } from "./editor.ts";
import type { Entry } from "./overlay.ts";

/** Earlier messages, which Up recalls and Ctrl-R finds. */
export interface History {
  add(draft: Draft): void;
  /** Newest first, each text once. */
  entries(): readonly Entry<Draft>[];
}

/** @param earlier newest first; the editor knows them */
export function createHistory(editor: MessageEditor, earlier: readonly string[]): History {
  const drafts: Draft[] = earlier.map((text) => ({ text }));
  return {
    add(draft) {
      editor.remember(draft);
      drafts.unshift(draft);
    },
    entries() {
      const byText = new Map(drafts.map((draft) => [editor.shown(draft), draft]));
      return [...byText].map(([label, value]) => ({ label, value }));
    },
  };
}
