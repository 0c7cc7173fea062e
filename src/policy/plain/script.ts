/** One word of a command, as a shell passes it to the program. */
export interface PlainWord {
  readonly value: string;
  /** Where in `value` (in UTF-16 code units) unquoted `*` and `?` are, which match file names. Omitted: nowhere. */
  readonly wildcards?: readonly number[];
}

export interface PlainCommand {
  readonly words: readonly [PlainWord, ...PlainWord[]];
  readonly redirections: readonly string[];
  /** The command as written, without blanks around it. */
  readonly text: string;
}

export type Separator = "&&" | "||" | ";" | "|";

export interface PlainScript {
  /** The folder of `cd FOLDER &&` at the start. That command is not among `commands`. */
  readonly cd: string | undefined;
  readonly commands: readonly PlainCommand[];
  /** What is between a command and the next one. A newline is ";". */
  readonly separators: readonly Separator[];
}

const MOST_BYTES = 16 * 1_024;
const MOST_COMMANDS = 50;
const MOST_WORDS = 1_000;

const BLANKS = /[ \t]+/y;
const BLANKS_AND_LINES = /[ \t\n]*/y;
const SEPARATOR = /&&|\|\||;|\||\n/y;
const REDIRECTION = /(?:2?>[ \t]?\/dev\/null|<[ \t]?\/dev\/null|2>&1|>&2)(?=[ \t\n;|&]|$)/y;
/** What a word may be made of. Letters of all scripts have combining marks. */
const BARE = /[\p{L}\p{M}\p{Nd}_./,:@%+=-]+/uy;
const SINGLE_QUOTED = /'[^'\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]*'/uy;
const DOUBLE_QUOTED = /"[^"$`\\!\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]*"/uy;
const NOT_QUOTED = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const NOT_DOUBLE_QUOTED = /[$`\\!\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const LONE_EXCLAMATION_MARK = /!(?=[ \t\n;|&]|$)/y;
const FIRST_WORD = /^[A-Za-z0-9_.+/-]+$/;

/** Words with a meaning to the shell: it would not run a program of that name. */
const SHELL_WORDS: ReadonlySet<string> = new Set(
  `if then elif else fi case esac for select while until do done function time coproc . source alias bg bind break
  builtin caller cd command compgen complete compopt continue declare dirs disown enable eval exec exit export fc fg
  getopts hash history jobs let local logout mapfile popd pushd read readarray readonly return set shift shopt suspend
  times trap type typeset ulimit umask unalias unset wait`.split(/\s+/),
);

/**
 * Reads a script that is plain: literal words, simple quotes, `&& || ; |`, newlines, redirections to /dev/null. A shell
 * reads the same words in it. A string says why it is not plain: `"$" at line 1, column 7`. Linear.
 */
export function readPlainScript(text: string): PlainScript | string {
  if (text.length > MOST_BYTES || Buffer.byteLength(text) > MOST_BYTES) return "it is longer than 16 KiB";
  const commands: PlainCommand[] = [];
  const separators: Separator[] = [];
  let draft: Draft = { words: [], redirections: [], start: 0, end: 0 };
  let at = 0;
  let words = 0;
  for (;;) {
    at += matchAt(BLANKS, text, at)?.length ?? 0;
    const separator = matchAt(SEPARATOR, text, at);
    if (separator !== undefined || at === text.length) {
      const command = finished(draft, text);
      if (command === undefined) return `a command is missing ${place(text, at)}`;
      commands.push(command);
      if (commands.length > MOST_COMMANDS) return `it has more than ${MOST_COMMANDS} commands`;
      if (separator === undefined) break;
      const next = at + separator.length;
      at = next + (matchAt(BLANKS_AND_LINES, text, next)?.length ?? 0);
      if (at === text.length && (separator === ";" || separator === "\n")) break;
      separators.push(separator === "\n" ? ";" : (separator as Separator));
      draft = { words: [], redirections: [], start: at, end: at };
      continue;
    }
    const isApart = draft.end !== at || at === draft.start;
    if (draft.words.length + draft.redirections.length === 0) draft.start = at;
    const redirection = isApart ? matchAt(REDIRECTION, text, at) : undefined;
    if (redirection !== undefined) {
      draft.redirections.push(redirection.replace(/[ \t]/, ""));
      at += redirection.length;
    } else {
      const read = readWord(text, at);
      if (typeof read === "string") return read;
      const raw = text.slice(at, read.end);
      if (draft.words.length === 0) {
        const isCd = raw === "cd" && commands.length === 0;
        if (!FIRST_WORD.test(raw)) return `the first word ${place(text, at)} is not the name of a program`;
        if (raw === "cd" && !isCd) return `"cd" ${place(text, at)} is not at the start of the script`;
        if (!isCd && SHELL_WORDS.has(raw)) return `"${raw}" ${place(text, at)} is a command of the shell itself`;
      }
      draft.words.push(read.word);
      words += 1;
      if (words > MOST_WORDS) return `it has more than ${MOST_WORDS} words`;
      at = read.end;
    }
    draft.end = at;
  }
  return withFolder(commands, separators);
}

