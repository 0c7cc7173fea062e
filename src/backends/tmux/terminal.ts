import { ToolFailure } from "../../contract/failure.ts";
import type { CaptureOptions, Captured, Keys } from "../../contract/terminal.ts";
import { strokesOfKey } from "../../util/keys.ts";
import { quoteWord, quoteWords } from "../../util/shell.ts";

/** Runs a script of POSIX sh there, to its end. */
export type RunScript = (script: string) => Promise<{ readonly status: number; readonly out: Buffer }>;

/** Where something is looked at or typed. */
export interface At {
  /** The program, with the options that say which server. */
  readonly tmux: readonly string[];
  /** As tmux' `-t`. */
  readonly target: string;
}

/** Bytes that are given to one client: more than about 16,000 are refused ("command too long"). */
const MOST_AT_ONCE = 8_000;

/** What a pane shows. Rejects with a `ToolFailure` when there is no such pane. */
export async function capture(run: RunScript, { tmux, target }: At, options: CaptureOptions): Promise<Captured> {
  const { joinWrappedLines = true, preserveTrailingSpaces = false, includeAlternateScreen = false } = options;
  const pane = await paneAt(run, { tmux, target });
  const flags = [
    ...(joinWrappedLines ? ["-J"] : []),
    ...(preserveTrailingSpaces ? ["-N"] : []),
    ...(options.includeEscapeSequences === true ? ["-e"] : []),
    ...(options.escapeNonPrintable === true ? ["-C"] : []),
    ...(options.start === undefined ? [] : ["-S", options.start]),
    ...(options.end === undefined ? [] : ["-E", options.end]),
  ];
  const shot = async (...more: readonly string[]) =>
    run(quoteWords([...tmux, "-u", "capture-pane", "-p", "-t", pane, ...flags, ...more]));
  const asked = await shot(...(includeAlternateScreen ? ["-a"] : []));
  const noAlternateScreen = asked.status !== 0 && includeAlternateScreen && asked.out.includes("no alternate screen");
  const { status, out } = noAlternateScreen ? await shot() : asked;
  const text = out.toString();
  if (status !== 0) throw failure(text);
  // Joining keeps the spaces at the ends of lines too.
  return { pane, text: preserveTrailingSpaces ? text : text.replace(/ +$/gm, ""), noAlternateScreen };
}

/** Types into a pane: the text, then the keys, then Enter. Rejects with a `ToolFailure` when there is no such pane or key; then nothing was typed. */
export async function sendKeys(
  run: RunScript,
  at: At,
  { text = "", keys = [], enter = false }: Keys,
): Promise<{ readonly pane: string }> {
  // What tmux does not know it would type letter by letter, without a word.
  const unknown = keys.find((key) => strokesOfKey(key) === undefined);
  if (unknown !== undefined) {
    throw new ToolFailure(`tmux knows no key ${JSON.stringify(unknown)}`, {
      hint: "Keys are named as C-c, Enter, Escape, Up, F5, M-x, or are one character. Text is typed as text.",
    });
  }
  if (text.includes("\0")) throw new ToolFailure("text that is typed can have no NUL byte in it");
  const { tmux } = at;
  const pane = await paneAt(run, at);
  const typed = [
    // A person who types a line end presses Enter.
    ...text.split(/(\r\n|\r|\n)/).flatMap((part, index) => {
      if (index % 2 === 1) return [["Enter"]];
      return pieces(part).map((piece) => ["-l", "--", piece]);
    }),
    ...(keys.length === 0 ? [] : [["--", ...keys]]),
    ...(enter ? [["Enter"]] : []),
  ].map((words) => ["send-keys", "-t", pane, ...words]);
  const steps = [
    // Where somebody scrolls back, keys would go to that.
    `${quoteWords([...tmux, "display-message", "-p", "-t", pane, "#{pane_in_mode}"])} | grep -q 1 && ${quoteWords([...tmux, "send-keys", "-t", pane, "-X", "cancel"])}; :`,
    ...together(typed).map((commands) => quoteWords([...tmux, "-u", ...sequence(commands)])),
  ];
  const { status, out } = await run(steps.join(" &&\n"));
  if (status !== 0) throw failure(out.toString());
  return { pane };
}

/** The pane that a target means. Rejects with a `ToolFailure` when there is none. */
export async function paneAt(run: RunScript, { tmux, target }: At): Promise<string> {
  const { status, out } = await run(
    // Looking at a pane that is not there is no error for tmux; choosing a mark for it would be.
    `${quoteWords([...tmux, "list-panes", "-t", target])} >/dev/null && ${quoteWords([...tmux, "display-message", "-p", "-t", target])} ${quoteWord("#{pane_id}")}`,
  );
  const said = out.toString().trim();
  if (status === 0 && /^%\d+$/.test(said)) return said;
  throw new ToolFailure(`there is no tmux pane ${JSON.stringify(target)}: ${said || "tmux found none"}`, {
    hint: "Leave out the target for the pane where commands are typed, or name one as %3.",
  });
}

/** Several commands of tmux as the words of one. A word that ends in ";" ends a command, unless there is a backslash before it. */
function sequence(commands: readonly (readonly string[])[]): readonly string[] {
  return commands.flatMap((words, index) => [
    ...(index === 0 ? [] : [";"]),
    ...words.map((word) => word.replace(/;$/, "\\;")),
  ]);
}

/** As many commands in one run as fit. */
function together(commands: readonly (readonly string[])[]): readonly (readonly (readonly string[])[])[] {
  const runs: (readonly string[])[][] = [];
  let room = 0;
  for (const words of commands) {
    const size = words.reduce((sum, word) => sum + Buffer.byteLength(word) + 2, 2);
    const last = runs.at(-1);
    if (last === undefined || size > room) {
      runs.push([words]);
      room = MOST_AT_ONCE - size;
    } else {
      last.push(words);
      room -= size;
    }
  }
  return runs;
}

function pieces(text: string): readonly string[] {
  const found: string[] = [];
  let piece = "";
  let bytes = 0;
  for (const character of text) {
    const more = Buffer.byteLength(character);
    if (bytes + more > MOST_AT_ONCE) {
      found.push(piece);
      piece = "";
      bytes = 0;
    }
    piece += character;
    bytes += more;
  }
  return piece === "" ? found : [...found, piece];
}

function failure(said: string): ToolFailure {
  return new ToolFailure(`tmux: ${said.trim() || "it failed, and does not say why"}`);
}
