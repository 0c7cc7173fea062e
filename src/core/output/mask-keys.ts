import type { Span } from "./escape-sequence.ts";
import { uncounted } from "../util/text.ts";
import { KEY_FORMATS } from "./key-formats.ts";

/** A private key in PEM (RFC 7468). One of its two ends is enough, because the other may have been cut off. */
const PEM_LABEL = "private key";
const PEM_EDGE = /-----(BEGIN|END) (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----/y;
const PEM_NEXT_EDGE = /-----(BEGIN|END) /g;
/** The maximum length of a private key, in characters. */
const PEM_LENGTH = 20_000;

const COMPILED = KEY_FORMATS.map(({ label, begins, after = "", gap = "", rest, before = "", bounded, accepts }) => ({
  label,
  bounded,
  accepts,
  spellings: (begins ?? after).split(" "),
  pattern: new RegExp(
    uncounted(begins ? `()(${anyOf(begins)}${rest})${before}` : `(${anyOf(after)}${gap})(${rest})${before}`),
    "y",
  ),
}));

/** Formats by the first three characters. A longer beginning precedes a shorter one, as in the table. */
const BY_START = new Map<string, typeof COMPILED>();
for (const format of COMPILED) {
  for (const start of new Set(format.spellings.map((spelling) => spelling.slice(0, 3)))) {
    BY_START.set(start, [...(BY_START.get(start) ?? []), format]);
  }
}

const START = new RegExp(["-----", ...BY_START.keys()].map(literal).join("|"), "g");

/** Classes of characters, the rarest first. */
const RARE = [/[_.:-]/, /[A-Z]/, /[bjkqvxz]/, /./];

/** One test for all formats, which takes a few nanoseconds per character. If it fails, there is no key. */
const HINT = hint();

/** Returns the next index, from `from` on, at which `keyAt` may find a key; the length of the text if there is none. */
export function keyStart(text: string, from: number): number {
  if (from === 0 && !HINT.test(text)) return text.length;
  START.lastIndex = from;
  return START.exec(text)?.index ?? text.length;
}

/** The labels of all kinds of keys. */
export const KEY_LABELS: readonly string[] = [...new Set([PEM_LABEL, ...KEY_FORMATS.map(({ label }) => label)])];

/** A part of a text that must be masked, and its kind. */
export interface Secret extends Span {
  readonly label: string;
}

/**
 * Returns the key that begins at `index` or that `index` introduces; `undefined` if there is none. Contains nothing
 * before `from`.
 */
export function keyAt(text: string, index: number, from: number): Secret | undefined {
  if (text.startsWith("-----", index)) return privateKeyAt(text, index, from);
  for (const { label, pattern, bounded, accepts } of BY_START.get(text.slice(index, index + 3)) ?? []) {
    // Checked first, so that a long word is not scanned from every position.
    if (bounded && isInsideWord(text, index)) continue;
    pattern.lastIndex = index;
    const [, before = "", secret = ""] = pattern.exec(text) ?? [];
    if (secret === "" || accepts?.(secret) === false) continue;
    const start = index + before.length;
    return { start, end: start + secret.length, label };
  }
  return undefined;
}

/** Returns true when the text contains something that looks like a key. */
export function hasKnownKey(text: string): boolean {
  for (let at = keyStart(text, 0); at < text.length; at = keyStart(text, at + 1)) {
    if (keyAt(text, at, 0) !== undefined) return true;
  }
  return false;
}

/** After the beginning of a key, text is held back up to white space. After a name, white space may follow. */
const NAMES = KEY_FORMATS.flatMap(({ after = "" }) => after.split(" ").filter((each) => /[A-Za-z]$/.test(each)));
const BEGINS = COMPILED.flatMap(({ spellings }) => spellings.filter((each) => !NAMES.includes(each)));
const OPEN = new RegExp(`${anyOf(BEGINS.join(" "))}\\S*$`);
const OPEN_NAME = new RegExp(`${anyOf(NAMES.join(" "))}["'\\s:=]*(?:[bB](?:earer|asic)\\s+)?\\S*$`);
const OPEN_PEM = /-----BEGIN [A-Z0-9 ]*-{0,5}(?:[\sA-Za-z0-9+/=:,-]|\\[nr])*$/;
/** A text may end in the middle of a beginning. */
const BEGINNINGS: ReadonlySet<string> = new Set(
  ["-----BEGIN ", ...BEGINS, ...NAMES].flatMap((each) => Array.from(each, (_, at) => each.slice(0, at + 1))),
);
const LONGEST_BEGINNING = Math.max(...[...BEGINNINGS].map(({ length }) => length));
/** How far back an open key is searched, in characters. A private key may be longer. */
const OPEN_LENGTH = 8_192;

/** Returns where an incomplete key may begin in a text that continues; the length of the text if nowhere. */
export function openKeyAt(text: string): number {
  const from = Math.max(0, text.length - OPEN_LENGTH);
  const end = text.slice(from);
  const starts = [OPEN, OPEN_NAME, OPEN_PEM].map((pattern) => pattern.exec(end)?.index ?? end.length);
  for (let length = Math.min(LONGEST_BEGINNING, end.length); length > 0; length--) {
    if (!BEGINNINGS.has(end.slice(-length))) continue;
    starts.push(end.length - length);
    break;
  }
  return from + Math.min(...starts);
}

/** Returns the beginning of a key that was cut off at `end`; `undefined` if there is none. Examines one word. */
export function cutKeyBefore(text: string, end: number): Secret | undefined {
  const word = /[^\s"'`<>()]{1,512}$/.exec(text.slice(Math.max(0, end - 512), end))?.[0];
  if (word === undefined) return undefined;
  const match = CUT.exec(word);
  if (match === null) return undefined;
  const start = end - word.length + match.index;
  return isInsideWord(text, start) ? undefined : { start, end, label: "key" };
}

/** Shorter beginnings do not identify a key: `sk-` also begins `sk-proj-`. */
const SHORTEST_CUT_BEGINNING = 4;

/** A beginning, followed by at least six characters of a key, one of them a digit. */
const CUT = new RegExp(
  `(?:${KEY_FORMATS.flatMap(({ begins = "", rest }) => {
    const long = begins.split(" ").filter((each) => each.length >= SHORTEST_CUT_BEGINNING);
    const piece = firstClass(rest);
    return long.length === 0 ? [] : [`${anyOf(long.join(" "))}(?=${piece}*\\d)${piece}{6,}`];
  }).join("|")})$`,
);

function privateKeyAt(text: string, index: number, from: number): Secret | undefined {
  PEM_EDGE.lastIndex = index;
  const [edge = "", kind] = PEM_EDGE.exec(text) ?? [];
  if (edge === "") return undefined;
  const start = index + edge.length;
  if (kind === "END") {
    const body = bodyBefore(text, index, Math.max(from, index - PEM_LENGTH));
    return isKeyText(body) ? { start: index - body.trimStart().length, end: start, label: PEM_LABEL } : undefined;
  }
  PEM_NEXT_EDGE.lastIndex = start;
  const next = PEM_NEXT_EDGE.exec(text);
  if (next !== null && next[1] === "END" && next.index - start < PEM_LENGTH) {
    const closing = text.indexOf("-----", next.index + 8);
    const isKey = closing !== -1 && isKeyText(text.slice(start, next.index));
    return isKey ? { start: index, end: closing + 5, label: PEM_LABEL } : undefined;
  }
  const [body = ""] = PEM_BODY.exec(text.slice(start, start + PEM_LENGTH)) ?? [];
  return isKeyText(body) ? { start: index, end: start + body.trimEnd().length, label: PEM_LABEL } : undefined;
}

/** Returns the base64 that ends at `end`. Walks backwards, because an expression would try every position before it. */
function bodyBefore(text: string, end: number, from: number): string {
  let start = end;
  while (start > from && /[A-Za-z0-9+/=\s\\]/.test(text.charAt(start - 1))) start--;
  return text.slice(start, end);
}

/** Headers and base64, up to the first character that is neither. */
const PEM_BODY = /^(?:[A-Za-z-]+: [^\n]{1,200}\n|[A-Za-z0-9+/=]|\s|\\[nr])+/;

/** Returns true for a long run of base64: the header lines of keys also occur in source code. */
function isKeyText(body: string): boolean {
  return /[A-Za-z0-9+/=]{32}/.test(body);
}

/** Returns true inside a word. The letters that end a colour sequence or a `\n` in quotes belong to no word. */
function isInsideWord(text: string, index: number): boolean {
  if (index === 0 || !/[A-Za-z0-9_-]/.test(text.charAt(index - 1))) return false;
  return !/(?:\x1b\[[\d;]*m|\\[nrt]|%[0-9A-Fa-f]{2})$/.test(text.slice(Math.max(0, index - 16), index));
}

/**
 * Builds one expression for all formats. Each alternative starts at the rarest character of a beginning and looks in
 * both directions.
 */
function hint(): RegExp {
  /** By that character and what follows it: what may precede, including the character. */
  const found = new Map<string, Map<string, string[]>>([["-", new Map([["----(?:BEGIN|END) ", ["-"]]])]]);
  for (const { begins, after = "", gap = "", rest } of KEY_FORMATS) {
    for (const spelling of (begins ?? after).split(" ")) {
      const at = RARE.map((rare) => spelling.search(rare)).find((index) => index !== -1) ?? 0;
      const character = literal(spelling.charAt(at));
      const ahead = literal(spelling.slice(at + 1)) + (begins === undefined ? gap : "") + firstClass(rest);
      const of = found.get(character) ?? new Map<string, string[]>();
      found.set(character, of.set(ahead, [...(of.get(ahead) ?? []), spelling.slice(0, at + 1)]));
    }
  }
  const alternatives = [...found].map(([character, of]) => {
    const places = [...of].map(([ahead, before]) => `(?=${ahead})(?<=${anyOf(before.join(" "))})`);
    return `${character}(?:${places.join("|")})`;
  });
  return new RegExp(alternatives.join("|"));
}

/** Returns the first character class: `[A-Z0-9]` of `[A-Z0-9]{6,}/…`. */
function firstClass(pattern: string): string {
  return /^(?:\[[^\]]*\]|\\.|.)/.exec(pattern)?.[0] ?? "";
}

function anyOf(spellings: string): string {
  return `(?:${spellings.split(" ").map(literal).join("|")})`;
}

function literal(text: string): string {
  return text.replaceAll(".", "\\.");
}
