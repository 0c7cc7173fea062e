import { fullSubcommand } from "./program-subcommands.ts";
import { type FoundWord, behindPrefix, knownWord, optionValues, scriptIn, subcommandOf } from "./found-words.ts";
import { startsProgram } from "../../machine/git/settings.ts";
import { EDITORS, EVALUATING, SHELLS, type Wrapper, expandNames, isListedProgram, wrapperOf } from "./programs.ts";

export type Wrapped =
  | { readonly kind: "command"; readonly words: readonly FoundWord[] }
  /** A shell script. `hidden`: an option or a setting names it, for a program other than a shell. */
  | { readonly kind: "script"; readonly text: string; readonly hidden?: true };

export function isWrapper(name: string): boolean {
  const { wrapper, options } = wrapperOf(name);
  const isKnown = wrapper !== undefined || options !== undefined || special.has(name);
  return isKnown || SHELLS.has(name) || EVALUATING.has(name);
}

/** What a command runs. `name` is without folders; `here` is the text that the command reads from here-documents. */
export function wrappedIn(name: string, words: readonly FoundWord[], here: readonly FoundWord[]): readonly Wrapped[] {
  const split = name === "env" ? splitText(words) : [];
  if (split.length > 0) return split;
  const { wrapper, options } = wrapperOf(name, fullSubcommand(name, subcommandOf(words)?.value ?? ""));
  return [
    ...(wrapper === undefined ? [] : behind(words, wrapper)),
    ...(options === undefined ? [] : optionValues(words, options).flatMap(hidden)),
    ...(/^(g|bsd)?tar$/.test(name) ? oldOptionsOfTar(words).flatMap(hidden) : []),
    ...(SHELLS.has(name) ? shell(words, here) : []),
    ...(EVALUATING.has(name) ? words.slice(1).flatMap(({ value }) => expandedIn(value)) : []),
    ...(special.get(name)?.(words, here) ?? []),
  ];
}

