import { clip } from "../util/text.ts";
import type { Place } from "./problem.ts";
import type { Entry, Node } from "./yaml-tree.ts";

/** What is expected at a key, and how it is read. */
export interface Shape<T> {
  /** In words that go behind "expected": "true or false". */
  readonly expected: string;
  /** The value; `undefined` when it is none, which the reading was told, or when it is left out until the file is trusted. */
  read(node: Node, key: string, reading: Reading): T | undefined;
}

/** Reading one file. */
export interface Reading {
  /** The folder that relative paths start from. */
  readonly folder: string;
  readonly home: string;
  /** Names in `${NAME}` are replaced from here; `undefined` while the file may not have them. */
  readonly env: NodeJS.ProcessEnv | undefined;
  /** Takes note of what is wrong. */
  report(place: Place, key: string, message: string): void;
  /** Takes note of a `${NAME}` that was left out because the file may not have the environment. */
  leftOut(place: Place, key: string, names: readonly string[]): undefined;
}

/** A value with the place where it stands, for what is said about it later. */
export interface Located<T> {
  readonly value: T;
  readonly place: Place;
  /** As it stands in the file, for people. */
  readonly written: string;
}

interface Here {
  readonly key: string;
  readonly reading: Reading;
  /** Reports what was expected and what came, with advice if there is some. */
  wrong(advice?: string): undefined;
}

/** Makes a shape. */
export function shape<T>(expected: string, read: (node: Node, here: Here) => T | undefined): Shape<T> {
  return {
    expected,
    read: (node, key, reading) =>
      read(node, {
        key,
        reading,
        wrong(advice = "") {
          const said = `expected ${expected}, got ${shown(node)}`;
          reading.report(node.place, key, advice === "" ? said : `${said}. ${advice}`);
        },
      }),
  };
}

/** The entries of a map, each key once: one that is given again is reported. */
export function entriesOf(entries: readonly Entry[], key: string, reading: Reading): readonly Entry[] {
  const first = new Map<string, Entry>();
  for (const entry of entries) {
    const before = first.get(entry.key);
    if (before === undefined) first.set(entry.key, entry);
    else
      reading.report(
        entry.place,
        within(key, entry.key),
        `given twice, first on line ${before.place.line}; remove one`,
      );
  }
  return [...first.values()];
}

/** "policy" and "autonomy" make "policy.autonomy". */
export function within(key: string, name: string): string {
  return key === "" ? name : `${key}.${name}`;
}

/** What stands there, for people. */
export function shown(node: Node): string {
  if (node.kind === "map") return "a map";
  if (node.kind === "list") return "a list";
  if (node.kind === "text") return JSON.stringify(clip(node.value, 200));
  return node.value === null ? "nothing" : String(node.value);
}
