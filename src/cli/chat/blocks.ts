import { inspect } from "node:util";
import type { AgentEvent } from "../../agent/agent.ts";
import { oneLine } from "../../output/terminal-text.ts";
import { plural } from "../../util/text.ts";

/** A call that runs. */
export interface Block {
  /** What it does: "Run: npm test". */
  readonly title: string;
  /** When it began, or was approved. */
  sinceMs: number;
  /** True while a person is asked about it. */
  isAsked: boolean;
  /** The end of its live output. */
  output: string;
  message: string | undefined;
}

type Result = Extract<AgentEvent, { type: "tool_result" }>;
type Style = "bold" | "dim" | "red" | "green" | "cyan";

/** Lines of output that are shown of a call. */
const OUTPUT_LINES = 5;
/** Lines of a diff. */
const DIFF_LINES = 60;
/** Of the live output so much is kept, in characters. */
const KEPT_OUTPUT = 4_000;
const SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";

/** Text in a colour, where colours are wanted (https://no-color.org). */
export function painted(style: Style, text: string): string {
  const [on = 0, off = 0] = inspect.colors[style] ?? [];
  return (process.env["NO_COLOR"] ?? "") === "" ? `\x1b[${on}m${text}\x1b[${off}m` : text;
}

export function spinner(nowMs: number): string {
  return SPINNER.charAt(Math.floor(nowMs / 100) % SPINNER.length);
}

/** "0.4 s", "12 s", "3 min 5 s". */
export function elapsed(ms: number): string {
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** The live output with more of it. */
export function withOutput(output: string, more: string): string {
  return (output + more).slice(-KEPT_OUTPUT);
}

/** A running call: what it does, for how long, and the last lines of its output. */
export function runningLines({ title, sinceMs, output, message }: Block, nowMs: number, columns: number): string[] {
  const time = elapsed(nowMs - sinceMs);
  const head = `${spinner(nowMs)} ${oneLine(title, columns - time.length - 5)}`;
  const last = message === undefined ? linesOf(output).slice(-OUTPUT_LINES) : [message];
  return [`${painted("cyan", head)}  ${time}`, ...indented(last, columns)];
}

/** A call that has ended: what it did, how it ended, how long it took, and of its result a diff or some lines. */
export function endedLines({ title, output }: Block, { status, text }: Result, ms: number, columns: number): string[] {
  const mark = status === "ok" ? painted("green", "●") : painted("red", "●");
  const how = status === "ok" ? "" : ` ${painted("red", status)}`;
  const head = `${mark} ${painted("bold", oneLine(title, 4 * columns))}${how}  ${painted("dim", elapsed(ms))}`;
  const lines = linesOf(text);
  const diffAt = lines.findIndex((line, at) => line.startsWith("--- ") && lines[at + 1]?.startsWith("+++ "));
  if (diffAt >= 0) return [head, ...diffLines(lines.slice(diffAt + 2), columns)];
  if (status === "ok" && output === "") return [head, ...indented([firstOf(lines)], columns)];
  const left = lines.length - OUTPUT_LINES;
  const more = left > 0 ? [`… ${plural(left, "line")} above`] : [];
  return [head, ...indented([...more, ...lines.slice(-OUTPUT_LINES)], columns)];
}

function firstOf(lines: readonly string[]): string {
  const [first = ""] = lines;
  return lines.length > 1 ? `${first} (${plural(lines.length, "line")})` : first;
}

function diffLines(lines: readonly string[], columns: number): string[] {
  const shown = lines.slice(0, DIFF_LINES).map((line) => {
    const cut = `  ${oneLine(line, columns - 3)}`;
    if (line.startsWith("+")) return painted("green", cut);
    if (line.startsWith("-")) return painted("red", cut);
    return painted(line.startsWith("@@") ? "cyan" : "dim", cut);
  });
  const left = lines.length - DIFF_LINES;
  return left > 0 ? [...shown, painted("dim", `  … ${plural(left, "line")} more`)] : shown;
}

function indented(lines: readonly string[], columns: number): string[] {
  return lines.map((line) => painted("dim", `  ${oneLine(line, columns - 3)}`));
}

/** Lines as a terminal would show them: what a carriage return has overwritten is gone. */
function linesOf(text: string): string[] {
  const lines = text.trimEnd().split("\n");
  return lines.map((line) => line.replace(/\r$/, "").replace(/^.*\r/, "").replaceAll("\t", "  "));
}
