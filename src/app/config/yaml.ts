import type * as Yaml from "yaml";
import type { Place } from "./problem.ts";

/** What is wrong with the text of a file, and the keys that lead there, if it is about one. */
export interface Fault {
  readonly place: Place;
  readonly path?: readonly string[];
  readonly message: string;
}

/** A YAML file as plain data. Nothing of it is trusted: aliases may repeat values, and lead in a circle. */
export interface Parsed {
  /** Absent if the file cannot be read as data. */
  readonly value?: unknown;
  /** Of broken YAML, what could be read. */
  readonly part?: unknown;
  readonly faults: readonly Fault[];
  /** The position of the value that keys and indexes lead to, or of the last key. */
  placeOf(path: readonly string[], of?: "key"): Place;
}

// Limits against a project's file that is made to keep Handrail busy. Real configurations do not come near them.
const MOST_ALIASES = 100;
const MOST_NODES = 50_000;
/** The maximum number of punctuation marks. Parsing time is proportional to it: half a second at this limit. */
const MOST_SIGNS = 100_000;

/** The beginning of a file. */
export const START: Place = { line: 1, column: 1 };

/** Parses YAML 1.2 as data: no custom tags, no merge keys, one document. Never rejects. */
export async function parseYaml(text: string): Promise<Parsed> {
  if (signsIn(text) > MOST_SIGNS)
    return broken(`more than ${MOST_SIGNS} punctuation marks: this is not a configuration`);
  const yaml = await import("yaml");
  const lines = new yaml.LineCounter();
  try {
    const document = yaml.parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      uniqueKeys: false, // the library compares all pairs
      schema: "core",
      resolveKnownTags: false,
      merge: false,
      logLevel: "error",
    });
    const told = [...document.errors, ...document.warnings].map(({ pos, code, message }) => ({
      place: placeAt(pos[0], lines),
      message: SENTENCES[code] ?? sentence(message),
    }));
    const placeOf = placing(yaml, document, lines);
    const { faults, isData } = faultsIn(yaml, document, lines);
    const value: unknown = isData ? document.toJS({ maxAliasCount: MOST_ALIASES }) : undefined;
    if (told.length > 0) return { part: value, faults: told, placeOf };
    return isData ? { value, faults, placeOf } : { faults, placeOf };
  } catch (error) {
    if (error instanceof TooMuch) return broken(error.message);
    if (error instanceof ReferenceError) return broken(`more than ${MOST_ALIASES} aliases`);
    return broken(error instanceof RangeError ? "nested too deeply" : "broken YAML");
  }
}

/** Finds what YAML allows and a configuration does not have. Keys that occur twice leave the rest readable as data. */
function faultsIn(yaml: typeof Yaml, document: Yaml.Document.Parsed, lines: Yaml.LineCounter) {
  const faults: Fault[] = [];
  const anchors = new Set<string>();
  let isData = true;
  let [aliases, nodes] = [0, 0];
  const unreadable = (node: unknown, message: string) => {
    isData = false;
    faults.push({ place: placeOfNode(yaml, node, lines), message });
  };
  yaml.visit(document, {
    Node(_, node, above) {
      if (++nodes > MOST_NODES) throw new TooMuch(`more than ${MOST_NODES} values`);
      if (yaml.isAlias(node)) {
        if (++aliases > MOST_ALIASES) throw new TooMuch(`more than ${MOST_ALIASES} aliases`);
        if (!anchors.has(node.source)) unreadable(node, "expected the anchor of this alias (&name) before it");
      } else if (node.anchor !== undefined) anchors.add(node.anchor);
      if (!yaml.isMap(node)) return;
      const first = new Map<string, Place>();
      for (const { key } of node.items) {
        if (!yaml.isScalar(key) || typeof key.value !== "string") {
          unreadable(key ?? node, "expected a name as key; put it in quotes if it is meant as text");
          continue;
        }
        const place = placeOfNode(yaml, key, lines);
        const before = first.get(key.value);
        if (before === undefined) first.set(key.value, place);
        else {
          const path = [...pathOf(yaml, [...above, node]), key.value];
          faults.push({ place, path, message: `given twice, first on line ${before.line}; remove one` });
        }
      }
    },
  });
  return { faults, isData };
}

/** The keys and indexes that lead to the last of these nodes, each of which is in the one before. */
function pathOf({ isPair, isScalar, isSeq }: typeof Yaml, nodes: readonly unknown[]): readonly string[] {
  return nodes.flatMap((node, index) => {
    const parent = nodes[index - 1];
    if (isSeq(parent)) return [String(parent.items.indexOf(node))];
    return isPair(parent) && isScalar(parent.key) ? [String(parent.key.value)] : [];
  });
}

function placing(yaml: typeof Yaml, document: Yaml.Document.Parsed, lines: Yaml.LineCounter): Parsed["placeOf"] {
  return (path, of) => {
    let node: unknown = document.contents;
    for (const [index, part] of path.entries()) {
      if (yaml.isSeq(node)) node = node.items[Number(part)];
      else if (yaml.isMap(node)) {
        const pair = node.items.findLast(({ key }) => yaml.isScalar(key) && key.value === part);
        node = of === "key" && index === path.length - 1 ? pair?.key : (pair?.value ?? pair?.key);
      } else break; // an alias: what is wrong in its value is reported there
    }
    return placeOfNode(yaml, node, lines);
  };
}

function placeOfNode({ isNode }: typeof Yaml, node: unknown, lines: Yaml.LineCounter): Place {
  const range = isNode(node) ? node.range : undefined;
  return range === null || range === undefined ? START : placeAt(range[0], lines);
}

function placeAt(offset: number, lines: Yaml.LineCounter): Place {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

/** Ends the work on a file that exceeds a limit. */
export class TooMuch extends Error {}

function broken(message: string): Parsed {
  return { faults: [{ place: START, message }], placeOf: () => START };
}

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

function signsIn(text: string): number {
  let count = 0;
  for (const _ of text.matchAll(/[^\w\s]/g)) count++;
  return count;
}
