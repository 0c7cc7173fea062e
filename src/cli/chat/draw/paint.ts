import { inspect } from "node:util";

/** How text looks: one of the terminal's own sixteen colours, or a style. */
export type Look = "bold" | "dim" | "italic" | "underline" | "inverse" | "strikethrough" | Colour;
export type Colour = "red" | "green" | "yellow" | "blue" | "magenta" | "cyan";

/** Text of one style. Safe for a terminal: it has no control characters. */
export interface Span {
  readonly text: string;
  readonly looks?: readonly Look[];
  /** An absolute URL in ASCII, which the text is a link to. */
  readonly link?: string;
}

/** A line, as its parts from left to right. */
export type Line = readonly Span[];

/** Of the one terminal that a process draws on. */
let coloured = true;

/** False if nothing is to be coloured or styled (https://no-color.org). */
export function isColoured(): boolean {
  return coloured;
}

/** Sets whether the terminal gets colours and styles. */
export function setColoured(to: boolean): void {
  coloured = to;
}

/** Returns a line as text for a terminal. After it, no look and no link is on. */
export function painted(line: Line): string {
  return merged(line).map(paintedSpan).join("");
}

/** Returns text with a look, if looks are wanted. */
export function paint(look: Look, text: string): string {
  return painted([{ text, looks: [look] }]);
}

/** Formats a duration: "0.02 s", "2.1 s", "12 s", "3 min 5 s". */
export function elapsed(ms: number): string {
  if (ms < 9_950) return `${(ms / 1_000).toFixed(ms < 95 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1_000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Formats the time of what still runs, which changes once a second: "0:14". */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

function paintedSpan({ text, looks = [], link }: Span): string {
  const on = isColoured() ? looks.map((look) => inspect.colors[look]?.[0] ?? 0) : [];
  const styled = on.length === 0 ? text : `\x1b[${on.join(";")}m${text}\x1b[0m`;
  return link === undefined ? styled : `\x1b]8;;${link}\x1b\\${styled}\x1b]8;;\x1b\\`;
}

/** Joins neighbours that look the same. */
function merged(line: Line): Line {
  const spans: Span[] = [];
  for (const span of line) {
    const last = spans.at(-1);
    if (last !== undefined && last.link === span.link && last.looks?.join() === span.looks?.join())
      spans[spans.length - 1] = { ...last, text: last.text + span.text };
    else if (span.text !== "") spans.push(span);
  }
  return spans;
}
