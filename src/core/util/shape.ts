import { didYouMean } from "./nearest.ts";

/**
 * Returns what is wrong with a value: "policy.autonomy: expected …, got …". Empty: it fits. `undefined` is not asked.
 */
export type Check = (value: unknown, at: string) => readonly string[];

/** The options of an object, each with its check. */
export type Shape<T> = { readonly [K in keyof Required<T>]: Check };

/**
 * Checks the options of a program that may have no types.
 *
 * @param of what has the options, for the message: "createToolkit"
 * @throws TypeError that names each unknown key and wrong value, with the nearest one.
 */
export function requireShape<T extends object>(of: string, options: T, shape: Shape<T>): void {
  const problems = keysIn(options, shape, `${of} has no option`, "");
  if (problems.length > 0) throw new TypeError(problems.join("\n"));
}

/** An object with these keys and no others. */
export const object =
  <T>(shape: Shape<T>): Check =>
  (value, at) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? keysIn(value, shape, `${at} has no key`, `${at}.`)
      : [wrong(at, `an object with ${Object.keys(shape).join(", ")}`, value)];

/** One of some words. */
export const oneOf =
  (...words: readonly string[]): Check =>
  (value, at) => {
    if (typeof value === "string" && words.includes(value)) return [];
    const expected = words.map((word) => JSON.stringify(word)).join(" or ");
    return [`${wrong(at, expected, value)}. ${typeof value === "string" ? didYouMean(value, words) : ""}`.trimEnd()];
  };

export const flag: Check = (value, at) => (typeof value === "boolean" ? [] : [wrong(at, "true or false", value)]);
export const text: Check = (value, at) => (typeof value === "string" ? [] : [wrong(at, "a text", value)]);
export const callback: Check = (value, at) => (typeof value === "function" ? [] : [wrong(at, "a function", value)]);

/** An object whose own code checks what is in it. */
export const anyObject: Check = (value, at) =>
  typeof value === "object" && value !== null ? [] : [wrong(at, "an object", value)];

/** A number that is not below `least`; infinite is one. */
export const number =
  (least: number): Check =>
  (value, at) =>
    typeof value === "number" && value >= least ? [] : [wrong(at, `a number of at least ${least}`, value)];

export const listOf =
  (check: Check): Check =>
  (value, at) =>
    Array.isArray(value)
      ? value.flatMap((each, index) => check(each, `${at}[${index}]`))
      : [wrong(at, "a list", value)];

/** An object with any keys. */
export const mapOf =
  (check: Check): Check =>
  (value, at) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.entries(value).flatMap(([key, each]) => (each === undefined ? [] : check(each, `${at}.${key}`)))
      : [wrong(at, "an object", value)];

/** The first check for values of one `typeof`, the second for all others. */
export const either =
  (kind: "string" | "boolean", first: Check, second: Check): Check =>
  (value, at) =>
    (typeof value === kind ? first : second)(value, at);

function keysIn(
  given: object,
  shape: { readonly [key: string]: Check },
  none: string,
  before: string,
): readonly string[] {
  const known = Object.keys(shape);
  return Object.entries(given).flatMap(([key, value]) => {
    const check = Object.hasOwn(shape, key) ? shape[key] : undefined;
    if (check !== undefined) return value === undefined ? [] : check(value, `${before}${key}`);
    return [`${none} ${JSON.stringify(key)}. ${didYouMean(key, known) || `Expected ${known.join(", ")}.`}`];
  });
}

function wrong(at: string, expected: string, value: unknown): string {
  const shown =
    typeof value === "string" ? JSON.stringify(value.slice(0, 100)) : Array.isArray(value) ? "a list" : typeOf(value);
  return `${at}: expected ${expected}, got ${shown}`;
}

function typeOf(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean" || value === null) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
