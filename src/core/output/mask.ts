import type { Env } from "../contract/effect.ts";
import { KEY_LABELS, type Secret, cutKeyBefore, keyAt, keyStart } from "./mask-keys.ts";
import { type MaskStream, maskStream } from "./mask-stream.ts";
import { SHORTEST_VALUE, formsOf, isSecretName, isSecretValue, secretsIn } from "./mask-values.ts";

/** Options for masking secrets. */
export interface MaskOptions {
  /** Additional values to mask, of 8 characters or more. */
  readonly values?: readonly string[];
  /** Additional environment variables whose values are masked, whatever their names look like. */
  readonly names?: readonly string[];
}

/**
 * Replaces secrets with `[masked: NAME]`: the values of variables with secret names, and keys of known formats. Returns
 * the same value if there are none. Nothing here throws.
 */
export interface Mask {
  text(value: string): string;
  /** The same with as many characters as before: `[masked]***`, so that offsets stay what they were. */
  sized(value: string): string;
  /**
   * Masks all texts in a JSON value, including keys. Returns values that are neither JSON nor plain objects unchanged.
   */
  json<T>(value: T): T;
  /** Returns a mask for a text that arrives in pieces. */
  stream(): MaskStream;
  /** Also masks the secrets among these variables from now on. */
  learn(env: Env): void;
  /**
   * Returns the first mark of a mask in a value that a model sends back, "[masked: NAME]", and its path,
   * "edits[0].new_text".
   */
  markIn(value: unknown): { readonly mark: string; readonly path: string } | undefined;
}

const NO_STREAM: MaskStream = { add: (piece) => piece, end: () => "" };

/** Masks nothing. */
export const NO_MASK: Mask = {
  text: (value) => value,
  sized: (value) => value,
  json: (value) => value,
  stream: () => NO_STREAM,
  learn: () => {},
  markIn: () => undefined,
};

/** The shortest part of a cut-off value that is masked, in characters. */
const SHORTEST_PART = 6;
/** The shortest text for which `clean` is used: searching a shorter one is as fast as comparing it. */
const LONG_TEXT = 256;
/** The maximum number of values. No command passes that many variables. */
const MOST_VALUES = 2_000;
/** How many names of fields are remembered. */
const MOST_KEYS = 256;
const MAX_DEPTH = 64;
const MARK = /\[masked: ([^\]\n]{1,80})\]/g;
/** The label of values without a name. */
const UNNAMED = "secret";
/** What a mark of the secret's size begins with. */
const SIZED = "[masked]";

