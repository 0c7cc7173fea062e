/** What a key does at a shown question. `reason` asks for a reason first; `edit` lets the person edit the call. */
export type QuestionKeys = { readonly [key: string]: string };

/** A question to the person, drawn in the live part. */
export interface Question {
  /**
   * @param waiting how many other questions wait
   * @returns `long`: lines that are printed once, because they do not fit into the window; `box`: the lines of the
   * question; `keys`: what each key answers
   */
  draw(
    size: { readonly rows: number; readonly columns: number },
    waiting: number,
  ): { readonly long: readonly string[]; readonly box: readonly string[]; readonly keys: QuestionKeys };
  /** Called once: with what the key answers, and for "refuse" and "edit" what was written in the editor. */
  readonly answer: (how: string, written?: string) => void;
  /** The text that "edit" puts into the editor. */
  readonly editable?: string;
  /** The lines for "explain": how the call was judged. */
  readonly explained?: readonly string[];
  /** The text for "view": the whole call. */
  readonly whole?: string;
  /** Whether "refuse" may have a reason. */
  readonly takesReason?: true;
  /** Whether the person's own key opened the question, so that it is answered at once. */
  readonly isAwaited?: true;
}

/** The open questions. The first question is shown, and gets the keys if it is focused. */
export interface Questions {
  open(question: Question): void;
  close(question: Question): void;
  /** The question that is shown. */
  current(): Question | undefined;
  /** How many other questions wait. */
  waiting(): number;
  /** Whether keys answer the shown question. Otherwise keys belong to the editor. */
  isFocused(): boolean;
  /** Moves to the shown question, or from a focused question to the next. Returns false if there is no question. */
  focus(): boolean;
  /** Gives the keys to the editor. */
  blur(): void;
  /** Whether the shown question's long lines have not been printed yet. True only once for each question. */
  isNew(): boolean;
}

/** @param mayFocus whether a question that appears gets the keys: not while something is typed */
export function createQuestions(mayFocus: () => boolean): Questions {
  const open: Question[] = [];
  const printed = new WeakSet<Question>();
  let isFocused = false;

  return {
    open(question) {
      if (question.isAwaited) open.unshift(question);
      else open.push(question);
      if (open[0] === question) isFocused = mayFocus();
    },
    close(question) {
      const index = open.indexOf(question);
      if (index === -1) return;
      open.splice(index, 1);
      if (index === 0) isFocused = open.length > 0 && mayFocus();
    },
    current: () => open[0],
    waiting: () => Math.max(0, open.length - 1),
    isFocused: () => isFocused && open.length > 0,
    focus() {
      const [first] = open;
      if (first === undefined) return false;
      if (isFocused && open.length > 1) open.push(...open.splice(0, 1));
      isFocused = true;
      return true;
    },
    blur: () => void (isFocused = false),
    isNew() {
      const [first] = open;
      if (first === undefined || printed.has(first)) return false;
      printed.add(first);
      return true;
    },
  };
}
