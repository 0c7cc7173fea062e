import type { Finding } from "../spec.ts";
import { literalWord } from "../words.ts";

// One command of sed with its address, as far as it only looks: POSIX sed and GNU's ~ and +. `s` is told apart below.
const ADDRESS = String.raw`(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n[]|\\.|\[[^\]/\\\n]*\])*/I?)`;
const RANGE = new RegExp(String.raw`^\s*(?:${ADDRESS}(?:\s*,\s*(?:${ADDRESS}|[+~]\d+))?)?\s*!?\s*`);
const END = String.raw`\s*(?:[;\n]|$|(?=\}))`;
const HARMLESS = new RegExp(
  String.raw`^(?:[{}]\s*;?|:\w+\s*(?:[;\n]|$)|(?:[pdDPnNgGhHxlFz=]|[qQ]\d*|[btT]\s*\w*)${END})`,
);
const PATH_COMMAND = /^([rRwW])\s*([^\n]+)(?:\n|$)/;

/**
 * What a sed program does besides printing: `w` writes files, `r` reads them, `e` (also as a flag of `s`) runs commands. A program that is
 * not understood to the last letter is unclear. Source: POSIX sed and the GNU sed manual, "Commands".
 */
export function sedFindings(program: string | undefined): readonly Finding[] {
  if (program === undefined) return [unclear("is not known before it runs")];
  const findings: Finding[] = [];
  let rest = program;
  while (rest.trim() !== "") {
    rest = rest.replace(RANGE, "");
    const harmless = HARMLESS.exec(rest);
    const path = PATH_COMMAND.exec(rest);
    const substitution = substitutionOf(rest);
    if (harmless) rest = rest.slice(harmless[0].length);
    else if (/^e\s*[^\n]/.test(rest)) {
      const [line = ""] = rest.split("\n", 1);
      findings.push(
        { kind: "risk", risk: "medium", why: "runs a command" },
        { kind: "script", word: literalWord(line.slice(1).trim()) },
      );
      rest = rest.slice(line.length);
    } else if (path) {
      findings.push(...touched(path[1] ?? "", path[2] ?? ""));
      rest = rest.slice(path[0].length);
    } else if (substitution?.writes !== undefined) {
      findings.push(...touched("w", substitution.writes));
      rest = rest.slice(substitution.length);
    } else if (substitution) rest = rest.slice(substitution.length);
    else return [...findings, unclear(`has "${rest.slice(0, 20)}", which is not known to be harmless`)];
  }
  return findings;
}

function touched(command: string, path: string): readonly Finding[] {
  const word = literalWord(path);
  if (command.toLowerCase() === "r") return [{ kind: "path", use: "read", word }];
  return [
    { kind: "risk", risk: "medium", why: "writes a file", ordinary: true },
    { kind: "path", use: "write", word },
  ];
}

/** `s/…/…/flags` at the start of the text, with any delimiter; the flags `g`, `i`, `I`, `p`, a number, and at the end `w FILE`. */
function substitutionOf(text: string): { length: number; writes: string | undefined } | undefined {
  const kind = text[0];
  const delimiter = text[1];
  if ((kind !== "s" && kind !== "y") || delimiter === undefined || /[\\\n\w\s]/.test(delimiter)) return undefined;
  const middle = closing(text, 2, delimiter, kind === "s");
  const end = middle === undefined ? undefined : closing(text, middle + 1, delimiter, false);
  if (end === undefined) return undefined;
  const flags = /^([gip0-9I]*)(?:w[ \t]*([^\n]+)(?:\n|$)|[ \t]*(?:[;\n]|$|(?=\})))/.exec(text.slice(end + 1));
  if (!flags) return undefined;
  return { length: end + 1 + flags[0].length, writes: flags[2] };
}

/** Where the delimiter stands next: unescaped, on the same line, and in an expression not within `[…]`. */
function closing(text: string, from: number, delimiter: string, brackets: boolean): number | undefined {
  for (let at = from; at < text.length; at++) {
    const letter = text[at];
    if (letter === delimiter) return at;
    if (letter === "\n") return undefined;
    if (letter === "\\") at++;
    if (letter !== "[" || !brackets) continue;
    const list = BRACKETS.exec(text.slice(at))?.[0];
    if (list === undefined) return undefined;
    at += list.length - 1;
  }
  return undefined;
}

// No backslash in it: what that means there differs between seds.
const BRACKETS = /^\[\^?\]?(?:\[[:.=][a-z]+[:.=]\]|[^\]\\\n[])*\]/;

function unclear(why: string): Finding {
  return { kind: "unclear", risk: "medium", why: `the sed program ${why}` };
}
