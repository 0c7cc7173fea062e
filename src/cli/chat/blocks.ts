import { inspect } from "node:util";
import type { AgentEvent } from "../../agent/agent.ts";
import { countCharacters } from "../../output/measure.ts";
import { oneLine } from "../../output/terminal-text.ts";
import { plural } from "../../util/text.ts";
import { wrapped } from "./wrap.ts";

/** A call without a result yet. */
export interface Block {
  /** A description of the call: "Run: npm test". */
  readonly title: string;
  /** When it started or was approved, in milliseconds since 1970. `undefined` while it waits for earlier calls. */
  sinceMs: number | undefined;
  /** True while a person is asked about it. */
  isAsked: boolean;
  /** The end of its live output. */
  output: string;
  message: string | undefined;
}

type Result = Extract<AgentEvent, { type: "tool_result" }>;
type Style = "bold" | "dim" | "red" | "green" | "cyan";

/** The maximum number of output lines shown of a call. */
const OUTPUT_LINES = 5;
/** The maximum number of lines shown of a diff. */
const DIFF_LINES = 60;
/** How much of the live output is kept, in characters. */
const KEPT_OUTPUT = 4_000;
const SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";

/** Colours text, if colours are wanted (https://no-color.org). */
export function painted(style: Style, text: string): string {
  const [on = 0, off = 0] = inspect.colors[style] ?? [];
  return (process.env["NO_COLOR"] ?? "") === "" ? `\x1b[${on}m${text}\x1b[${off}m` : text;
}

function spinner(nowMs: number): string {
  return SPINNER.charAt(Math.floor(nowMs / 100) % SPINNER.length);
}

/** Formats a duration: "0.4 s", "12 s", "3 min 5 s". */
export function elapsed(ms: number): string {
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Appends to the live output. */
export function withOutput(output: string, more: string): string {
  return (output + more).slice(-KEPT_OUTPUT);
}

/** Returns the lines of a call: its title, its duration or that it waits, and the last lines of its output. */
export function runningLines({ title, sinceMs, output, message }: Block, nowMs: number, columns: number): string[] {
  if (sinceMs === undefined) return [painted("dim", `· ${oneLine(title, columns - 15)}  waiting`)];
  const time = elapsed(nowMs - sinceMs);
  const head = `${spinner(nowMs)} ${oneLine(title, columns - time.length - 5)}`;
  const last = message === undefined ? linesOf(output).slice(-OUTPUT_LINES) : [message];
  return [`${painted("cyan", head)}  ${time}`, ...indented(last, columns)];
}

/**
 * Returns the lines of a finished call: its title, how it ended, how long it took, and a diff or some lines of its
 * result.
 */
export function endedLines({ title, output }: Block, { status, text }: Result, ms: number, columns: number): string[] {
  const head = headLines(title, status, elapsed(ms), columns);
  const lines = linesOf(text);
  const diffAt = lines.findIndex((line, at) => line.startsWith("--- ") && lines[at + 1]?.startsWith("+++ "));
  if (diffAt >= 0) return [...head, ...diffLines(lines.slice(diffAt + 2), columns)];
  if (output === "") {
    if (status === "ok") return [...head, ...indented([firstOf(lines)], columns)];
    const rows = lines.slice(0, OUTPUT_LINES).flatMap((line) => wrapped(`  ${oneLine(line, 4 * columns)}`, columns));
    return [...head, ...rows.map((row) => painted("dim", row))];
  }
  const left = lines.length - OUTPUT_LINES;
  const more = left > 0 ? [`… ${plural(left, "line")} above`] : [];
  return [...head, ...indented([...more, ...lines.slice(-OUTPUT_LINES)], columns)];
}

function headLines(title: string, status: Result["status"], time: string, columns: number): string[] {
  const how = status === "ok" ? "" : ` ${status}`;
  const rows = wrapped(`  ${oneLine(title, 4 * columns)}`, columns, "  ");
  const lines = rows.map((row) => `  ${painted("bold", row.slice(2))}`);
  if (countCharacters(`${rows.at(-1)}${how}  ${time}`) >= columns) lines.push(" ");
  const mark = painted(status === "ok" ? "green" : "red", "●");
  const end = `${how === "" ? "" : painted("red", how)}  ${painted("dim", time)}`;
  return lines.map((line, at) => (at === 0 ? mark + line.slice(1) : line) + (at === lines.length - 1 ? end : ""));
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

/** Returns lines as a terminal would show them: without text that a carriage return has overwritten. */
function linesOf(text: string): string[] {
  const lines = text.trimEnd().split("\n");
  return lines.map((line) => line.replace(/\r$/, "").replace(/^.*\r/, "").replaceAll("\t", "  "));
}
