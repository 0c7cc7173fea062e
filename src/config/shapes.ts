import { absolutePath } from "../util/paths.ts";
import { didYouMean } from "./nearest.ts";
import { type Located, type Reading, type Shape, entriesOf, shape, shown, within } from "./shape.ts";
import type { Node } from "./yaml-tree.ts";

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Text, with `${NAME}` replaced by the environment variable, if there is one. `${NAME:-TEXT}` is TEXT if the variable
 * is empty or does not exist, as in a shell.
 *
 * @param judge returns what is wrong with the text, if anything
 * @param ofNothing advice for an empty text
 */
export function text(
  expected: string,
  judge: (value: string) => string | undefined = () => undefined,
  ofNothing = "",
): Shape<string> {
  return shape(expected, (node, { key, reading, wrong }) => {
    if (node.kind === "other" && node.value === null) return wrong(ofNothing);
    if (node.kind !== "text") return wrong();
    const names = [...node.value.matchAll(VARIABLE)].map(([, name = ""]) => name);
    if (names.length > 0 && reading.env === undefined) return reading.leftOut(node.place, key, names);
    if (names.length > 0 && reading.keepsVariables === true) return node.value;
    const value = node.value.replace(VARIABLE, (found, name: string, otherwise?: string) =>
      otherwise === undefined ? (reading.env?.[name] ?? found) : reading.env?.[name] || otherwise,
    );
    const complaint = value.includes("\0") ? "There is a NUL character in it." : judge(value);
    if (complaint === undefined) return value;
    return wrong(value === node.value ? complaint : ""); // values of the environment are never shown
  });
}

/** One of several words. */
export function choice<const T extends string>(words: readonly T[]): Shape<T> {
  const isOne = (value: string): value is T => words.some((word) => word === value);
  const any = text(`one of ${words.join(", ")}`, (value) => (isOne(value) ? undefined : didYouMean(value, words)));
  return shape(any.expected, (node, { key, reading }) => {
    const value = any.read(node, key, reading);
    return value !== undefined && isOne(value) ? value : undefined;
  });
}

const BARE_TILDE = 'In YAML a bare ~ is nothing: for the home folder write "~".';
const anyPath = text("a path", emptyPath, BARE_TILDE);
const plainPath = text("a path", patternOrEmpty, BARE_TILDE);

/**
 * A path: absolute, relative to the folder of the file, or beginning with `~` for the home folder. The value is
 * absolute.
 */
export const path: Shape<string> = shape(anyPath.expected, (node, { key, reading }) => {
  const written = anyPath.read(node, key, reading);
  return written === undefined ? undefined : absolutePath(written, { workDir: reading.folder, home: reading.home });
});

/** A path of the policy. A `~` is kept, because it means the home folder of the target. */
export const policyPath: Shape<string> = shape(plainPath.expected, (node, { key, reading }) => {
  const written = plainPath.read(node, key, reading);
  if (written === undefined || written === "~" || written.startsWith("~/")) return written;
  return absolutePath(written, { workDir: reading.folder, home: reading.home });
});

/** Rejects a pattern, which would be taken as the name of a missing file and forbid nothing. */
function patternOrEmpty(value: string): string | undefined {
  return value.includes("*") ? "Patterns are not supported: name the folder." : emptyPath(value);
}

function emptyPath(value: string): string | undefined {
  return value.trim() === "" ? 'For the folder of this file write ".".' : undefined;
}

export const yesOrNo: Shape<boolean> = shape("true or false", (node, { wrong }) =>
  node.kind === "other" && typeof node.value === "boolean" ? node.value : wrong(),
);

/** A whole number from `least` to `most`. */
export function integer(least: number, most: number): Shape<number> {
  return shape(`a whole number from ${least} to ${most}`, (node, { wrong }) => {
    const value = node.kind === "other" ? node.value : undefined;
    return typeof value === "number" && Number.isInteger(value) && value >= least && value <= most ? value : wrong();
  });
}

/** A whole number from 0; null for no limit. */
export function limitOrNone(most: number): Shape<number | null> {
  return shape(`a whole number from 0 to ${most}, or null for no limit`, (node, { wrong }) => {
    const value = node.kind === "other" ? node.value : undefined;
    if (value === null) return null;
    return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= most ? value : wrong();
  });
}

/** A number above 0. */
export function positive(most: number, unit: string): Shape<number> {
  return shape(`a number of ${unit} above 0, at most ${most}`, (node, { wrong }) => {
    const value = node.kind === "other" ? node.value : undefined;
    return typeof value === "number" && value > 0 && value <= most ? value : wrong();
  });
}

/** Adds the position to a value. */
export function located<T>(inner: Shape<T>): Shape<Located<T>> {
  return shape(inner.expected, (node, { key, reading }) => {
    const value = inner.read(node, key, reading);
    return value === undefined ? undefined : { value, place: node.place, written: shown(node) };
  });
}

/** A list. Reports invalid items and returns the others. */
export function list<T>(item: Shape<T>): Shape<readonly T[]> {
  return shape("a list", (node, { key, reading, wrong }) => {
    if (node.kind === "other" && node.value === null) return wrong("For an empty list write [].");
    if (node.kind !== "list") return wrong();
    return node.items.flatMap((each, index) => {
      const value = item.read(each, `${key}[${index}]`, reading);
      return value === undefined ? [] : [value];
    });
  });
}

/** A map with certain optional keys. */
export function fields<const S extends { readonly [key: string]: Shape<unknown> }>(
  shapes: S,
): Shape<{ readonly [K in keyof S]?: S[K] extends Shape<infer T> ? T : never }> {
  const known = Object.keys(shapes);
  const valueOf = (name: string) =>
    Object.hasOwn(shapes, name) ? (shapes[name] ?? "") : ["unknown key.", didYouMean(name, known)].join(" ").trimEnd();
  return shape(`a map of ${known.join(", ")}`, (node, { key, reading, wrong }) => {
    // Each value has the shape of its own key. TypeScript cannot express that for the whole object.
    return mapOf<unknown>(node, key, reading, wrong, valueOf) as { readonly [K in keyof S]?: never };
  });
}

/** A map whose keys are names. `valueOf` returns the shape of a name's value, or what is wrong with the name. */
export function record<T>(
  expected: string,
  valueOf: (name: string) => Shape<T> | string,
): Shape<{ readonly [name: string]: T }> {
  return shape(expected, (node, { key, reading, wrong }) => mapOf(node, key, reading, wrong, valueOf));
}

function mapOf<T>(
  node: Node,
  key: string,
  reading: Reading,
  wrong: () => undefined,
  valueOf: (name: string) => Shape<T> | string,
): { readonly [name: string]: T } | undefined {
  if (node.kind === "other" && node.value === null) return {}; // nothing after the colon
  if (node.kind !== "map") return wrong();
  const read = entriesOf(node.entries, key, reading).flatMap(({ key: name, place, value }): [string, T][] => {
    const expected = valueOf(name);
    if (typeof expected === "string") {
      reading.report(place, within(key, name), expected);
      return [];
    }
    const found = expected.read(value, within(key, name), reading);
    return found === undefined ? [] : [[name, found]];
  });
  return Object.fromEntries(read); // stores "__proto__" like any other key
}