/** A word in which a builtin expands substitutions, as a here-document does: `test -v 'a[$(id)]'`. */
export function expandedIn(value: string | undefined): readonly Wrapped[] {
  if (value === undefined || !/\$[({[]|`|[<>]\(/.test(value)) return [];
  const array = value.includes("=(") && value.endsWith(")") ? textScript(value) : [];
  let end = "END";
  while (value.includes(end)) end += "_";
  return [...textScript(`<<${end}\n${value}\n${end}\n`), ...array];
}

/** Builtins and programs that run something in a way of their own. */
const SPECIAL: {
  readonly [names: string]: (words: readonly FoundWord[], here: readonly FoundWord[]) => readonly Wrapped[];
} = {
  eval: (words) => joined(words.slice(words[1]?.value === "--" ? 2 : 1)),
  trap: (words) => words.slice(1, -1).filter(isNoOption).slice(0, 1).flatMap(script),
  "source .": (_, here) => here.flatMap(script),
  find: actionsOfFind,
  "fd fdfind": (words) => afterOption(words, /^(-[a-zA-Z]*[xX]|--exec|--exec-batch)$/),
  jobs: (words) => afterOption(words, /^-[a-z]*x$/, ""),
  bind: (words) => words.slice(1).flatMap(({ value = "" }) => textScript(value.slice(value.indexOf(":") + 1))),
  alias: (words) => words.slice(1).flatMap(({ value = "" }) => textScript(value.slice(value.indexOf("=") + 1))),
  git: (words) => [...gitSettings(words), ...gitCommands(words)],
  [EDITORS]: editor,
  "python python3": python,
  cmake: (words) => afterOption(words, /^-E$/, ""),
  "sed gsed": commandsOfSed,
  "make gmake": shellOfMake,
  "tmux screen": typed,
};

const special = new Map(expandNames(SPECIAL));

/** `env -S TEXT WORD…` is `env` with the words of the text before the other words. */
function splitText(words: readonly FoundWord[]): readonly Wrapped[] {
  const at = words.findIndex(({ prefix }, index) => index > 0 && /^(-[iv0]*S|--s)/.test(prefix));
  const [option, next] = words.slice(at, at + 2);
  if (at === -1 || option === undefined) return [];
  const glued = option.prefix.replace(/^(-[iv0]*S|--s[^=]*=?)/, "");
  const text = glued === "" ? (next?.prefix ?? "") : glued;
  const rest = words.slice(glued === "" ? at + 2 : at + 1);
  return textScript(`env ${text} ${rest.map(scriptIn).join(" ")}`);
}

function behind(words: readonly FoundWord[], wrapper: Wrapper): readonly Wrapped[] {
  const { values = "", operands = 0, assigns, adds, joins, scripts = "" } = wrapper;
  const given = optionValues(words, scripts).flatMap(script);
  if (words.some(({ value }) => value === "-v" || value === "-V") && words[0]?.value === "command") return given;
  let at = 1;
  let left = operands;
  for (let isOver = false; at < words.length; at++) {
    const { prefix = "" } = words[at] ?? {};
    if (assigns && (prefix.includes("=") || prefix === "-") && (isOver || !/^-./.test(prefix))) continue;
    if ((isOver || !prefix.startsWith("-")) && --left < 0) break;
    if (!prefix.startsWith("-")) continue;
    isOver ||= prefix === "--";
    if (takesNext(prefix, values) || takesNext(prefix, scripts)) at++;
  }
  const rest = words.slice(at);
  if (rest.length === 0) return given;
  const filled = adds === true ? withAdded(rest) : rest;
  return [...given, ...(joins === true ? joined(filled) : [{ kind: "command", words: filled } as const])];
}

function takesNext(option: string, values: string): boolean {
  const listed = values.split(" ").filter((each) => each !== "");
  if (option.startsWith("--"))
    return !option.includes("=") && option !== "--" && listed.some((name) => name.startsWith(option));
  const first = Array.from(option).findIndex((letter, at) => at > 0 && listed.includes(`-${letter}`));
  return first === option.length - 1;
}

export const ADDED: FoundWord = { text: "{}", value: undefined, prefix: "" };

/** What xargs and find add is not known: it replaces `{}` in any word, or comes last. */
function withAdded(words: readonly FoundWord[]): readonly FoundWord[] {
  const places = words.some(({ value }) => value?.includes("{}"));
  const filled = words.map((word): FoundWord => {
    const at = word.value?.indexOf("{}") ?? -1;
    return at === -1 ? word : { text: word.text, value: undefined, prefix: word.prefix.slice(0, at) };
  });
  return places ? filled : [...filled, ADDED];
}

function shell(words: readonly FoundWord[], here: readonly FoundWord[]): readonly Wrapped[] {
  let at = 1;
  let takesScript = false;
  for (; at < words.length; at++) {
    const { prefix = "" } = words[at] ?? {};
    if (!/^[-+]./.test(prefix)) break;
    if (/^-[a-zA-Z]*c/.test(prefix)) takesScript = true;
    if (/^([-+][a-zA-Z]*[oO]|--rcfile|--init-file)$/.test(prefix)) at++;
  }
  if (words[at]?.value === "-") at++;
  const first = words[at];
  if (takesScript) return first === undefined ? [] : script(first);
  return here.flatMap(script);
}

function actionsOfFind(words: readonly FoundWord[]): readonly Wrapped[] {
  const values = words.map(({ value = "" }) => value);
  const isEnd = (value: string, at: number) =>
    value === ";" || EXEC_OF_FIND.test(value) || (value === "+" && values[at - 1] === "{}");
  return values.flatMap((value, at): readonly Wrapped[] => {
    if (!EXEC_OF_FIND.test(value)) return [];
    let end = at + 1;
    while (end < values.length && !isEnd(values[end] ?? "", end)) end++;
    return [{ kind: "command", words: withAdded(words.slice(at + 1, end)) }];
  });
}

const EXEC_OF_FIND = /^-(exec|execdir|ok|okdir)$/;

function afterOption(words: readonly FoundWord[], option: RegExp, add = "{}"): readonly Wrapped[] {
  const at = words.findIndex(({ value }) => option.test(value ?? ""));
  const rest = words.slice(at + 1);
  if (at === -1 || rest.length === 0) return [];
  return [{ kind: "command", words: add === "" ? rest : withAdded(rest) }];
}

/** `tar cIf PROGRAM FILE`: the values of letters without a dash are the words behind them, in their order. */
function oldOptionsOfTar(words: readonly FoundWord[]): readonly FoundWord[] {
  const letters = words[1]?.prefix ?? "";
  return /^[A-Za-z]*[IF][A-Za-z]*$/.test(letters) ? words.slice(2, 2 + letters.length) : [];
}

function commandsOfSed(words: readonly FoundWord[]): readonly Wrapped[] {
  return words.slice(1).flatMap(({ prefix }) => {
    return Array.from(prefix.matchAll(/(?:^|[\s;{\d$!/])e[ \t]+([^\n]+)/g), ([, text = ""]) => textScript(text)).flat();
  });
}

function shellOfMake(words: readonly FoundWord[]): readonly Wrapped[] {
  return words.flatMap((word) => (word.prefix.startsWith("SHELL=") ? script(behindPrefix(word, 6)) : []));
}

/** `git submodule foreach COMMAND`, `git bisect run COMMAND`. */
function gitCommands(words: readonly FoundWord[]): readonly Wrapped[] {
  const subcommand = subcommandOf(words);
  const rest = words.slice(words.findIndex((word) => word === subcommand) + 1);
  const [action] = rest.filter(isNoOption);
  const more = rest.slice(rest.findIndex((word) => word === action) + 1);
  const command = more.slice(Math.max(more.findIndex(isNoOption), 0));
  if (command.length === 0) return [];
  if (subcommand?.value === "submodule" && action?.value === "foreach") return joined(command);
  return subcommand?.value === "bisect" && action?.value === "run" ? [{ kind: "command", words: command }] : [];
}

/** `git -c alias.x='!command'`, `git config alias.x '!command'`. */
function gitSettings(words: readonly FoundWord[]): readonly Wrapped[] {
  const given = optionValues(words, "-c").map(({ value = "" }) => value.split(/=(.*)/s));
  const at = words.findIndex(({ value }) => startsProgram(value ?? ""));
  const kept = at > 1 && subcommandOf(words)?.value === "config" ? [[words[at]?.value, words[at + 1]?.value]] : [];
  return [...given, ...kept].flatMap(([key = "", value = ""]): readonly Wrapped[] => {
    if (!startsProgram(key) || /^(true|false|\d*)$/i.test(value)) return [];
    if (/^alias\./i.test(key) && !value.startsWith("!"))
      return [{ kind: "script", text: `git ${value}`, hidden: true }];
    return [{ kind: "script", text: value.replace(/^!/, ""), hidden: true }];
  });
}

/** `python -m pip install` is `pip install`. */
function python(words: readonly FoundWord[]): readonly Wrapped[] {
  const at = words.findIndex(({ prefix }, index) => index > 0 && /^(?!-)|^-[A-Za-z]*m/.test(prefix));
  const module = /^-[A-Za-z]*m(.*)$/.exec(words[at]?.value ?? "")?.[1];
  if (module === undefined) return [];
  const rest = words.slice(at + 1);
  const command = module === "" ? rest : [knownWord(module), ...rest];
  return isListedProgram(command[0]?.value ?? "") ? [{ kind: "command", words: command }] : [];
}

function typed(words: readonly FoundWord[]): readonly Wrapped[] {
  return words.slice(1).flatMap((word) => (/\s/.test(word.prefix) ? script(word) : []));
}

function hidden(word: FoundWord): readonly Wrapped[] {
  const text = scriptIn(word)
    .replace(/^exec=/, "")
    .replace(/^(\S+),/, "$1 "); // `gcc -wrapper PROGRAM,WORD`
  return text.trim() === "" ? [] : [{ kind: "script", text, hidden: true }];
}

/** An editor's, pager's or debugger's own commands that run a program: `-c ':!id'`, `+!id`, `-ex 'shell id'`. */
export function editor(words: readonly FoundWord[]): readonly Wrapped[] {
  const given = words.filter(({ prefix }) => prefix.startsWith("+"));
  const options = /^(gdb|lldb)$/.test(words[0]?.value ?? "")
    ? "-ex -iex -eval-command --eval-command --init-eval-command -o -O --one-line"
    : "-c --cmd";
  return [...given, ...optionValues(words, options)].flatMap((word) => {
    const [, text = ""] = /(?:!|\bshell\s|system\s*\()(.*)$/s.exec(scriptIn(word)) ?? [];
    return text.trim() === "" ? [] : [{ kind: "script", text, hidden: true } as const];
  });
}

function script(word: FoundWord): readonly Wrapped[] {
  return textScript(scriptIn(word));
}

function textScript(text: string): readonly Wrapped[] {
  return text.trim() === "" || text === "-" ? [] : [{ kind: "script", text }];
}

function joined(words: readonly FoundWord[]): readonly Wrapped[] {
  return textScript(words.map(scriptIn).join(" "));
}

function isNoOption({ prefix }: FoundWord): boolean {
  return !prefix.startsWith("-") || prefix === "-";
}
