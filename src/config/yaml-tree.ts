import type * as Yaml from "yaml";
import type { Place } from "./problem.ts";

/** The content of a YAML file: plain data, each node with its position. Nothing of it is trusted. */
export type Node =
  | { readonly kind: "map"; readonly place: Place; readonly entries: readonly Entry[] }
  | { readonly kind: "list"; readonly place: Place; readonly items: readonly Node[] }
  | { readonly kind: "text"; readonly place: Place; readonly value: string }
  | { readonly kind: "other"; readonly place: Place; readonly value: number | boolean | null };

export interface Entry {
  readonly key: string;
  readonly place: Place;
  readonly value: Node;
}

export interface Fault {
  readonly place: Place;
  readonly message: string;
}

export type Tree =
  | { readonly ok: true; readonly root: Node }
  | { readonly ok: false; readonly faults: readonly Fault[] };

// Limits against a project's file that is made to keep Handrail busy. Real configurations do not come near them.
const MOST_ALIASES = 100;
const MOST_NODES = 50_000;
const MOST_LEVELS = 32;
/** The maximum length in characters. Parsing time is proportional to it: half a second at this limit. */
const MOST_SIGNS = 100_000;

const START: Place = { line: 1, column: 1 };

/** Parses YAML 1.2 as data: no custom tags, no merge keys, one document. Never rejects: errors are in `faults`. */
export async function parseYaml(text: string): Promise<Tree> {
  if (signsIn(text) > MOST_SIGNS) {
    return failed({ place: START, message: `more than ${MOST_SIGNS} punctuation marks: this is not a configuration` });
  }
  const yaml = await import("yaml");
  const lineCounter = new yaml.LineCounter();
  const faults: Fault[] = [];
  const fault = (place: Place, message: string): undefined => {
    faults.push({ place, message });
  };
  try {
    const document = yaml.parseDocument(text, {
      lineCounter,
      prettyErrors: false,
      uniqueKeys: false, // the library compares all pairs; duplicate keys are found later, with their names
      schema: "core",
      resolveKnownTags: false,
      merge: false,
      logLevel: "error",
    });
    for (const { pos, code, message } of [...document.errors, ...document.warnings]) {
      fault(placeAt(pos[0], lineCounter), SENTENCES[code] ?? sentence(message));
    }
    if (faults.length > 0) return { ok: false, faults };
    const root = treeReader(yaml, lineCounter, fault)(document.contents, START, 0);
    return root !== undefined && faults.length === 0 ? { ok: true, root } : { ok: false, faults };
  } catch (error) {
    if (error instanceof TooMuch) return failed({ place: START, message: error.message });
    return failed({ place: START, message: error instanceof RangeError ? "nested too deeply" : "broken YAML" });
  }
}

/** Converts the library's nodes to ours, within limits, with aliases expanded. */
function treeReader(
  { isAlias, isMap, isScalar, isSeq }: typeof Yaml,
  lineCounter: Yaml.LineCounter,
  fault: (place: Place, message: string) => undefined,
): (node: unknown, above: Place, level: number) => Node | undefined {
  const anchors = new Map<string, Yaml.Node>();
  let aliases = 0;
  let nodes = 0;

  const keyOf = (key: unknown, above: Place): { name: string; place: Place } | undefined => {
    const place = isScalar(key) || isAlias(key) || isMap(key) || isSeq(key) ? placeOf(key, lineCounter) : above;
    if (isScalar(key) && key.anchor !== undefined) anchors.set(key.anchor, key);
    if (isScalar(key) && typeof key.value === "string") return { name: key.value, place };
    return fault(place, "expected a name as key; put it in quotes if it is meant as text");
  };

  const read = (node: unknown, above: Place, level: number): Node | undefined => {
    if (node === null || node === undefined) return { kind: "other", place: above, value: null };
    if (++nodes > MOST_NODES) throw new TooMuch(`more than ${MOST_NODES} values`);
    if (level > MOST_LEVELS) throw new TooMuch(`nested more than ${MOST_LEVELS} levels deep`);
    if (isAlias(node)) {
      const place = placeOf(node, lineCounter);
      if (++aliases > MOST_ALIASES) throw new TooMuch(`more than ${MOST_ALIASES} aliases`);
      const meant = anchors.get(node.source);
      if (meant === undefined) return fault(place, "expected the anchor of this alias (&name) before it");
      const copy = read(meant, place, level + 1);
      return copy && { ...copy, place };
    }
    if (!isMap(node) && !isSeq(node) && !isScalar(node)) return fault(above, "expected plain data");
    const place = placeOf(node, lineCounter);
    if (node.anchor !== undefined) anchors.set(node.anchor, node);
    if (isMap(node)) {
      const entries: Entry[] = [];
      for (const pair of node.items) {
        const key = keyOf(pair.key, place);
        const value = read(pair.value, key?.place ?? place, level + 1);
        if (key && value) entries.push({ key: key.name, place: key.place, value });
      }
      return { kind: "map", place, entries };
    }
    if (isSeq(node)) {
      return { kind: "list", place, items: node.items.flatMap((item) => read(item, place, level + 1) ?? []) };
    }
    const { value } = node;
    if (typeof value === "string") return { kind: "text", place, value };
    if (typeof value === "number" || typeof value === "boolean" || value === null)
      return { kind: "other", place, value };
    return fault(place, "expected plain data: a string, a number, true or false");
  };

  return read;
}

/** Stops reading a tree that exceeds the limits. */
class TooMuch extends Error {}

const SENTENCES: { readonly [code: string]: string } = {
  TAB_AS_INDENT: "a tab is used where YAML requires spaces; indent with spaces",
  MULTIPLE_DOCS: 'expected one document, but "---" begins a second one; remove it and what follows',
  RESOURCE_EXHAUSTION: "nested too deeply",
  TAG_RESOLVE_FAILED: "tags (!name) are not supported; write the value without one",
  BAD_DIRECTIVE: "a line that begins with % is a directive of YAML, and this one is not known; remove it",
  BAD_DQ_ESCAPE: "after a backslash in double quotes YAML expects an escape it knows; use single quotes",
};

/** Removes what the library quotes of the file after a colon: the file may be something other than a configuration. */
function sentence(message: string): string {
  return `broken YAML: ${message.replace(/(?<=\w): .*/s, "")}`;
}

function failed(fault: Fault): Tree {
  return { ok: false, faults: [fault] };
}

function signsIn(text: string): number {
  let count = 0;
  for (const _ of text.matchAll(/[^\w\s]/g)) count++;
  return count;
}

function placeOf({ range }: Pick<Yaml.Node, "range">, lineCounter: Yaml.LineCounter): Place {
  return range === null || range === undefined ? START : placeAt(range[0], lineCounter);
}

function placeAt(offset: number, lineCounter: Yaml.LineCounter): Place {
  const { line, col } = lineCounter.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}