/** Makes a mask from the variables of an environment. */
export function createMask(env: NodeJS.ProcessEnv, { values = [], names = [] }: MaskOptions = {}): Mask {
  /** Forms of values by their first characters, longest first. */
  const byStart = new Map<string, Form[]>();
  const labels = new Set([...KEY_LABELS, UNNAMED]);
  let count = 0;
  /**
   * All pieces of forms after their beginnings. A text that starts with such a piece may start with the rest of a
   * value.
   */
  const pieces = new Set<string>();
  let starts: RegExp | undefined;
  /** The last long text without a secret. The same text is masked as argument, as data and as what the model reads. */
  let clean = "";
  /** Names of fields without a secret: the entries of a list have the same ones. */
  const cleanKeys = new Set<string>();

  const add = (secrets: readonly { readonly name: string; readonly value: string }[]) => {
    const before = count;
    for (const { name, value } of secrets) {
      for (const form of formsOf(value)) {
        const alike = byStart.get(form.slice(0, SHORTEST_PART)) ?? [];
        if (count >= MOST_VALUES || alike.some(({ text }) => text === form)) continue;
        count++;
        labels.add(name);
        alike.push({ text: form, label: name, least: leastPart(form) });
        for (let at = 1; at + SHORTEST_PART <= form.length; at++) pieces.add(form.slice(at, at + SHORTEST_PART));
        byStart.set(
          form.slice(0, SHORTEST_PART),
          alike.toSorted((one, other) => other.text.length - one.text.length),
        );
      }
    }
    clean = "";
    cleanKeys.clear();
    if (count > before) starts = new RegExp([...byStart.keys()].map(escaped).join("|"), "g");
  };

  add(secretsIn(env, names));
  add(values.filter((value) => value.length >= SHORTEST_VALUE).map((value) => ({ name: UNNAMED, value })));

  const valueStart = (text: string, from: number): number => {
    if (starts === undefined) return text.length;
    starts.lastIndex = from;
    return starts.exec(text)?.index ?? text.length;
  };

  const valueAt = (text: string, index: number): Secret | undefined => {
    for (const form of byStart.get(text.slice(index, index + SHORTEST_PART)) ?? []) {
      const end = index + sharedLength(text, index, form.text);
      const isWhole = end - index === form.text.length;
      if (isWhole ? isAlone(text, index, end, form.text) : end - index >= form.least && isCutAt(text, end)) {
        return { start: index, end, label: form.label };
      }
    }
    return undefined;
  };

  /** Returns the rest of a value at the start of a text, if the value's beginning was cut off. */
  const restAtStart = (text: string): Secret | undefined => {
    if (!pieces.has(text.slice(0, SHORTEST_PART))) return undefined;
    for (const alike of byStart.values()) {
      for (const { text: form, label, least } of alike) {
        for (let at = form.indexOf(text.slice(0, least), 1); at > 0; at = form.indexOf(text.slice(0, least), at + 1)) {
          const rest = form.slice(at);
          if (rest.length >= least && text.startsWith(rest)) return { start: 0, end: rest.length, label };
          if (text.length >= least && rest.startsWith(text)) return { start: 0, end: text.length, label };
        }
      }
    }
    return undefined;
  };

  const find = (value: string): readonly Secret[] => {
    const { length } = value;
    if (length < SHORTEST_PART || value === clean) return [];
    const rest = restAtStart(value);
    let from = rest?.end ?? 0;
    let key = keyStart(value, from);
    let known = valueStart(value, from);
    if (rest === undefined && key === length && known === length) {
      if (length >= LONG_TEXT) clean = value;
      return [];
    }
    const mayBeCut = key < length;
    const secrets: Secret[] = rest === undefined ? [] : [rest];
    while (key < length || known < length) {
      const at = Math.min(key, known);
      const secret =
        (known === at ? valueAt(value, at) : undefined) ?? (key === at ? keyAt(value, at, from) : undefined);
      if (secret !== undefined) secrets.push(secret);
      from = secret?.end ?? from;
      const next = Math.max(from, at + 1);
      if (key < next) key = keyStart(value, next);
      if (known < next) known = valueStart(value, next);
    }
    const cut = mayBeCut ? cutKey(value) : undefined;
    if (cut !== undefined && cut.start >= from) secrets.push(cut);
    return secrets;
  };
  const text = (value: string) => replaced(value, find(value), ({ label }) => mark(label));
  const keyText = (key: string) => {
    if (cleanKeys.has(key)) return key;
    const shown = text(key);
    if (shown === key && cleanKeys.size < MOST_KEYS && key.length < LONG_TEXT) cleanKeys.add(key);
    return shown;
  };

  const jsonAt = (value: unknown, depth: number): unknown => {
    if (typeof value === "string") return text(value);
    if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
    if (Array.isArray(value)) {
      let copy: unknown[] | undefined;
      for (let index = 0; index < value.length; index++) {
        const each: unknown = value[index];
        const masked = jsonAt(each, depth + 1);
        if (masked !== each) (copy ??= value.slice())[index] = masked;
      }
      return copy ?? value;
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) return value;
    let copy: [string, unknown][] | undefined;
    const keys = Object.keys(value);
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index] ?? "";
      const each: unknown = value[key as keyof typeof value];
      const masked = underName(key, each) ?? jsonAt(each, depth + 1);
      const shownKey = keyText(key);
      if (masked !== each || shownKey !== key) copy ??= Object.entries(value).slice(0, index);
      copy?.push([shownKey, masked]);
    }
    return copy === undefined ? value : Object.fromEntries(copy); // stores "__proto__" like any other key
  };

  return {
    text,
    sized: (value) =>
      replaced(value, find(value), ({ start, end }) => SIZED.padEnd(end - start, "*").slice(0, end - start)),
    json: <T>(value: T) => jsonAt(value, 0) as T, // keeps the type: texts stay texts
    stream: () => maskStream(text, (pending) => openValueAt(pending, byStart)),
    learn: (more) => add(secretsIn(more)),
    markIn: (value) => markAt(value, "", labels, 0),
  };
}

