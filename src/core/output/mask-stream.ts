import { openKeyAt } from "./mask-keys.ts";

/** Masks a text that arrives in pieces. Holds back what may be the beginning of a secret until more of it arrives. */
export interface MaskStream {
  /** Adds a piece. Returns what can be shown now. */
  add(piece: string): string;
  /** Returns the rest. More pieces may be added afterwards. */
  end(): string;
}

/** How much is held back at most, in characters. No key is longer. */
const MOST_HELD = 65_536;
/**
 * How much of a word is held back with what follows: what precedes a key may decide whether it is one. In characters.
 */
const LONGEST_WORD = 256;

/**
 * @param text masks a complete text
 * @param openValueAt returns where an incomplete known value may begin
 */
export function maskStream(text: (value: string) => string, openValueAt: (pending: string) => number): MaskStream {
  let pending = "";
  return {
    add(piece) {
      pending += piece;
      if (pending.length > MOST_HELD) return this.end();
      const open = Math.min(openKeyAt(pending), openValueAt(pending));
      if (open === pending.length) return this.end();
      const word = /\S*$/.exec(pending.slice(Math.max(0, open - LONGEST_WORD), open))?.[0].length ?? 0;
      const shown = pending.slice(0, open - word);
      pending = pending.slice(open - word);
      return shown === "" ? "" : text(shown);
    },
    end() {
      const shown = pending;
      pending = "";
      return shown === "" ? "" : text(shown);
    },
  };
}
