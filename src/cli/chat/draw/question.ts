import { isAbsolute } from "node:path";
import type { Decision } from "../../../core/contract/decision.ts";
import { oneLine } from "../../../core/output/terminal-text.ts";
import { type Act, type Described, callActs } from "../../../policy/describe.ts";
import { plural } from "../../../core/util/text.ts";
import { askedOf } from "../../approver.ts";
import { diffLines, readDiff, sizeOfDiff } from "./diff.ts";
import { type Line, type Look, type Span, painted } from "./paint.ts";
import { clipped, cut, padded, safe, span, widthOfLine, wrap } from "./text.ts";

/** What a question is about, and where it is asked. */
export interface BoxedQuestion {
  readonly call: Described;
  readonly decision: Decision;
  /** The host or container where the call would run: "deploy@web-3". Absent for this machine. */
  readonly host?: string;
  /** The folder where commands run that name none. */
  readonly workDir: string;
  /** How many other questions wait. */
  readonly waiting: number;
  /** Whether the call can be edited before it is approved. */
  readonly canEdit?: boolean;
}

/** What each key answers. A key that is not offered is absent. */
export type QuestionKeys = {
  readonly [key: string]: "once" | "refuse" | "session" | "always" | "edit" | "explain" | "view";
};

/** A question as it is drawn. */
export interface DrawnQuestion {
  /** Lines that are printed into the scrollback first, because they do not fit into the window. */
  readonly long: readonly string[];
  readonly box: readonly string[];
  readonly keys: QuestionKeys;
}

/** The rows that the rest of the screen needs besides the box, and the rows of the box besides what is asked. */
export const ROWS_BESIDE = 6;
const FEWEST_ROWS = 4;

/**
 * Draws a question as a box: what would be done, the risk, the host, the command or the change as it will happen, why a
 * person is asked, the folder, and what each answer allows. Nothing of it is cut.
 */
export function questionBox(
  asked: BoxedQuestion,
  size: { readonly rows: number; readonly columns: number },
): DrawnQuestion {
  const { call, decision, workDir, waiting } = asked;
  const { reason, parts, longest, form } = askedOf(call, decision);
  const inner = size.columns - 4;
  const acts = callActs(call);
  const what = acts.flatMap((act, at) => actRows(act, at === 0 && acts.length === 1, inner));
  const below = [
    ...(reason === undefined ? [] : [[], ...wrap([span(sentence(reason))], inner)]),
    ...(reason === undefined ? [[]] : []),
    ...foldersOf(call, workDir).flatMap((folder) => cut([span("Folder "), span(safe(folder))], inner)),
  ];
  const keys = keysOf(longest, form === undefined && asked.canEdit === true);
  const scopes = longest === "once" || parts.length === 0 ? [] : scopeRows(parts, inner);
  const offers = offerRows(call, keys, parts, longest, inner);
  const end = [...below.filter((row, at) => at > 0 || row.length > 0 || below.length > 1), ...scopes, [], ...offers];
  const room = Math.max(FEWEST_ROWS, size.rows - ROWS_BESIDE - end.length);
  const isLong = what.length > room;
  const shown = isLong ? [...what.slice(0, Math.min(FEWEST_ROWS, room) - 1), longNote(acts, what.length)] : what;
  const { head, below: above } = titleOf(asked, acts, size.columns - 5);
  const frame = boxed(head, [...above, ...shown, ...end], size.columns);
  const more =
    waiting === 0
      ? []
      : [[span(` ${plural(waiting, "more question")} ${waiting === 1 ? "waits" : "wait"} (Tab)`, "dim")]];
  return {
    long: isLong ? what.map(painted) : [],
    box: [...frame, ...more].map(painted),
    keys: isLong ? { ...keys, v: "view" } : keys,
  };
}

/** The rows of one act: a command, a change, or a description. */
function actRows({ act, what, details = [], change }: Act, isTitle: boolean, columns: number): readonly Line[] {
  const name = isTitle ? "" : what === "" ? act : `${act}: `;
  const isNamed = isTitle && (change !== undefined || what === "");
  const text = isNamed ? [] : `${name}${what}`.split("\n").flatMap((line) => continued([span(safe(line))], columns));
  const diff = change === undefined ? undefined : readDiff(change);
  const lines = change === undefined ? [] : change.split("\n").map((line) => [span(safe(line))]);
  return [
    ...text,
    ...details.flatMap((detail) => continued([span(safe(detail), "dim")], columns)),
    ...(diff === undefined ? lines.flatMap((line) => continued(line, columns)) : diffLines(diff, columns)),
  ];
}

/** Cuts a line into rows; a mark shows that a row continues the one above. */
function continued(line: Line, columns: number): readonly Line[] {
  return cut(line, columns, columns - 2).map((row, at) => (at === 0 ? row : [span("⤷ ", "dim"), ...row]));
}

function longNote(acts: readonly Act[], rows: number): Line {
  const diff = acts.map(({ change }) => (change === undefined ? undefined : readDiff(change))).find(Boolean);
  const size = diff === undefined ? plural(rows, "line") : sizeOfDiff(diff);
  return [span(`… all of it is above: ${size}`, "bold")];
}

