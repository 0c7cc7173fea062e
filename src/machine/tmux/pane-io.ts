import { ToolFailure } from "../../core/contract/failure.ts";
import type { CaptureOptions, Captured, Keys } from "../../core/contract/terminal.ts";
import { strokesOfKey } from "../../core/util/keys.ts";
import { randomName } from "../../core/util/identifier.ts";
import { quoteWord, quoteWords } from "../../core/util/quote.ts";

/** Runs a POSIX sh script on the target. Resolves when it has ended. */
export type RunScript = (script: string) => Promise<{ readonly status: number; readonly out: Buffer }>;

/** A pane of a tmux server. */
export interface At {
  /** The program, with the options that select the server. */
  readonly tmux: readonly string[];
  /** As tmux's `-t`. */
  readonly target: string;
}

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
  const keysOf = (...words: readonly string[]) => quoteWords([...tmux, "-u", "send-keys", "-t", pane, ...words]);
  const buffer = `handrail-${randomName(8)}`;
  const loading = quoteWords([...tmux, "load-buffer", "-b", buffer, "-"]);
  const steps = [
    // In copy mode (a person scrolls back), keys would go to that mode.
    `${quoteWords([...tmux, "display-message", "-p", "-t", pane, "#{pane_in_mode}"])} | grep -q 1 &&
${keysOf("-X", "cancel")}; :`,
    // A buffer takes text of any length, and pastes a line end as Enter.
    ...(text === ""
      ? []
      : [
          `printf %s ${quoteWord(text.replaceAll(/\r\n?/g, "\n"))} | ${loading}`,
          quoteWords([...tmux, "paste-buffer", "-d", "-b", buffer, "-t", pane]),
        ]),
    ...(keys.length === 0 ? [] : [keysOf("--", ...keys.map((key) => key.replace(/;$/, "\\;")))]),
    ...(enter ? [keysOf("Enter")] : []),
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

function failure(output: string): ToolFailure {
  return new ToolFailure(`tmux: ${output.trim() || "it failed without a message"}`);
}
