import { expandBraces } from "./braces.ts";
import type { ParameterExpansionPart, Word as ParsedWord, Script, SyntaxNode, WordPart } from "./grammar.ts";
import type { Tree, Word } from "./tree.ts";

/** So many words of a script may come out of brace lists; the others are not worked out. */
const MOST_BRACED = 512;

/** Variables of which it is known what they hold; `undefined`: not in this script. */
export interface KnownVariables {
  /** What `~` stands for too. */
  readonly HOME: string | undefined;
  readonly PWD: string | undefined;
}

interface WordReaderOptions {
  readonly known: KnownVariables;
  readonly scriptOf: (script: Script) => Tree;
  /** Everything that runs inside of a node. */
  readonly scriptsIn: (node: SyntaxNode) => readonly Tree[];
}

/** Turns a word as it is parsed into what is known of it; brace lists make several of one. */
export function createWordReader({
  known,
  scriptOf,
  scriptsIn,
}: WordReaderOptions): (word: ParsedWord) => readonly Word[] {
  const { HOME: home } = known;
  const read = (word: ParsedWord): readonly Word[] => {
    const { parts } = word;
    if (parts === undefined) return [withTilde(word.text, literal(word), home)];
    if (parts.some(({ type }) => type === "BraceExpansion")) return braced(word, parts);
    const being = createBuilder();
    for (const part of parts) add(being, part, false);
    return [withTilde(word.text, being.word(word.text), home)];
  };

  let made = 0;
  const braced = (word: ParsedWord, parts: readonly WordPart[]): readonly Word[] => {
    const isSimple = parts.every(({ type }) => type === "BraceExpansion" || type === "Literal" || type === "Glob");
    const expanded =
      made < MOST_BRACED && isSimple && !/[\\'"`$]/.test(word.text) ? expandBraces(word.text) : undefined;
    made += expanded?.length ?? 0;
    if (expanded === undefined || made > MOST_BRACED) {
      const scripts = parts.flatMap(scriptsIn);
      return [{ text: word.text, value: undefined, prefix: "", splits: true, unknown: [word.text], scripts }];
    }
    return expanded.map((text) => withTilde(text, unquoted(text), home));
  };

  const add = (being: Builder, part: WordPart, quoted: boolean): void => {
    switch (part.type) {
      case "Literal":
      case "SingleQuoted":
      case "AnsiCQuoted":
        return being.literal(part.value);
      case "DoubleQuoted":
      case "LocaleString":
        being.literal(""); // a word it is, even when there is nothing in it
        for (const inner of part.parts) add(being, inner, true);
        return;
      case "Glob":
        return being.glob(part.text);
      case "SimpleExpansion":
      case "ParameterExpansion": {
        const path =
          part.text.replaceAll(/[{}]/g, "") === "$HOME"
            ? home
            : part.text.replaceAll(/[{}]/g, "") === "$PWD"
              ? known.PWD
              : undefined;
        if (isPlainPath(path)) return being.literal(path);
        if (part.type === "SimpleExpansion") return being.unknown(part.text, !quoted || part.text === "$@");
        being.runs(parameterScripts(part));
        return being.unknown(part.text, !quoted || part.text.includes("@"));
      }
      case "CommandExpansion": {
        const runs: Tree =
          part.script === undefined || part.text.startsWith("${")
            ? hazard(part, "how it is run is not understood")
            : { kind: "subshell", body: scriptOf(part.script) };
        being.runs([runs]);
        return being.unknown(part.text, !quoted);
      }
      case "ProcessSubstitution":
        being.runs([
          part.script === undefined
            ? hazard(part, "how it is run is not understood")
            : { kind: "subshell", body: scriptOf(part.script) },
        ]);
        return being.literal("/dev/fd/63");
      case "ArithmeticExpansion":
        if (!/^\$\(\([\d\s+\-*/%()<>=!&|^~?:,]*\)\)$/.test(part.text))
          being.runs([hazard(part, "arithmetic evaluates what its variables hold")]);
        return being.unknown(part.text, !quoted);
      case "ExtendedGlob":
      case "BraceExpansion":
        being.runs(scriptsIn(part));
        return being.unknown(part.text, true);
    }
  };

  /** What runs in `${…}`: its operands; and what is evaluated in it: subscripts, positions, names of names. */
  const parameterScripts = (part: ParameterExpansionPart): readonly Tree[] => {
    const { prefix, index, operation } = part;
    const evaluates =
      prefix === "!" ||
      (index !== undefined && !/^(@|\*|\d+)$/.test(index.text)) ||
      (operation !== undefined && !HARMLESS.has(operation.type)) ||
      (operation?.type === "Default" && operation.operator.includes("="));
    return evaluates ? [hazard(part, "it evaluates what a variable holds")] : scriptsIn(part);
  };

  const hazard = (part: WordPart, why: string): Tree => ({
    kind: "unclear",
    text: part.text,
    why,
    inside: scriptsIn(part),
  });

  return read;
}

const HARMLESS: ReadonlySet<string> = new Set(["Default", "Remove", "Replace", "CaseModification"]);

interface Builder {
  literal(text: string): void;
  /** A pattern, as it is written. */
  glob(text: string): void;
  unknown(text: string, splits: boolean): void;
  runs(scripts: readonly Tree[]): void;
  word(text: string): Word;
}

function createBuilder(): Builder {
  let value = "";
  let prefix = "";
  let pattern = "";
  let known = true;
  let hasGlob = false;
  let splits = false;
  const unknown: string[] = [];
  const scripts: Tree[] = [];
  return {
    literal(text) {
      if (known) prefix += text;
      value += text;
      pattern += text.replaceAll(/[\\*?[\]]/g, "\\$&");
    },
    glob(text) {
      known = false;
      hasGlob = true;
      splits = true;
      pattern += text;
    },
    unknown(text, splitting) {
      known = false;
      splits ||= splitting;
      unknown.push(text);
    },
    runs: (more) => void scripts.push(...more),
    word: (text) => ({
      text,
      value: known ? value : undefined,
      prefix,
      splits,
      unknown: hasGlob ? [...unknown, text] : unknown,
      ...(hasGlob && unknown.length === 0 && { glob: pattern }),
      scripts,
    }),
  };
}

/** A word with nothing in it but letters and escapes. */
function literal({ text, value }: ParsedWord): Word {
  return { text, value, prefix: value, splits: false, unknown: [], scripts: [] };
}

/** A word of literals and globs, as text. */
function unquoted(text: string): Word {
  const at = text.search(/[*?[]/);
  if (at === -1) return { text, value: text, prefix: text, splits: false, unknown: [], scripts: [] };
  return { text, value: undefined, prefix: text.slice(0, at), splits: true, unknown: [text], glob: text, scripts: [] };
}

/** `~` and `~/x` are the home, also behind the `=` of what looks like an assignment; another's home is known by its custom only. */
function withTilde(text: string, word: Word, home: string | undefined): Word {
  const match = /^(?:[A-Za-z_]\w*=)?(?=~)/.exec(text);
  if (match === null) return word;
  const [start] = match;
  const who = /^~([^/\\'"$`*?[]*)/.exec(text.slice(start.length));
  const name = who?.[1] ?? "";
  const folder =
    name === "" ? home : name === "root" ? "/root" : /^\w[\w.-]*$/.test(name) ? `/home/${name}` : undefined;
  const after = text[start.length + 1 + name.length] ?? "/";
  if (who === null || folder === undefined || after !== "/") {
    return { ...without(word), text, value: undefined, prefix: start, unknown: [...word.unknown, `~${name}`] };
  }
  const replaced = (from: string) => start + folder + from.slice(start.length + 1 + name.length);
  if (word.prefix.length < start.length + 1 + name.length) return word; // quoted: no tilde
  const prefix = replaced(word.prefix);
  const certain = name === "" || name === "root";
  return {
    ...(certain ? word : without(word)),
    prefix,
    value: word.value === undefined || !certain ? undefined : replaced(word.value),
    unknown: certain ? word.unknown : [...word.unknown, `~${name}`],
    ...(certain && word.glob !== undefined && { glob: replaced(word.glob) }),
  };
}

function without({ glob: _, ...word }: Word): Word {
  return word;
}

/** Unquoted, such a path stays one word. */
function isPlainPath(path: string | undefined): path is string {
  return path !== undefined && /^[\w/.@+-]+$/.test(path);
}