const RISKS: { readonly [R in Decision["risk"]]: readonly Look[] } = {
  low: [],
  medium: ["yellow"],
  high: ["red", "bold"],
};

/** The title in the frame, and rows below it for what does not fit there. */
function titleOf({ call, decision, host }: BoxedQuestion, acts: readonly Act[], columns: number) {
  const [first] = acts;
  const agent = call.request?.agent;
  const isOneFile = acts.length === 1 && first?.change !== undefined;
  const act = acts.length > 1 ? `${acts.length} things` : (first?.act ?? "");
  const what = [span(safe(isOneFile ? `${act} ${first.what}` : act), "bold")];
  const by = agent === undefined ? [] : [span(`Agent ${oneLine(agent, 100)} asks: `)];
  const risk = [span(" · "), span(`${decision.risk} risk`, ...RISKS[decision.risk])];
  const where = host === undefined ? [] : [span(` ${oneLine(host, 200)} `, "inverse")];
  const mark = span("? ", "yellow", "bold");
  const whole: Line = [mark, ...by, ...what, ...risk, ...(host === undefined ? [] : [span(" · "), ...where])];
  if (widthOfLine(whole) <= columns) return { head: whole, below: [] };
  const below = [...by, ...what];
  const isLong = widthOfLine(below) + widthOfLine(risk) + 2 > columns;
  const head = isLong ? clipped(below, columns - widthOfLine(risk) - 2) : below;
  return {
    head: [mark, ...head, ...risk],
    below: [...(host === undefined ? [] : [[span("On "), ...where]]), ...(isLong ? [below] : [])],
  };
}

/** A reason that ends as a sentence does. */
function sentence(reason: string): string {
  const line = oneLine(reason, Infinity);
  return /[.!?]$/.test(line) ? line : `${line}.`;
}

/** The folders of the commands; of other calls, none. */
function foldersOf({ effects }: Described, workDir: string): readonly string[] {
  const folders = effects.flatMap((effect) => (effect.kind === "exec" ? [effect.real ?? effect.cwd ?? workDir] : []));
  return [...new Set(folders.filter(isAbsolute))];
}

function keysOf(longest: "once" | "session" | "always", canEdit: boolean): QuestionKeys {
  return {
    ...{ y: "once", n: "refuse" },
    ...(longest !== "once" && { s: "session" }),
    ...(canEdit && { e: "edit" }),
    ...(longest === "always" && { a: "always" }),
    "?": "explain",
  };
}

function scopeRows(parts: readonly string[], columns: number): readonly Line[] {
  if (parts.length === 1) return [];
  return [
    [span("For longer, this is approved:")],
    ...parts.flatMap((part) => continued([span(`  ${safe(part)}`)], columns)),
  ];
}

/** What each key does, in two columns where they fit. */
function offerRows(
  call: Described,
  keys: QuestionKeys,
  parts: readonly string[],
  longest: "once" | "session" | "always",
  columns: number,
): readonly Line[] {
  const { effects } = call;
  const [part] = parts;
  const isExact = part === undefined || (parts.length === 1 && callActs(call)[0]?.what === part);
  const what = isExact ? "exactly this" : parts.length === 1 ? safe(part) : "what is listed above";
  const isFile = effects.some(({ kind }) => kind === "write");
  const texts: { readonly [key: string]: string } = {
    y: isFile ? "this change, once" : "once",
    n: "refuse, with a reason if you like",
    s: `this session: ${what}`,
    a: "always, in this workspace",
    e: effects.some(({ kind }) => kind === "exec") ? "edit the command" : "edit the call",
    "?": "how this was judged",
  };
  const offers = Object.keys(keys).map((key): Line => [span(key, "bold"), span(`  ${texts[key]}`)]);
  if (longest === "session")
    offers.splice(keys["e"] === undefined ? 3 : 4, 0, [span("a  always: not for this one", "dim")]);
  const half = Math.floor(columns / 2);
  const rows: Line[] = [];
  for (let at = 0; at < offers.length;) {
    const [left = [], right] = [offers[at], offers[at + 1]];
    const fits = right !== undefined && widthOfLine(left) < half - 1 && widthOfLine(right) <= columns - half;
    rows.push(...(fits ? [[...padded(left, half), ...right]] : wrap(left, columns)));
    at += fits ? 2 : 1;
  }
  return rows;
}

function boxed(title: Line, rows: readonly Line[], columns: number): readonly Line[] {
  const edge = (text: string): Span => span(text, "yellow");
  const line = "─".repeat(Math.max(0, columns - 4 - widthOfLine(title)));
  return [
    [edge("╭ "), ...title, edge(` ${line}╮`)],
    ...rows.flatMap((row) => cut(row, columns - 4)).map((row) => [edge("│ "), ...padded(row, columns - 4), edge(" │")]),
    [edge(`╰${"─".repeat(columns - 2)}╯`)],
  ];
}
