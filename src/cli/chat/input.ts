import { createInterface } from "node:readline";
import { Writable } from "node:stream";

/** A line that the person has submitted. */
export interface Line {
  readonly text: string;
  /** False: it was typed while the prompt was not shown. */
  readonly isOnScreen: boolean;
}

/** What a person types at a terminal, with editing and history. It is read all the time, also while the prompt is not shown. */
export interface Input {
  /** The next line; `undefined` when the person has closed the input (Ctrl-D), or `close` was called. */
  next(): Promise<Line | undefined>;
  /** Shows the prompt, with what is typed so far. Where a line waits it is not shown. */
  show(): void;
  hide(): void;
  /** What is typed and not yet submitted. */
  typed(): string;
  /** Forgets what is typed. */
  clear(): void;
  /** Lines that wait for `next`. */
  waiting(): number;
  /** Lets something else read the terminal, until `resume`. */
  pause(): void;
  resume(): void;
  close(): void;
}

export interface InputOptions {
  /** What was submitted earlier, the newest first. */
  readonly history: readonly string[];
  /** What Tab completes. */
  readonly words: readonly string[];
  /** Ctrl-C. */
  readonly onInterrupt: () => void;
  readonly onKey: () => void;
}

export const PROMPT = "> ";

/** A terminal marks what is pasted, so that a pasted text is one message however many lines it has (bracketed paste). */
const [MARK_PASTES, MARK_NO_PASTES] = ["\x1b[?2004h", "\x1b[?2004l"];

/** Reads stdin, which is to be a terminal. Stdout is to be one too. */
export function createInput({ history, words, onInterrupt, onKey }: InputOptions): Input {
  const { stdin, stdout } = process;
  const lines: Line[] = [];
  const pasted: string[] = [];
  let isShown = false;
  let isPasting = false;
  let isClosed = false;
  let wake: (() => void) | undefined;

  // The editor works on while the prompt is hidden: then what it draws is dropped.
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
  const reader = createInterface({
    ...{ input: stdin, output, terminal: true, prompt: PROMPT, completer },
    ...{ history: [...history], historySize: 500, removeHistoryDuplicates: true },
  });
  stdout.write(MARK_PASTES);

  const keypress = (_: unknown, { name }: { readonly name?: string }) => {
    if (name === "paste-start" || name === "paste-end") isPasting = name === "paste-start";
    onKey();
  };
  stdin.on("keypress", keypress);
  reader.on("SIGINT", onInterrupt);
  reader.on("line", (line) => {
    if (isPasting) return void pasted.push(line);
    const text = [...pasted.splice(0), line].join("\n").trim();
    if (text === "") return show();
    lines.push({ text, isOnScreen: isShown });
    isShown = false;
    wake?.();
  });
  reader.on("close", () => {
    isClosed = true;
    wake?.();
  });

  const clear = () => {
    reader.write(null, { ctrl: true, name: "e" });
    reader.write(null, { ctrl: true, name: "u" });
  };
  const show = () => {
    if (isClosed || lines.length > 0) return;
    const { line } = reader;
    if (!isShown) clear(); // it forgets where on the screen it was
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
      reader.pause();
      stdin.setRawMode(false);
    },
    resume() {
      if (isClosed) return;
      stdin.setRawMode(true);
      reader.resume();
    },
    close() {
      stdin.off("keypress", keypress);
      stdout.write(MARK_NO_PASTES);
      reader.close();
    },
  };
}
