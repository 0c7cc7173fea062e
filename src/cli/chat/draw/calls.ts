import type { AgentEvent } from "../../../agent/agent.ts";
import { oneLine, terminalSafe } from "../../../core/output/terminal-text.ts";
import { plural } from "../../../core/util/text.ts";
import type { CallSubject } from "../../call-title.ts";
import { diffLines, readDiff, sizeOfDiff } from "./diff.ts";
import { type Line, clock, elapsed, painted } from "./paint.ts";
import { clipped, cut, padded, safe, span, widthOfLine, wrap } from "./text.ts";

/** A call without a result yet. */
export interface Block extends CallSubject {
  /** When the call started or was approved, in milliseconds since 1970. `undefined` while it waits for others. */
  sinceMs: number | undefined;
  /** Whether a person is being asked about the call. */
  isAsked: boolean;
  /** The end of its live output. */
  output: string;
  message: string | undefined;
}

type Result = Pick<Extract<AgentEvent, { type: "tool_result" }>, "status" | "text">;

/** The lines of a call that has ended. `rest` is the whole text, if `lines` show less. */
export interface Folded {
  readonly lines: readonly string[];
  readonly rest?: string;
}

/** How many lines of output are shown of a call that runs, and of one that has ended. */
const LIVE_LINES = 3;
const SHOWN_LINES = 6;
/** A diff with more rows is folded to `SHOWN_LINES`. */
const SMALL_DIFF = 20;

/** Returns the rows of a call that waits or runs: its line, and the end of its output. */
export function runningLines(call: Block, nowMs: number, columns: number): readonly string[] {
  const { sinceMs, isAsked, output, message } = call;
  if (isAsked) return [painted(headLine(call, span("? ", "yellow"), [span("asks")], columns))];
  const mark = span("◌ ", "dim");
  if (sinceMs === undefined) return [painted(headLine(call, mark, [span("waiting", "dim")], columns))];
  const last = message === undefined ? linesOf(output).slice(-LIVE_LINES) : [message];
  const head = headLine(call, mark, [span(clock(nowMs - sinceMs))], columns);
  return [head, ...last.map((line) => bodyLine([span(safe(line), "dim")], columns))].map(painted);
}

/**
 * Returns the lines of a call that has ended: its line, then what matters of its result. That is the change of a file,
 * the beginning of a new one, the end of a command's output, or why it failed.
 */
export function endedLines(call: Block, result: Result, ms: number, columns: number): Folded {
  const { status, text } = result;
  const [, code] = (call.kind === "command" && /\nExit code: (\d+)\s*$/.exec(`\n${text}`)) || [];
  const diff = call.kind === "command" ? undefined : readDiff(withoutFirstLines(text));
  const isNew = call.kind === "write" && status === "ok" && diff === undefined && text.startsWith("Created ");
  const notes = [
    ...(status === "ok" ? [] : [span(status, status === "denied" ? "yellow" : "red")]),
    ...(code === undefined ? [] : [span(`exit ${code}`, "yellow")]),
    ...(diff === undefined || status !== "ok" ? [] : [span(sizeOfDiff(diff))]),
    ...(isNew ? [span("new file")] : []),
    ...(call.kind === "other" && status === "ok" && diff === undefined ? sizeOf(text) : []),
  ];
  const look = status === "ok" ? (code === undefined ? "green" : "yellow") : status === "denied" ? "yellow" : "red";
  const parts = [...notes, span(elapsed(ms), "dim")].flatMap((part, at) =>
    at === 0 ? [part] : [span(" · ", "dim"), part],
  );
  const head = headLine(call, span("● ", look), parts, columns);
  const { lines, isFolded } = bodyOf(
    call,
    { status, text: code === undefined ? text : withoutLastLine(text) },
    columns,
  );
  const isClipped = widthOfLine([span(safe(call.about))]) > columns - widthOfLine(parts) - 5;
  const rest = `${call.name}  ${call.about}\n\n${call.content ?? text}`;
  return {
    lines: [head, ...lines].map(painted),
    ...((isFolded || isClipped) && { rest: terminalSafe(rest.replaceAll("\r\n", "\n")) }),
  };
}

interface Body {
  readonly lines: readonly Line[];
  readonly isFolded: boolean;
}

function bodyOf({ kind, content }: Block, { status, text }: Result, columns: number): Body {
  const diff = kind === "command" ? undefined : readDiff(withoutFirstLines(text));
  if (diff !== undefined) {
    const rows = diffLines(diff, columns - INDENT);
    return folded(rows, rows.length <= SMALL_DIFF ? SMALL_DIFF : SHOWN_LINES, "below", columns);
  }
  const dim = (line: string) => [span(safe(line), "dim")];
  if (kind === "write" && status === "ok" && content !== undefined)
    return folded(linesOf(content).map(dim), SHOWN_LINES, "below", columns);
  if (status === "ok" && kind !== "command") return { lines: [], isFolded: text.includes("\n") };
  if (status === "ok") return folded(linesOf(text).map(dim), SHOWN_LINES, "above", columns);
  const rows = linesOf(text).flatMap((line) => wrap(dim(line), columns - INDENT));
  const cutRows = rows.flatMap((row) => cut(row, columns - INDENT));
  return folded(cutRows, SHOWN_LINES, "below", columns);
}

/** Shows the beginning or the end of lines, and how many are left out. */
function folded(all: readonly Line[], most: number, left: "above" | "below", columns: number): Body {
  const isFolded = all.length > most;
  const shown = !isFolded ? all : left === "below" ? all.slice(0, most) : all.slice(-most);
  const isClipped = shown.some((line) => widthOfLine(line) > columns - INDENT);
  const lines = shown.map((line) => bodyLine(line, columns));
  if (!isFolded) return { lines, isFolded: isClipped };
  const many = plural(all.length - most, left === "below" ? "more line" : "line");
  const note = [span(`  … ${many}${left === "below" ? "" : " above"} (Ctrl-O)`, "dim")];
  return { lines: left === "below" ? [...lines, note] : [note, ...lines], isFolded };
}

/** The columns before the text below a call's line. */
const INDENT = 4;

function bodyLine(line: Line, columns: number): Line {
  return [span("  │ ", "dim"), ...clipped(line, columns - INDENT)];
}

/** One line: the mark, the tool, what it is about, and at the right how it ended. */
function headLine({ name, about }: CallSubject, mark: ReturnType<typeof span>, right: Line, columns: number): Line {
  const room = Math.max(10, columns - 2 - widthOfLine(right));
  const left = clipped([mark, span(oneLine(name, 40), "bold"), span(`  ${oneLine(about, Infinity)}`)], room - 1);
  return [...padded(left, room), ...right];
}

function sizeOf(text: string): Line {
  const lines = linesOf(text).length;
  return lines > 1 ? [span(plural(lines, "line"), "dim")] : [];
}

/** The result of an edit, from its diff on. */
function withoutFirstLines(text: string): string {
  const at = text.search(/^--- .*\n\+\+\+ /m);
  return at < 0 ? "" : text.slice(at);
}

function withoutLastLine(text: string): string {
  return text.trimEnd().replace(/\n?[^\n]*$/, "");
}

/** Returns lines as a terminal would show them: without text that a carriage return has overwritten. */
function linesOf(text: string): string[] {
  const trimmed = text.trimEnd();
  if (trimmed === "") return [];
  return trimmed.split("\n").map((line) => line.replace(/\r$/, "").replace(/^[^]*\r/, ""));
}
