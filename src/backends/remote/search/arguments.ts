import { ToolFailure } from "../../../contract/failure.ts";

/** What is asked of ripgrep, where grep and find have to answer. */
export interface Question {
  /** What is searched for, and how; `undefined`: files are listed. */
  readonly search: SearchFor | undefined;
  /** Whether git's own folder is searched too. Other hidden files always are. */
  readonly git: boolean;
  /** Globs of names, of which one has to match; none: every name does. */
  readonly names: readonly string[];
}

export interface SearchFor {
  readonly pattern: string;
  readonly literal: boolean;
  readonly ignoreCase: boolean;
  /** "\r\n" ends a line too. */
  readonly crlf: boolean;
  /** Lines shown around a match. */
  readonly context: number;
  /** Matching lines of a file that are shown. */
  readonly most: number;
  /** Of longer lines, in bytes, a beginning is enough. */
  readonly longest: number;
  /** Binary files are searched like others. */
  readonly text: boolean;
}

/** They say what grep and find do anyway. */
const UNDERSTOOD: ReadonlySet<string> = new Set([
  ...[
    "--no-config",
    "--no-require-git",
    "--no-ignore-global",
    "--no-ignore-dot",
    "--color=never",
    "--null",
    "--hidden",
  ],
  ...["--with-filename", "--line-number", "--no-heading", "--no-context-separator", "--max-columns-preview"],
  // They are sorted in any case.
  ...["--sort=path", "--case-sensitive"],
]);

/** Those without which the output would be another. */
const NEEDED: readonly string[] = ["--no-require-git", "--no-ignore-global", "--no-ignore-dot", "--hidden", "--null"];

/** Those that ripgrep needs for a search to be written as we write it. */
const NEEDED_TO_SEARCH: readonly string[] = [
  "--with-filename",
  "--line-number",
  "--no-heading",
  "--no-context-separator",
];

/**
 * Reads the arguments that the tools give to ripgrep.
 *
 * @throws ToolFailure that names the first that is none of these.
 */
export function questionOf(args: readonly string[], place: string): Question {
  const values = new Map<string, string>();
  const names: string[] = [];
  let withoutGit = false;
  const flags = new Set<string>();
  for (const arg of args) {
    const [, name = arg, value] = /^(--[a-z-]+)=(.*)$/s.exec(arg) ?? [];
    if (UNDERSTOOD.has(arg) || FLAGS.has(arg)) flags.add(arg);
    else if (name === "--type-add" && value?.startsWith("meant:")) names.push(value.slice("meant:".length));
    else if (name === "--glob" && value === "!.git") withoutGit = true;
    else if (value !== undefined && (name === "--regexp" || (NUMBERS.has(name) && /^\d{1,9}$/.test(value))))
      values.set(name, value);
    else throw unknownFailure(arg, place);
  }
  const pattern = values.get("--regexp");
  const isSearch = !flags.has("--files");
  const missing = [...NEEDED, ...(isSearch ? NEEDED_TO_SEARCH : [])].find((arg) => !flags.has(arg));
  if (missing !== undefined) throw unknownFailure(`no ${missing}`, place);
  if (isSearch && pattern === undefined) throw unknownFailure("no --regexp", place);
  const number = (name: string, otherwise: number) => Number(values.get(name) ?? otherwise);
  return {
    search:
      !isSearch || pattern === undefined
        ? undefined
        : {
            pattern,
            literal: flags.has("--fixed-strings"),
            ignoreCase: flags.has("--ignore-case"),
            crlf: flags.has("--crlf"),
            context: number("--context", 0),
            most: number("--max-count", Number.MAX_SAFE_INTEGER),
            longest: number("--max-columns", Number.MAX_SAFE_INTEGER),
            text: flags.has("--text"),
          },
    git: !withoutGit,
    names: flags.has("--type=meant") ? names : [],
  };
}

const FLAGS: ReadonlySet<string> = new Set([
  "--files",
  "--ignore-case",
  "--fixed-strings",
  "--crlf",
  "--text",
  "--type=meant",
]);
const NUMBERS: ReadonlySet<string> = new Set(["--context", "--max-count", "--max-columns"]);

/** Whether a name is one of those that are asked for: "*" is anything, "{a,b}" one of them, "\{" a brace. */
export function namesTest(globs: readonly string[]): (name: string) => boolean {
  if (globs.length === 0) return () => true;
  const expression = new RegExp(`^(?:${globs.map(expressionOf).join("|")})$`, "s");
  return (name) => expression.test(name);
}

function expressionOf(glob: string): string {
  const inWords = /\\(.)|\*|\{([^{}]*)\}|([^\\*{])/gs;
  const word = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return glob.replace(inWords, (all: string, escaped?: string, choices?: string, plain?: string) => {
    if (all === "*") return "[^/]*";
    if (choices !== undefined) return `(?:${choices.split(",").map(expressionOf).join("|")})`;
    return word(escaped ?? plain ?? all);
  });
}

function unknownFailure(arg: string, place: string): ToolFailure {
  return new ToolFailure(
    `there is no ripgrep on ${place}, and grep and find there cannot do what this argument asks for: ${arg}`,
    {
      hint: "Install ripgrep there (apt install ripgrep, apk add ripgrep).",
    },
  );
}
