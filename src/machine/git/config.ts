/** A part of a configuration file (git-config(1), "Syntax"). The parts follow each other and make up the whole text. */
export type Part =
  | { readonly kind: "blank"; readonly raw: string }
  | { readonly kind: "header"; readonly raw: string; readonly section: string; readonly subsection: string | undefined }
  /** `value` is `undefined` for a key without a value, which means true. `written` is the value as in the file. */
  | (Setting & { readonly kind: "setting"; readonly raw: string; readonly written: string })
  /** From here on, git cannot read the file and refuses it. The rest of the text. */
  | { readonly kind: "error"; readonly raw: string };

/** A key with its value. Section and key are in lower case. */
export interface Setting {
  readonly section: string;
  readonly subsection: string | undefined;
  readonly key: string;
  readonly value: string | undefined;
}

const HEADER = /\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?\]/y;
const BLANK = /(?:[ \t\n\r]|[#;][^\n]*)+/y;
const KEY = /([A-Za-z][A-Za-z0-9-]*)[ \t]*/y;
const ESCAPES: { readonly [letter: string]: string } = { n: "\n", t: "\t", b: "\b", '"': '"', "\\": "\\" };

/** Reads a configuration as git does. Pure. */
export function* partsOf(text: string): Generator<Part> {
  let section = "";
  let subsection: string | undefined;
  const [mark = ""] = /^(\ufeff|\xef\xbb\xbf)/.exec(text) ?? []; // git skips a byte order mark
  if (mark !== "") yield { kind: "blank", raw: mark };
  for (let at = mark.length; at < text.length;) {
    const start = at;
    const take = (pattern: RegExp) => {
      pattern.lastIndex = at;
      const found = pattern.exec(text);
      if (found !== null) at = pattern.lastIndex;
      return found;
    };
    if (take(BLANK) !== null) yield { kind: "blank", raw: text.slice(start, at) };
    else {
      const header = take(HEADER);
      if (header !== null) {
        const [name = "", ...dotted] = (header[1] ?? "").toLowerCase().split(".");
        section = name;
        subsection = header[2]?.replace(/\\(.)/g, "$1") ?? (dotted.length === 0 ? undefined : dotted.join("."));
        yield { kind: "header", raw: text.slice(start, at), section, subsection };
        continue;
      }
      const key = take(KEY)?.[1]?.toLowerCase();
      const value = key === undefined ? "error" : text[at] === "=" ? readValue(text, at + 1) : endOfKey(text, at);
      if (key === undefined || value === "error") return yield { kind: "error", raw: text.slice(start) };
      const written = text.slice(at + 1, value.end).trim();
      at = value.end;
      yield { kind: "setting", raw: text.slice(start, at), section, subsection, key, value: value.value, written };
    }
  }
}

/** The settings of a configuration. If it is damaged, the settings before the damage. */
export function settingsIn(text: string): readonly Setting[] {
  return Array.from(partsOf(text)).flatMap((part) => (part.kind === "setting" ? [part] : []));
}

type Value = { readonly value: string | undefined; readonly end: number } | "error";

function endOfKey(text: string, at: number): Value {
  const isEnd = at >= text.length || text[at] === "\n" || text.startsWith("\r\n", at);
  return isEnd ? { value: undefined, end: at } : "error";
}

function readValue(text: string, start: number): Value {
  let value = "";
  let kept = 0;
  let isQuoted = false;
  let isComment = false;
  for (let at = start; ; at++) {
    const letter = text[at];
    if (letter === undefined || letter === "\n") {
      return isQuoted
        ? "error"
        : { value: value.slice(0, kept).replace(/^[ \t]+/, ""), end: Math.min(at, text.length) };
    }
    if (isComment || (letter === "\r" && text[at + 1] === "\n")) continue;
    if (!isQuoted && (letter === "#" || letter === ";")) isComment = true;
    else if (letter === '"') isQuoted = !isQuoted;
    else if (letter === "\\") {
      if (text.startsWith("\r\n", at + 1)) at++;
      const next = text[++at];
      if (next === "\n" || next === undefined) continue; // the end of a file ends its last line
      const meant = ESCAPES[next];
      if (meant === undefined) return "error";
      value += meant;
      kept = value.length;
    } else {
      value += letter;
      if (isQuoted || !/[ \t\r]/.test(letter)) kept = value.length;
    }
  }
}
