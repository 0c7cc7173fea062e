import { diffArrays } from "diff";
import { distance } from "fastest-levenshtein";
import { truncateHead } from "../../../core/output/truncate.ts";
import { SNAPSHOT_BYTES } from "./protocol.ts";
import { clip } from "../../../core/util/text.ts";

/** A node of Playwright's accessibility snapshot in the mode "ai". Other fields are states: `checked`, `level`, … */
export interface AriaNode {
  readonly role: string;
  readonly name?: string;
  readonly ref?: string;
  readonly cursor?: string;
  readonly url?: string;
  readonly text?: string;
  readonly children?: readonly (AriaNode | string)[];
  readonly [state: string]: unknown;
}

/** A page as a model reads it. */
export interface Snapshot {
  /** One line for each element, indented by its depth. */
  readonly text: string;
  /** Every reference, also references that `text` omits, with the element's role and name. */
  readonly refs: ReadonlyMap<string, string>;
  /** The links, as written in the page. */
  readonly links: readonly string[];
}

const LONGEST_URL = 120;
/** How much of an editor's text is in its line. UTF-16 units. */
const LONGEST_VALUE = 200;

/** Roles whose elements are only read: their references are omitted, unless the elements can be clicked. */
const READ_ONLY: ReadonlySet<string> = new Set([
  ...["generic", "paragraph", "listitem", "row", "rowgroup", "cell", "columnheader", "rowheader", "heading", "strong"],
  ...["emphasis", "code", "term", "definition", "separator", "time", "caption", "img", "list", "none", "presentation"],
]);
/** Roles that only group elements: a group without a name is omitted. */
const GROUPS: ReadonlySet<string> = new Set(["generic", "rowgroup", "none", "presentation", "paragraph"]);
const FIELDS: ReadonlySet<string> = new Set(["textbox", "searchbox", "spinbutton", "combobox"]);
const CELLS: ReadonlySet<string> = new Set(["cell", "columnheader", "rowheader", "gridcell"]);
const STATES = ["checked", "disabled", "expanded", "invalid", "level", "pressed", "selected", "active", "placeholder"];

/**
 * Writes a snapshot. Groups without a name and repeated labels are omitted; a table row of plain cells is one line.
 *
 * @param hide Values of fields that are not shown: passwords, and what a person typed.
 */
export function writeSnapshot(roots: readonly (AriaNode | string)[], hide: Pick<ReadonlySet<string>, "has">): Snapshot {
  const refs = new Map<string, string>();
  const lines: string[] = [];
  const links: string[] = [];

  const label = ({ role, name }: AriaNode) => (name ? `${role} ${JSON.stringify(inOneLine(name))}` : role);

  const remember = (node: AriaNode): void => {
    if (node.ref !== undefined) refs.set(node.ref, label(node) + (node.name || !node.text ? "" : ` ${node.text}`));
    if (node.url !== undefined) links.push(node.url);
    for (const child of node.children ?? []) if (typeof child !== "string") remember(child);
  };

  /** A cell in one line; `undefined` when the cell holds more than texts and single elements. */
  const cellLine = (cell: AriaNode | string): string | undefined => {
    if (typeof cell === "string" || !CELLS.has(cell.role) || cell.cursor === "pointer") return undefined;
    const parts = (cell.children ?? []).map((part) => {
      if (typeof part === "string") return inOneLine(part);
      return part.children === undefined && !GROUPS.has(part.role) ? elementLine(part) : undefined;
    });
    if (parts.includes(undefined)) return undefined;
    return parts.length > 0 ? parts.join(" ") : inOneLine(cell.name || cell.text || "");
  };

  const elementLine = (node: AriaNode): string => {
    const { role, ref, cursor, url, text, children = [] } = node;
    const name = role === "row" && children.length > 0 ? role : label(node);
    const states = STATES.flatMap((state) => (node[state] ? [stateText(state, node[state])] : []));
    const shownRef = ref !== undefined && (cursor === "pointer" || !READ_ONLY.has(role)) ? [`[${ref}]`] : [];
    const target = url === undefined ? [] : [`-> ${clip(url, LONGEST_URL)}`];
    const isHidden = text !== undefined && FIELDS.has(role) && hide.has(text);
    const value = text && text !== node.name ? `: ${isHidden ? HIDDEN : inOneLine(text)}` : "";
    return [name, ...shownRef, ...states, ...target].join(" ") + value;
  };

  const write = (node: AriaNode | string, depth: number): void => {
    const indent = "  ".repeat(depth);
    if (typeof node === "string") return void lines.push(`${indent}- ${inOneLine(node)}`);
    const { role, cursor, text, children = [] } = node;
    const isClickable = cursor === "pointer";
    if (GROUPS.has(role) && !node.name && !isClickable) {
      if (text) lines.push(`${indent}- ${inOneLine(text)}`);
      return writeAll(children, depth);
    }
    const written = text === undefined && FIELDS.has(role) ? textOf(children) : undefined;
    if (written) {
      lines.push(`${indent}- ${elementLine({ ...node, text: clip(written, LONGEST_VALUE) })}`);
      return written.length > LONGEST_VALUE ? writeAll(children, depth + 1) : undefined;
    }
    const cells = role === "row" && !isClickable ? children.map(cellLine) : [undefined];
    if (!cells.includes(undefined)) return void lines.push(`${indent}- row: ${cells.join(" | ")}`);
    lines.push(`${indent}- ${elementLine(node)}`);
    // A link or button that is named by its content does not repeat the content.
    const isNamed = node.name !== undefined && children.every((child) => repeats(child, node.name ?? ""));
    if (!isNamed) writeAll(children, depth + 1);
  };

  const writeAll = (children: readonly (AriaNode | string)[], depth: number): void => {
    children.forEach((child, index) => {
      const next = children[index + 1];
      const isLabel = typeof child === "string" && typeof next === "object" && next.name === child.trim();
      if (!isLabel) write(child, depth);
    });
  };

  for (const root of roots) if (typeof root !== "string") remember(root);
  writeAll(roots, 0);
  return { text: lines.join("\n"), refs, links };
}

function inOneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** The text in place of a value that is not shown. */
export const HIDDEN = "••••";

function stateText(state: string, value: unknown): string {
  return value === true ? `[${state}]` : `[${state}=${inOneLine(String(value))}]`;
}

/** The text of parts in one line, if they are nothing but text. */
function textOf(parts: readonly (AriaNode | string)[]): string | undefined {
  const texts = parts.map((part) => {
    if (typeof part === "string") return part;
    if (part.cursor === "pointer" || part.role === "img" || !READ_ONLY.has(part.role)) return undefined;
    return part.children === undefined ? (part.text ?? part.name ?? "") : textOf(part.children);
  });
  return texts.includes(undefined) ? undefined : inOneLine(texts.join(" "));
}

/** Whether a part has no reference, and all of its text is already in the element's name. */
function repeats(child: AriaNode | string, name: string): boolean {
  if (typeof child === "string") return name.includes(child.trim());
  if (child.role !== "img" && !READ_ONLY.has(child.role)) return false;
  if (!name.includes((child.name ?? "").trim()) || !name.includes((child.text ?? "").trim())) return false;
  return (child.children ?? []).every((each) => repeats(each, name));
}

/**
 * Returns the lines that differ between two snapshots, `+` or `-` in front, each below the lines that contain it.
 * `undefined` when the result is not shorter than the new snapshot; an empty text when nothing differs.
 */
export function changesOf(before: string, after: string): string | undefined {
  if (before === after) return "";
  const [old, now] = [before.split("\n"), after.split("\n")];
  const changes = diffArrays(old, now, { maxEditLength: MOST_CHANGES });
  if (changes === undefined) return undefined;
  const written: string[] = [];
  let at = 0;
  let shownTo = -1;
  for (const { added, removed, value } of changes) {
    if (removed) written.push(...value.map((line) => `-${line}`));
    else if (added) {
      for (const parent of parentsOf(now, at)) if (parent > shownTo) written.push(` ${now[parent]}`);
      written.push(...value.map((line) => `+${line}`));
    }
    if (!removed) at += value.length;
    if (added) shownTo = at - 1;
  }
  const text = written.join("\n");
  return text.length < after.length * 0.7 ? text : undefined;
}

const MOST_CHANGES = 2_000;

/** The indexes of the lines of which this line is a part, the outermost first. */
function parentsOf(lines: readonly string[], index: number): readonly number[] {
  const parents: number[] = [];
  let depth = depthOf(lines[index] ?? "");
  for (let at = index - 1; at >= 0 && depth > 0; at--) {
    if (depthOf(lines[at] ?? "") >= depth) continue;
    depth = depthOf(lines[at] ?? "");
    parents.unshift(at);
  }
  return parents;
}

function depthOf(line: string): number {
  return line.search(/\S|$/);
}

/** Returns the lines that contain the text, in upper or lower case, with the lines above that contain them. */
export function linesWith(
  snapshot: string,
  text: string,
  most: number,
): { readonly lines: string; readonly hits: number } {
  const all = snapshot.split("\n");
  const sought = text.toLowerCase();
  const hits = all.flatMap((line, index) => (line.toLowerCase().includes(sought) ? [index] : []));
  const shown = new Set(hits.slice(0, most).flatMap((hit) => [...parentsOf(all, hit), hit]));
  return {
    lines: [...shown]
      .toSorted((one, other) => one - other)
      .map((index) => all[index])
      .join("\n"),
    hits: hits.length,
  };
}

/**
 * Returns the reference of the element that an old reference most likely named: of the same role and name, or the most
 * similar. `undefined` if no element is similar.
 */
export function nearestRef(was: string, refs: Snapshot["refs"]): string | undefined {
  let best: { readonly ref: string; readonly off: number } | undefined;
  for (const [ref, label] of refs) {
    const off = distance(was, label) / Math.max(was.length, label.length);
    if (off < (best?.off ?? 0.5)) best = { ref, off };
  }
  return best === undefined ? undefined : `${best.ref} (${refs.get(best.ref)})`;
}

/**
 * The text if it is short enough for a model, else its first `most` bytes, in whole lines. The caller saves the whole.
 */
export function bounded(text: string, most = SNAPSHOT_BYTES): { readonly shown: string; readonly isCut: boolean } {
  if (Buffer.byteLength(text) <= SNAPSHOT_BYTES) return { shown: text, isCut: false };
  return { shown: truncateHead(text, { bytes: most }).text.trimEnd(), isCut: true };
}