interface Draft {
  words: PlainWord[];
  redirections: string[];
  start: number;
  end: number;
}

function finished({ words: [first, ...others], redirections, start, end }: Draft, text: string) {
  return first && ({ words: [first, ...others], redirections, text: text.slice(start, end) } satisfies PlainCommand);
}

function withFolder(commands: readonly PlainCommand[], separators: readonly Separator[]): PlainScript | string {
  const [first, ...others] = commands;
  if (first?.words[0].value !== "cd") return { cd: undefined, commands, separators };
  const [, folder, ...more] = first.words;
  const isSimple = more.length === 0 && first.redirections.length === 0 && separators[0] === "&&";
  if (!isSimple || folder === undefined || folder.wildcards !== undefined || /^(-|$)/.test(folder.value))
    return '"cd" is understood only as `cd FOLDER &&` at the start of the script';
  return { cd: folder.value, commands: others, separators: separators.slice(1) };
}

function readWord(text: string, start: number): { word: PlainWord; end: number } | string {
  const lone = matchAt(LONE_EXCLAMATION_MARK, text, start);
  if (lone !== undefined) return { word: { value: lone }, end: start + lone.length };
  const wildcards: number[] = [];
  let value = "";
  let last = "";
  let at = start;
  for (;;) {
    const bare = matchAt(BARE, text, at);
    const quoted =
      bare === undefined ? (matchAt(SINGLE_QUOTED, text, at) ?? matchAt(DOUBLE_QUOTED, text, at)) : undefined;
    const character = text[at] ?? "";
    const isMark = (character === "~" || character === "^") && last !== "" && last !== ":" && last !== "=";
    const isWildcard = character === "*" || character === "?";
    if (bare === undefined && quoted === undefined && !isMark && !isWildcard) break;
    if (isWildcard) wildcards.push(value.length);
    const part = bare ?? quoted?.slice(1, -1) ?? character;
    value += part;
    last = part.at(-1) ?? last;
    at += bare?.length ?? quoted?.length ?? 1;
  }
  const isEnd = at === text.length || /[ \t\n;|&]/.test(text[at] ?? "");
  if (at === start || !isEnd) return unreadable(text, at);
  return { word: { value, ...(wildcards.length > 0 && { wildcards }) }, end: at };
}

function unreadable(text: string, at: number): string {
  const quote = text[at];
  if (quote !== "'" && quote !== '"') return `${shown(text, at)} ${place(text, at)}`;
  const end = text.indexOf(quote, at + 1);
  const wrong = text.slice(at + 1, end === -1 ? undefined : end).search(quote === "'" ? NOT_QUOTED : NOT_DOUBLE_QUOTED);
  if (wrong === -1) return `a quote that does not end, ${place(text, at)}`;
  return `${shown(text, at + 1 + wrong)} ${place(text, at + 1 + wrong)}`;
}

function shown(text: string, at: number): string {
  const code = text.codePointAt(at) ?? 0;
  const character = String.fromCodePoint(code);
  return /[\p{C}\p{Z}\p{M}]/u.test(character)
    ? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`
    : JSON.stringify(character);
}

function place(text: string, at: number): string {
  const lines = text.slice(0, at).split("\n");
  return `at line ${lines.length}, column ${Array.from(lines.at(-1) ?? "").length + 1}`;
}

function matchAt(sticky: RegExp, text: string, at: number): string | undefined {
  sticky.lastIndex = at;
  return sticky.exec(text)?.[0];
}
