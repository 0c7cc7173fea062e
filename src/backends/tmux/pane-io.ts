import { ToolFailure } from "../../contract/failure.ts";
import type { CaptureOptions, Captured, Keys } from "../../contract/terminal.ts";
import { strokesOfKey } from "../../util/keys.ts";
import { quoteWords } from "../../util/quote.ts";

/** Runs a POSIX sh script on the target. Resolves when it has ended. */
export type RunScript = (script: string) => Promise<{ readonly status: number; readonly out: Buffer }>;

/** A pane of a tmux server. */
export interface At {
  /** The program, with the options that select the server. */
  readonly tmux: readonly string[];
  /** As tmux's `-t`. */
  readonly target: string;
}

/** Bytes that are passed to one tmux client: more than about 16,000 are refused ("command too long"). */
const MOST_AT_ONCE = 8_000;

/** Captures what a pane shows. Rejects with a `ToolFailure` if there is no such pane. */
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
  const cursor = options.includeCursor === true ? await cursorOf(run, tmux, pane) : undefined;
  return {
    pane,
    // `-J` also keeps spaces at the ends of lines.
    text: preserveTrailingSpaces ? text : text.replace(/ +$/gm, ""),
    noAlternateScreen,
    ...(cursor !== undefined && { cursor }),
  };
}

/** The position of the cursor; `undefined` while it is hidden. */
async function cursorOf(run: RunScript, tmux: readonly string[], pane: string): Promise<Captured["cursor"]> {
  const format = "#{cursor_flag} #{cursor_x} #{cursor_y}";
  const { out } = await run(quoteWords([...tmux, "display-message", "-p", "-t", pane, format]));
  const [, column, row] = /^1 (\d+) (\d+)\s*$/.exec(out.toString()) ?? [];
  return column === undefined || row === undefined ? undefined : { column: Number(column), row: Number(row) };
}

/** Types text, then keys, then Enter. Rejects with a `ToolFailure` for an unknown pane or key; types nothing then. */
export async function sendKeys(
  run: RunScript,
  at: At,
  { text = "", keys = [], enter = false }: Keys,
): Promise<{ readonly pane: string }> {
  // tmux would type the name of an unknown key letter by letter, without an error.
  const unknown = keys.find((key) => strokesOfKey(key) === undefined);
  if (unknown !== undefined) {
    throw new ToolFailure(`tmux knows no key ${JSON.stringify(unknown)}`, {
      hint: "Expected a key name (C-c, Enter, Escape, Up, F5, M-x) or one character. Send text as literal text.",
    });
  }
  if (text.includes("\0")) throw new ToolFailure("typed text cannot contain NUL bytes");
  const { tmux } = at;
  const pane = await paneAt(run, at);
  const typed = [
    // A line end is typed as Enter.
    ...text.split(/(\r\n|\r|\n)/).flatMap((part, index) => {
      if (index % 2 === 1) return [["Enter"]];
      return pieces(part).map((piece) => ["-l", "--", piece]);
    }),
    ...(keys.length === 0 ? [] : [["--", ...keys]]),
    ...(enter ? [["Enter"]] : []),
  ].map((words) => ["send-keys", "-t", pane, ...words]);
  const steps = [
    // In copy mode (a person scrolls back), keys would go to that mode.
    `${quoteWords([...tmux, "display-message", "-p", "-t", pane, "#{pane_in_mode}"])} | grep -q 1 &&
${quoteWords([...tmux, "send-keys", "-t", pane, "-X", "cancel"])}; :`,
    ...together(typed).map((commands) => quoteWords([...tmux, "-u", ...sequence(commands)])),
  ];
  const { status, out } = await run(steps.join(" &&\n"));
  if (status !== 0) throw failure(out.toString());
  return { pane };
}

/** Resolves to the pane of a target. Rejects with a `ToolFailure` if there is none. */
export async function paneAt(run: RunScript, { tmux, target }: At): Promise<string> {
  const { status, out } = await run(
    // `display-message` does not fail for a missing pane; `list-panes` does.
    `${quoteWords([...tmux, "list-panes", "-t", target])} >/dev/null &&
${quoteWords([...tmux, "display-message", "-p", "-t", target, "#{pane_id}"])}`,
  );
  const output = out.toString().trim();
  if (status === 0 && /^%\d+$/.test(output)) return output;
  throw new ToolFailure(`there is no tmux pane ${JSON.stringify(target)}: ${output || "tmux found none"}`, {
    hint: "Omit the target for the pane where commands are typed, or name a pane such as %3.",
  });
}

/** Several tmux commands as the words of one. A word ending in ";" ends a command unless it is escaped. */
function sequence(commands: readonly (readonly string[])[]): readonly string[] {
  return commands.flatMap((words, index) => [
    ...(index === 0 ? [] : [";"]),
    ...words.map((word) => word.replace(/;$/, "\\;")),
  ]);
}

/** Groups commands into runs that are short enough for one client. */
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

function failure(output: string): ToolFailure {
  return new ToolFailure(`tmux: ${output.trim() || "it failed without a message"}`);
}
