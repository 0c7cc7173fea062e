import type { Finding } from "../spec.ts";
import { literalWord } from "../words.ts";

const FUNCTIONS = new Set(
  (
    "length substr index split sub gsub gensub match sprintf tolower toupper int sqrt exp log sin cos atan2 rand " +
    "srand strftime systime mktime " +
    "asort asorti and or xor compl lshift rshift strtonum patsplit isarray typeof"
  ).split(" "),
);
const KEYWORDS = new Set(
  "if while for do else in return delete print printf next nextfile exit break continue BEGIN END".split(" "),
);
const REACHES_OUT = new Set([
  "system",
  "getline",
  "close",
  "fflush",
  "ARGV",
  "ARGC",
  "ENVIRON",
  "PROCINFO",
  "SYMTAB",
  "FUNCTAB",
  "function",
  "func",
]);

/**
 * Why an awk program may do more than work on its input: it runs commands, opens files, reads the environment, or has something that is
 * not understood. `undefined`: it only looks. Source: POSIX awk; gawk adds `@`, `|&` and /inet.
 */
export function awkProblem(program: string | undefined): string | undefined {
  if (program === undefined) return "is not known before it runs";
  let rest = program;
  let before = "";
  let printing = false;
  let depth = 0;
  while (rest !== "") {
    const token = TOKEN.exec(rest)?.[0];
    if (token === undefined) return `has "${rest.slice(0, 20)}", which is not understood`;
    const slash = token === "/" || token === "/=" ? slashAfter(before, rest) : "divides";
    if (slash === "unclear") return "has a / that is not understood";
    const expression = slash === "begins" ? EXPRESSION.exec(rest)?.[0] : undefined;
    if (slash === "begins" && expression === undefined) return "has a regular expression that is not understood";
    if (/^[A-Za-z_]/.test(token)) {
      if (REACHES_OUT.has(token)) return `uses ${token}`;
      const called = /^\w+\s*\(/.test(rest);
      if (called && !FUNCTIONS.has(token) && !KEYWORDS.has(token)) return `calls ${token}`;
      if (token === "print" || token === "printf") printing = true;
    }
    if (token === "|" || token === "|&") return "has a pipe";
    if (token.startsWith(">") && printing && (token === ">" || token === ">>")) return "may write a file";
    if (token === "(") depth++;
    if (token === ")") depth--;
    const goesOn = token === "\n" && GOES_ON.has(before);
    if (/^[;\n}{]$/.test(token) && depth <= 0 && !goesOn) printing = false;
    rest = rest.slice((expression ?? token).length);
    if (!/^[ \t\r]+$|^#|^\\\n$/.test(token)) before = expression === undefined ? token : "/…/";
  }
  return undefined;
}

const STRING = String.raw`"((?:[^"\\\n]|\\.)*)"`;
// What stands in a program as it is: the commands it runs, the files it reads and writes.
const COMMANDS = new RegExp(String.raw`\bsystem\s*\(\s*${STRING}|${STRING}\s*\|&?\s*getline|\|&?\s*${STRING}`, "g");
const READS = new RegExp(String.raw`\bgetline\b[^;}"]*<\s*${STRING}`, "g");
const WRITES = new RegExp(String.raw`[^>]>>?\s*${STRING}`, "g");

/**
 * The commands and files that an awk program names itself: what of them is forbidden is forbidden here too. Finds too much rather than too
 * little.
 */
export function awkFindings(program: string | undefined): readonly Finding[] {
  if (program === undefined) return [];
  const named = (pattern: RegExp) =>
    [...program.matchAll(pattern)].map((match) =>
      literalWord((match.slice(1).find((text) => text !== undefined) ?? "").replace(/\\(.)/g, "$1")),
    );
  return [
    ...named(COMMANDS).map((word): Finding => ({ kind: "script", word })),
    ...named(READS).map((word): Finding => ({ kind: "path", use: "read", word })),
    ...named(WRITES).map((word): Finding => ({ kind: "path", use: "write", word })),
  ];
}

// A line ends behind these without ending the statement.
const GOES_ON = new Set([",", "&&", "||", "?", ":"]);
// No quote in it, and no slash within brackets, where awks differ.
const EXPRESSION = /^\/(?:[^/\\\n"[]|\\.|\[[^\]/\\\n"]*\])*\//;

/** Whether a slash begins a regular expression or divides. Behind `)` it may do either: then nothing may hang on it. */
function slashAfter(before: string, rest: string): "begins" | "divides" | "unclear" {
  if (before === ")") return /["#]/.test(rest) ? "unclear" : "divides";
  if (KEYWORDS.has(before) || before === "length") return "unclear";
  return /^(?:\w.*|".*|\]|\+\+|--|\.\d+|\/…\/)$/s.test(before) ? "divides" : "begins";
}

const TOKEN = new RegExp(
  `^(?:${[
    String.raw`[ \t\r]+|\\\n|#[^\n]*`,
    String.raw`"(?:[^"\\\n]|\\.)*"`,
    String.raw`[A-Za-z_]\w*|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+`,
    String.raw`\|\||&&|\|&|>>|>=|<=|==|!=|\+\+|--|[-+*/%^]=|\*\*`,
    String.raw`[-+*/%^!~<>=?:,;{}()[\]$|\n]`,
  ].join("|")})`,
);
