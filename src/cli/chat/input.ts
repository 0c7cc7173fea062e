import { createInterface } from "node:readline";
import { Writable } from "node:stream";

/** A line that the person submitted. */
export interface SubmittedLine {
  readonly text: string;
  /** False if it was typed while the prompt was hidden. */
  readonly isOnScreen: boolean;
}

/**
 * Reads what a person types at a terminal, with editing and history. Reads all the time, also while the prompt is
 * hidden.
 */
export interface Input {
  /**
   * Resolves to the next line; `undefined` when the person has closed the input (Ctrl-D), or `close` was called. After
   * Ctrl-D, `show` opens it again.
   */
  next(): Promise<SubmittedLine | undefined>;
  /** Shows the prompt, with what is typed so far. Does nothing while a line waits for `next`. */
  show(): void;
  hide(): void;
  /** Returns what is typed and not yet submitted. */
  typed(): string;
  /** Clears what is typed. */
  clear(): void;
  /** Returns how many lines wait for `next`. */
  waiting(): number;
  /** Lets other code read the terminal until `resume`. */
  pause(): void;
  resume(): void;
  close(): void;
}

export interface InputOptions {
  /** Earlier inputs, newest first. */
  readonly history: readonly string[];
  /** The words that Tab completes. */
  readonly words: readonly string[];
  /** Called on Ctrl-C. */
  readonly onInterrupt: () => void;
  readonly onKey: () => void;
}

export const PROMPT = "> ";

/**
 * Turns bracketed paste on and off: the terminal then marks pasted text, so that a paste of several lines is one
 * message.
 */
const [MARK_PASTES, MARK_NO_PASTES] = ["\x1b[?2004h", "\x1b[?2004l"];

/** Reads stdin. Stdin and stdout must be terminals. */
export function createInput({ history, words, onInterrupt, onKey }: InputOptions): Input {
  const { stdin, stdout } = process;
  const lines: SubmittedLine[] = [];
  const pasted: string[] = [];
  let isShown = false;
  let isPasting = false;
  let isClosed = false;
  let isOver = false;
  let past = [...history];
  let wake: (() => void) | undefined;

  // The editor also runs while the prompt is hidden. Its output is then dropped.
  const output = new Writable({
    write(chunk: Buffer, _, done) {
      if (isShown) stdout.write(chunk);
      done();
    },
  });
  Object.defineProperty(output, "columns", { get: () => stdout.columns });
  stdout.on("resize", () => output.emit("resize"));
  const completer = (line: string): [string[], string] => [
    line.startsWith("/") ? words.filter((word) => word.startsWith(line)) : [],
    line,
  ];
  const onLine = (line: string) => {
    if (isPasting) return void pasted.push(line);
    const text = [...pasted.splice(0), line].join("\n").trim();
    if (text === "") return show();
    lines.push({ text, isOnScreen: isShown });
    isShown = false;
    wake?.();
  };
  const open = () => {
    const opened = createInterface({
      ...{ input: stdin, output, terminal: true, prompt: PROMPT, completer },
      ...{ history: [...past], historySize: 500, removeHistoryDuplicates: true },
    });
    opened.on("history", (all) => (past = all));
    opened.on("SIGINT", onInterrupt);
    opened.on("line", onLine);
    opened.on("close", () => {
      isClosed = true;
      wake?.();
    });
    return opened;
  };
  let reader = open();
  stdout.write(MARK_PASTES);

  const keypress = (_: unknown, { name }: { readonly name?: string }) => {
    if (name === "paste-start" || name === "paste-end") isPasting = name === "paste-start";
    onKey();
  };
  stdin.on("keypress", keypress);
  const clear = () => {
    reader.write(null, { ctrl: true, name: "e" });
    reader.write(null, { ctrl: true, name: "u" });
  };
  const show = () => {
    if (isOver || lines.length > 0) return;
    if (isClosed) [reader, isClosed, isShown] = [open(), false, false];
    const { line } = reader;
    if (!isShown) clear(); // the editor has lost its position on the screen
    isShown = true;
    reader.prompt(true);
    if (reader.line !== line) reader.write(line);
  };

  return {
    async next() {
      while (lines.length === 0 && !isClosed) await new Promise<void>((resolve) => (wake = resolve));
      return isClosed ? undefined : lines.shift();
    },
    show,
    hide() {
      if (!isShown) return;
      const { rows } = reader.getCursorPos();
      stdout.write(`${rows > 0 ? `\x1b[${rows}A` : ""}\r\x1b[J`);
      isShown = false;
    },
    typed: () => [...pasted, reader.line].join(" "),
    clear() {
      pasted.length = 0;
      clear();
    },
    waiting: () => lines.length,
    pause() {
      if (isClosed) return;
      reader.pause();
      stdin.setRawMode(false);
    },
    resume() {
      if (isClosed) return;
      stdin.setRawMode(true);
      reader.resume();
    },
    close() {
      isOver = true;
      stdin.off("keypress", keypress);
      stdout.write(MARK_NO_PASTES);
      reader.close();
    },
  };
}