interface Form {
  readonly text: string;
  readonly label: string;
  /** How many first characters of a form count as the form when the rest is cut off. */
  readonly least: number;
}

/** A value with a digit is recognized by a few characters. A value made of words needs most of them. */
function leastPart(form: string): number {
  return /\d/.test(form) ? SHORTEST_PART : Math.max(SHORTEST_PART, Math.ceil((form.length * 3) / 4));
}

/**
 * Masks a variable in an object: `{"env": {"API_TOKEN": "…"}}`. Only for names in capitals, because "key" is too
 * common.
 */
function underName(name: string, value: unknown): string | undefined {
  if (typeof value !== "string" || value.length < SHORTEST_VALUE || !/^[A-Z][A-Z0-9_]{2,63}$/.test(name))
    return undefined;
  return isSecretName(name) && isSecretValue(value) ? mark(name) : undefined;
}

function mark(label: string): string {
  return `[masked: ${label}]`;
}

/** Returns true where texts are cut: at the end, at the end of a line, and before a note of ours. */
function isCutAt(text: string, end: number): boolean {
  return end === text.length || /^(?:[\r\n…]| ?\[)/.test(text.slice(end, end + 2));
}

/** Returns false for a value made of letters inside a longer word. */
function isAlone(text: string, start: number, end: number, value: string): boolean {
  if (!/^[A-Za-z]+$/.test(value)) return true;
  return !/[A-Za-z]/.test(text.charAt(start - 1)) && !/[A-Za-z]/.test(text.charAt(end));
}

/** Returns a key that was cut off at the end of the text, or of the text before a notice ("[Output truncated …]"). */
function cutKey(text: string): Secret | undefined {
  let end = text.length;
  for (let notes = 0; notes < 3 && text.charAt(end - 1) === "]"; notes++) {
    const start = text.lastIndexOf("\n", end - 1) + 1;
    if (start === 0 || text.charAt(start) !== "[") break;
    end = start - 1;
  }
  return cutKeyBefore(text, end);
}

/** Returns where an incomplete value may begin in a text that continues; the length of the text if nowhere. */
function openValueAt(text: string, byStart: ReadonlyMap<string, readonly Form[]>): number {
  let open = text.length;
  for (const alike of byStart.values()) {
    for (const { text: form } of alike) {
      const earliest = Math.max(0, text.length - form.length + 1);
      for (
        let at = text.indexOf(form.charAt(0), earliest);
        at !== -1 && at < open;
        at = text.indexOf(form.charAt(0), at + 1)
      ) {
        if (form.startsWith(text.slice(at))) open = at;
      }
    }
  }
  return open;
}

function sharedLength(text: string, index: number, form: string): number {
  if (text.startsWith(form, index)) return form.length;
  let length = 0;
  while (length < form.length && text.charCodeAt(index + length) === form.charCodeAt(length)) length++;
  return length;
}

function replaced(text: string, secrets: readonly Secret[], by: (secret: Secret) => string): string {
  if (secrets.length === 0) return text;
  let shown = "";
  let from = 0;
  for (const secret of secrets) {
    shown += text.slice(from, secret.start) + by(secret);
    from = secret.end;
  }
  return shown + text.slice(from);
}

function markAt(
  value: unknown,
  path: string,
  labels: ReadonlySet<string>,
  depth: number,
): { readonly mark: string; readonly path: string } | undefined {
  if (typeof value === "string") {
    if (!value.includes("[masked: ")) return undefined;
    const found = [...value.matchAll(MARK)].find(([, label = ""]) => labels.has(label));
    return found && { mark: found[0], path };
  }
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return undefined;
  for (const [key, each] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
    const found = markAt(each, at, labels, depth + 1);
    if (found) return found;
  }
  return undefined;
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
