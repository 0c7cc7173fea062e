import { openKeyAt } from "./mask-keys.ts";

/** Masks a text that comes in pieces: what may be the beginning of a secret is held back until more of it is there. */
export interface MaskStream {
  /** What can be shown by now. */
  add(piece: string): string;
  /** The rest. More may be added after that. */
  end(): string;
}

/** So much is held back at most; no key is longer. */
const MOST_HELD = 65_536;
/** A word is not torn: whether it is a key may depend on what stands before. */
const LONGEST_WORD = 256;

/**
 * @param text masks a text that is all there
 * @param openValueAt where a known value may have begun that is not all there
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
