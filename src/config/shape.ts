import { clip } from "../util/text.ts";
import type { Place } from "./problem.ts";
import type { Entry, Node } from "./yaml-tree.ts";

/** The expected value of a key, and how it is read. */
export interface Shape<T> {
  /** The words after "expected": "true or false". */
  readonly expected: string;
  /** Returns the value; `undefined` if it is invalid, which is reported, or ignored until the file is trusted. */
  read(node: Node, key: string, reading: Reading): T | undefined;
}

/** The state of reading one file. */
export interface Reading {
  /** The base of relative paths. */
  readonly folder: string;
  readonly home: string;
  /** The environment for `${NAME}`; `undefined` if the file may not read it. */
  readonly env: NodeJS.ProcessEnv | undefined;
  /** Texts with `${NAME}` are only shown to people: they stay as they are written. Default false. */
  readonly keepsVariables?: boolean;
  /** Reports an invalid value. */
  report(place: Place, key: string, message: string): void;
  /** Reports a `${NAME}` that was ignored because the file may not read the environment. */
  leftOut(place: Place, key: string, names: readonly string[]): undefined;
}

/** A value with its position in the file, for later messages. */
export interface Located<T> {
  readonly value: T;
  readonly place: Place;
  /** As it is written in the file, for people. */
  readonly written: string;
}

interface Here {
  readonly key: string;
  readonly reading: Reading;
  /** Reports what was expected and what came, with optional advice. */
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

/** Returns the entries of a map, each key once. Reports duplicate keys. */
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

/** Joins "policy" and "autonomy" to "policy.autonomy". */
export function within(key: string, name: string): string {
  return key === "" ? name : `${key}.${name}`;
}

/** Describes a node to people. */
export function shown(node: Node): string {
  if (node.kind === "map") return "a map";
  if (node.kind === "list") return "a list";
  if (node.kind === "text") return JSON.stringify(clip(node.value, 200));
  return node.value === null ? "nothing" : String(node.value);
}
