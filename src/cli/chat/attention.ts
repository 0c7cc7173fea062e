/** Whether the person has read what a key would answer: who still types has not. */
export interface Attention {
  /** Something was typed. Returns true if it may be an answer: it was quiet before, or the question was chosen. */
  typed(): boolean;
  /** Another question is shown. */
  shown(): void;
  /** The person has moved to the question: the next key answers at once. */
  chosen(): void;
}

/** A key is an answer if the key before it, and the question, are so old. Milliseconds. */
const QUIET_MS = 500;

export function createAttention(): Attention {
  let changedMs = 0;
  let isChosen = false;
  return {
    typed() {
      const isQuiet = Date.now() - changedMs >= QUIET_MS;
      changedMs = Date.now();
      return isQuiet || isChosen;
    },
    shown() {
      changedMs = Date.now();
      isChosen = false;
    },
    chosen: () => void (isChosen = true),
  };
}
