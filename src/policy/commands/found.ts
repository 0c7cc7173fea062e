import {
  type Assignment,
  type Command,
  type HereDoc,
  type Pipeline,
  type Redirect,
  type Redirection,
  type Script,
  type SyntaxNode,
  type Word,
  forEachChild,
  parse,
} from "./grammar.ts";
import { type FoundWord, assignmentWord, knownWord, scriptIn, wordsOf } from "./found-words.ts";
import { type SubstitutionAccount, accountOf } from "./substitutions.ts";
import { ADDED, SHELLS, type Wrapped, expandedIn, wrappedIn } from "./wrapped.ts";

/** A longer script is not looked at: 16 KiB. */
export const MAX_SCRIPT_BYTES = 16_384;
/** Parentheses or braces that are nested deeper are not looked at. */
const MAX_NESTING = 64;
/** A command behind a wrapper, or a script in a script, that is nested deeper is not followed. */
const MAX_DEPTH = 10;
/** More `<<` in a text are not parsed: the parser looks for the ends of here-documents in quadratic time. */
const MAX_HERE_DOCUMENTS = 1_500;
/** Limits the work for one script. A step is about 25 ns, as measured with the scripts of test/policy/commands/hostile.ts. */
export const MAX_STEPS = 300_000;
/** The steps that things cost; a letter that is parsed and a node that is visited cost one. */
const STEPS = {
  /** A text that is parsed by itself. */
  text: 300,
  /** A letter in a substitution, which is parsed again for each that it is nested in. */
  substituted: 2,
  word: 32,
  assignment: 100,
};
/** A longer path of a folder is not followed (PATH_MAX of Linux). */
const MAX_FOLDER = 4_096;
/** More commands are not looked at one by one. */
const MAX_COMMANDS = 150;

/** One command found anywhere in a script. */
export interface FoundCommand {
  /** Name first. Empty: it only assigns variables. */
  readonly words: readonly FoundWord[];
  /** How many of the words are its own: those behind them are another command, found by itself. */
  readonly own: number;
  /** As it is written. */
  readonly text: string;
  /** True when it is inside another: a substitution, a wrapper, a function, text for a shell. */
  readonly nested: boolean;
  /** True when an option or a setting of a program that is no shell names it: `tar -I 'sh -c id'`. */
  readonly hidden: boolean;
  /** The folder it runs in: absolute, or relative to where the script starts (""). `undefined`: known only when it runs. */
  readonly folder: string | undefined;
  /** Variables that are set for it, or by it. */
  readonly assigns: readonly Assigned[];
  /** Names of the commands whose output it reads. */
  readonly reads: readonly string[];
  /** Names of the commands in its words: `a` in `eval "$(a)"`. */
  readonly inWords: readonly string[];
  /** The function whose body it is in. */
  readonly inFunction: string | undefined;
}

interface Assigned {
  readonly name: string;
  /** `undefined`: known only when it runs. */
  readonly value: string | undefined;
  readonly text: string;
}

/** A file that a redirection opens. */
export interface FoundRedirection {
  readonly use: "read" | "write";
  /** What of its path is known. */
  readonly target: FoundWord;
  readonly text: string;
  /** As `FoundCommand.folder`. */
  readonly folder: string | undefined;
}

/** What was found in a script. */
export interface FoundScript {
  readonly commands: readonly FoundCommand[];
  readonly redirections: readonly FoundRedirection[];
  /** Why the script is not understood as a whole. Empty: it is understood. */
  readonly unclear: readonly string[];
  /** Why a part of it was not looked at: it is too long, or nested too deep. With what to do instead. One of `unclear`. */
  readonly tooLong: string | undefined;
  /** What it runs that is known only when it runs: text in variables, files with scripts. */
  readonly unknown: readonly string[];
  /** How much work it was; at most a little over `MAX_STEPS`. */
  readonly steps: number;
}

/** Where in a script something is. */
interface Place {
  folder: string | undefined;
  readonly nested: boolean;
  readonly hidden: boolean;
  readonly depth: number;
  readonly reads: readonly string[];
  /** The command whose words and redirections these are. */
  readonly owner: string;
  /** What is read from here-documents and here-strings. */
  readonly here: readonly FoundWord[];
  readonly inFunction: string | undefined;
  /** In double quotes or a here-document. */
  readonly quoted: boolean;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Finds every command of a script, wherever it is: in substitutions, functions, loops, here-documents, behind wrappers, in the text of nested
 * scripts. Lenient: finds rather too much, and what it cannot follow it reports in `unclear` and `unknown`. Never throws, and ends after a
 * bounded number of steps. `home` is what `~` stands for.
 */
export function findCommands(script: string, { home }: { readonly home: string }): FoundScript {
  const commands: Writable<FoundCommand>[] = [];
  const redirections: FoundRedirection[] = [];
  const unclear = new Set<string>();
  const unknown = new Set<string>();
  let tooLong: string | undefined;
  let steps = 0;
  /** The text whose nodes are visited, and its account. */
  let source = "";
  let account: SubstitutionAccount = accountOf("");

  /** A part of the script is not looked at. */
  const leaveOut = (why: string): void => {
    unclear.add(why);
    tooLong ??= why;
  };
  /** Counts work. Past the limit it ends the search. */
  const spend = (cost: number): void => {
    steps += cost;
    if (steps <= MAX_STEPS && commands.length <= MAX_COMMANDS) return;
    leaveOut(TOO_LONG);
    throw SPENT;
  };
  const expand = (word: Word): readonly FoundWord[] => {
    const words = wordsOf(word, home);
    spend(words.some(({ isTooMany }) => isTooMany) ? MAX_STEPS : words.length * STEPS.word);
    return words;
  };
  const textOf = ({ pos, end }: SyntaxNode): string => source.slice(pos, end);

  /** Parses a text and visits what `choose` takes of it. */
  const readText = (text: string, place: Place, choose: (root: Script) => SyntaxNode | undefined): void => {
    if (place.depth > MAX_DEPTH) return leaveOut(`scripts in it are nested more than ${MAX_DEPTH} deep; split it`);
    const large = tooLarge(text);
    if (large !== undefined) return leaveOut(large);
    const problem = unreadable(text);
    if (problem !== undefined) unclear.add(problem);
    spend(STEPS.text + text.length);
    try {
      const root = choose(parse(text));
      if (root !== undefined) visitIn(text, root, place);
    } catch (error) {
      if (error === SPENT) throw error;
      unclear.add(`it cannot be parsed: ${error instanceof Error ? error.message : String(error)}`);
    }
  };

  /** Visits nodes of a text of their own, and closes its account. */
  const visitIn = (text: string, node: SyntaxNode, place: Place): void => {
    const outer = { source, account };
    source = text;
    account = accountOf(text);
    visit(node, place);
    const missed = account.unexplained();
    if (missed !== undefined) unclear.add(`a substitution is in a place that is not understood: ${missed}`);
    ({ source, account } = outer);
  };

  const readScript = (text: string, place: Place): void => readText(text, place, (root) => root);

  /** Expands text as the body of a here-document, which is how arithmetic and prompts expand it. */
  const readExpanded = (text: string, place: Place): void => {
    let end = "END";
    while (text.includes(end)) end += "_";
    readText(`:<<${end}\n${text}\n${end}\n`, place, (root) => {
      let body: SyntaxNode | undefined;
      const search = (node: SyntaxNode): void => {
        if (node.type === "HereDoc") body = node;
        else forEachChild(node, search);
      };
      search(root);
      return body;
    });
  };

  const visitAll = (node: SyntaxNode, place: Place): void => forEachChild(node, (child) => visit(child, place));

  const visit = (node: SyntaxNode, place: Place): void => {
    spend(1);
    switch (node.type) {
      case "Script":
        for (const { message } of node.errors ?? []) unclear.add(`it is no valid script: ${message}`);
        return visitAll(node, place);
      case "Command":
        return visitCommand(node, place);
      case "Pipeline":
        return visitPipeline(node, place);
      case "Statement":
        return visitAll(node, node.background === true ? { ...place } : place);
      case "Subshell":
        return visitAll(node, { ...place });
      case "Function":
        return visitAll(node, { ...place, nested: true, folder: undefined, inFunction: node.name.value });
      case "CommandExpansion":
      case "ProcessSubstitution":
      case "ArithmeticCommandExpansion":
        return visitSubstitution(node, place);
      case "ArithmeticExpansion":
        account.visited(node.pos, node.end);
        noteArithmetic(node);
        return visitAll(node, { ...place, quoted: true });
      case "ArithmeticCommand":
        account.word(node.pos, node.end);
        noteArithmetic(node);
        return visitAll(node, place);
      case "ParameterExpansion": {
        const { operation, prefix, index } = node;
        if (operation?.type === "Transform" && !/^[QULuKkAa]$/.test(operation.operand.value))
          unclear.add(`${node.text} runs what a variable holds`);
        if (operation?.type === "Unknown") unclear.add(`${node.text} is not understood`);
        if (prefix === "!" || /[A-Za-z_]/.test(index?.text ?? "") || operation?.type === "Slice")
          unknown.add(`${node.text} evaluates what a variable holds`);
        return visitAll(node, place);
      }
      case "TestUnary":
        return visitTested(node, place, /^-[vR]$/.test(node.operator));
      case "TestBinary":
        return visitTested(node, place, /^-(eq|ne|lt|le|gt|ge)$/.test(node.operator));
      case "Word":
        account.word(node.pos, node.end);
        steps += (node.end - node.pos) >> 4;
        return visitAll(node, place);
      case "DoubleQuoted":
      case "LocaleString":
        return visitAll(node, { ...place, quoted: true });
      case "SingleQuoted":
      case "AnsiCQuoted":
        // Inside of double quotes a single quote is a letter.
        return place.quoted ? undefined : account.literal(node.pos, node.end);
      case "Literal":
        return place.quoted ? account.quoted(node.pos, node.end) : undefined;
      case "Assignment":
        account.word(node.pos, node.end);
        visitAll(node, place);
        if (node.value.type === "Word") {
          for (const { value } of expand(node.value)) applyAll(expandedIn(value), place);
        }
        return;
      case "Redirected":
        return visitAll(node, { ...place, here: [...place.here, ...node.redirects.flatMap(hereText)] });
      case "Redirect":
        return visitRedirect(node, place);
      case "HereDoc":
        return visitHereDoc(node, place);
      default:
        return visitAll(node, place);
    }
  };

  /** Names in arithmetic are looked up, and what they hold is evaluated in its turn. */
  const noteArithmetic = (node: SyntaxNode): void => {
    if (/[A-Za-z_]/.test(textOf(node))) unknown.add(`${textOf(node)} evaluates what its variables hold`);
  };

  /** What a redirection lets a command read, if that is in the script. */
  const hereText = (redirect: Redirection): readonly FoundWord[] => {
    if (redirect.type === "HereString") return redirect.target === undefined ? [] : expand(redirect.target);
    if (redirect.type !== "HereDoc") return [];
    const { body, delimiter } = redirect;
    if (delimiter?.quoted === true) return [knownWord(body.text)];
    const text = body.text.replaceAll(/\\([$`\\\n])/g, (_, letter: string) => (letter === "\n" ? "" : letter));
    const isKnown = body.parts?.every(({ type }) => type === "Literal") ?? true;
    return [{ text, value: isKnown ? text : undefined, prefix: "" }];
  };

  const visitTested = (node: SyntaxNode, place: Place, evaluates: boolean): void => {
    visitAll(node, place);
    forEachChild(node, (word) => {
      if (word.type !== "Word") return;
      const values = expand(word).map(({ value }) => value);
      for (const value of values) applyAll(expandedIn(value), place);
      if (evaluates && values.some((value) => !/^-?\d+$/.test(value ?? "")))
        unknown.add(`${textOf(node)} evaluates what it is given`);
    });
  };

  const visitSubstitution = (
    node: Extract<SyntaxNode, { type: "CommandExpansion" | "ProcessSubstitution" | "ArithmeticCommandExpansion" }>,
    place: Place,
  ): void => {
    const { pos, end, script: inner } = node;
    if (inner === undefined) return void unclear.add(`a substitution cannot be parsed: ${node.text}`);
    account.visited(pos, end);
    spend((end - pos) * STEPS.substituted);
    const isFed = node.type === "ProcessSubstitution" && node.operator === ">";
    const reads = isFed ? [...place.reads, place.owner] : place.reads;
    const within = { ...place, nested: true, quoted: false, reads };
    if (inner.source === undefined) return visit(inner, within);
    // Escaped backquotes: what runs is another text, with places of its own.
    account.literal(pos, end);
    spend(STEPS.text + inner.source.length);
    visitIn(inner.source, inner, within);
  };

  const visitPipeline = (node: Pipeline, place: Place): void => {
    let { reads } = place;
    for (const stage of node.commands) {
      const from = commands.length;
      visit(stage, node.commands.length === 1 ? place : { ...place, reads });
      reads = [...reads, ...commands.slice(from).map(nameOf)];
    }
  };

  const visitRedirect = (node: Redirect, place: Place): void => {
    visitAll(node, place);
    if (node.target === undefined) return void unclear.add(`the redirection ${textOf(node)} leads nowhere`);
    const use = node.operator === "<" || node.operator === "<&" ? "read" : "write";
    for (const target of expand(node.target)) {
      if (node.operator.endsWith("&") && /^(\d+-?|-)$/.test(target.value ?? "")) continue;
      redirections.push({ use, target, text: textOf(node), folder: place.folder });
    }
  };

  const visitHereDoc = (node: HereDoc, place: Place): void => {
    const { body, delimiter, closing } = node;
    if (closing === undefined) unclear.add("a here-document has no end");
    account.word(body.pos, body.end);
    if (delimiter !== undefined) account.literal(delimiter.pos, delimiter.end);
    if (delimiter?.quoted === true) account.literal(body.pos, body.end);
    else if (body.parts === undefined) account.quoted(body.pos, body.end);
    else visitAll(body, { ...place, quoted: true });
  };

  const visitCommand = (node: Command, place: Place): void => {
    const words: FoundWord[] = [];
    const assigns: Assigned[] = [];
    const assigned = (part: Assignment): FoundWord => {
      spend(STEPS.assignment);
      const word = assignmentWord(part, expand);
      assigns.push({ name: part.name, value: word.value?.slice(part.name.length + 1), text: part.text });
      return word;
    };
    for (const part of node.prefix) if (part.type === "Assignment") assigned(part);
    const before = node.prefix.at(-1);
    let end = before?.type === "Assignment" ? before.end : undefined;
    for (const part of node.name === undefined ? node.suffix : [node.name, ...node.suffix]) {
      const added = part.type === "Word" ? expand(part) : part.type === "Assignment" ? [assigned(part)] : [];
      // What touches is one word to a shell: `x=<(a)`.
      if (added.length > 0 && part.pos === end) glue(words, added);
      else words.push(...added);
      end = added.length > 0 ? part.end : undefined;
    }
    const found = open(words, textOf(node), assigns, place);
    const from = commands.length;
    visitAll(node, { ...place, owner: nameOf(found) });
    const inner = commands.slice(from);
    found.inWords = inner.map(nameOf);
    // `. <(echo id)` runs what is printed.
    if (SHELLS.has(nameOf(found)) || /^(source|\.|eval)$/.test(nameOf(found))) {
      const printed = inner.filter((each) => /^(echo|printf)$/.test(nameOf(each)));
      for (const {
        words: [, ...given],
      } of printed)
        applyAll([{ kind: "script", text: given.map(scriptIn).join(" ") }], place);
    }
    follow(found, { ...place, here: [...place.here, ...node.redirects.flatMap(hereText)] }, place);
  };

  const open = (
    words: readonly FoundWord[],
    text: string,
    assigns: readonly Assigned[],
    { folder, nested, hidden, reads, inFunction }: Place,
  ): Writable<FoundCommand> => {
    const own = words.length;
    const found = { words, own, text, nested, hidden, folder, assigns, reads, inWords: [], inFunction };
    commands.push(found);
    return found;
  };

  /** What a command runs in its turn, and where it leaves `shell`. */
  const follow = (found: Writable<FoundCommand>, place: Place, shell: Place): void => {
    const [name, first] = found.words;
    const base = nameOf(found);
    if (SETTERS.has(base)) found.assigns = [...found.assigns, ...found.words.slice(1).flatMap(assignedIn)];
    for (const { name: variable, value = "" } of found.assigns) {
      if (RUN_VARIABLES.test(variable)) unknown.add(`the variable ${variable} makes shells run something else`);
      if (variable.startsWith("BASH_FUNC_")) applyAll([{ kind: "script", text: `f ${value}` }], place);
    }
    if (name === undefined) return;
    if (name.value === undefined) return void unknown.add(`which command ${name.text} is`);
    const wrapped = wrappedIn(base, found.words, place.here);
    const inner = wrapped.flatMap((each) =>
      each.kind === "command" ? [each.words.filter((word) => word !== ADDED).length] : [],
    );
    found.own = Math.max(1, found.words.length - Math.max(0, ...inner));
    if (CHANGES_SHELL.get(base)?.test(found.text) === true)
      unclear.add(`${found.text} changes how the shell reads the rest`);
    const folder = applyAll(wrapped, place);
    if (/^(eval|command|builtin)$/.test(base)) shell.folder = folder;
    if (base === "popd") shell.folder = undefined;
    if (base !== "cd" && base !== "pushd") return;
    const to = first === undefined ? home : found.words.find(({ prefix }, at) => at > 0 && !/^-./.test(prefix))?.value;
    if (to === undefined || to === "-" || (place.folder === undefined && !to.startsWith("/"))) shell.folder = undefined;
    else shell.folder = to.startsWith("/") ? to : [place.folder, to].filter((each) => each !== "").join("/");
    if ((shell.folder?.length ?? 0) > MAX_FOLDER) {
      leaveOut("it changes to folders whose path is too long; split it");
      shell.folder = undefined;
    }
  };

  /** Follows all of them; returns the folder that they leave their shell in. */
  const applyAll = (wrapped: readonly Wrapped[], place: Place): string | undefined => {
    const within = { ...place, nested: true, depth: place.depth + 1, quoted: false };
    for (const each of wrapped) {
      if (each.kind === "unknown") unknown.add(each.why);
      else if (each.kind === "expanded") readExpanded(each.text, within);
      else if (each.kind === "script")
        readScript(each.text, each.hidden === true ? { ...within, hidden: true } : within);
      else if (each.words.length === 0) continue;
      else if (within.depth > MAX_DEPTH) leaveOut(`commands in it are nested more than ${MAX_DEPTH} deep; split it`);
      else {
        spend(each.words.length * STEPS.word);
        follow(open(each.words, each.words.map(({ text }) => text).join(" "), [], within), within, within);
      }
    }
    return within.folder;
  };

  const start = { folder: "", nested: false, hidden: false, depth: 0, reads: [], here: [], owner: "", quoted: false };
  try {
    readScript(script, { ...start, inFunction: undefined });
  } catch (error) {
    if (error !== SPENT) throw error;
  }
  return { commands, redirections, unclear: [...unclear], tooLong, unknown: [...unknown], steps };
}

/** The name of a command without folders; "" when it is not known, or there is none. */
export function nameOf({ words: [name] }: Pick<FoundCommand, "words">): string {
  return name?.value?.slice(name.value.lastIndexOf("/") + 1) ?? "";
}

/** Adds words to the last of those before them. Where there is none, they belong to an assignment. */
function glue(words: FoundWord[], added: readonly FoundWord[]): void {
  const last = words.pop();
  const [first, ...more] = added;
  if (last === undefined || first === undefined) return;
  const value = last.value === undefined || first.value === undefined ? undefined : last.value + first.value;
  const prefix = last.value === undefined ? last.prefix : last.value + first.prefix;
  words.push({ text: last.text + first.text, value, prefix }, ...more);
}

/** Commands whose words set variables. */
const SETTERS = new Set("export declare typeset local readonly env cross-env sudo doas".split(" "));

function assignedIn({ prefix, value, text }: FoundWord): readonly Assigned[] {
  const at = prefix.indexOf("=");
  return at <= 0 || prefix.startsWith("-") ? [] : [{ name: prefix.slice(0, at), value: value?.slice(at + 1), text }];
}

/** Variables whose text is run as a script, or names one. */
const RUN_VARIABLES = /^(BASH_ENV|ENV|PROMPT_COMMAND|PS[0-4]|BASH_FUNC_.*|SHELLOPTS|BASHOPTS)$/;

/** Builtins after which the shell reads words or commands in another way. */
const CHANGES_SHELL: ReadonlyMap<string, RegExp> = new Map([
  ["set", /\s-[a-z]*k|\s-[a-z]*o\s+(keyword|history|physical|posix)/],
  ["shopt", /expand_aliases|extdebug/],
  ["enable", /./],
  ["hash", /\s-\w*p/],
  ["printf", /%[-\d.*]*n/],
  ["wait", /\s-\w*p/],
]);

/** Thrown where the work for a script is at its limit. */
const SPENT = new Error("The search for commands is at its limit");

const TOO_LONG = "it is too long to be looked at whole; split it, or write long text to a file";

/** Why a text would take too long to read, with what to do; `undefined`: it would not. */
function tooLarge(text: string): string | undefined {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_SCRIPT_BYTES) {
    return (
      `it is ${bytes} bytes long, and more than ${MAX_SCRIPT_BYTES} are not looked at; ` +
      "write long text to a file instead of giving it to a command"
    );
  }
  if (text.split("<<").length > MAX_HERE_DOCUMENTS) return `it has more than ${MAX_HERE_DOCUMENTS} "<<"; split it`;
  for (const [open, close] of ["()", "{}"]) {
    let depth = 0;
    for (const letter of text) {
      if (letter === open) depth++;
      else if (letter === close) depth = Math.max(0, depth - 1);
      if (depth > MAX_NESTING) return `its "${open}" are nested more than ${MAX_NESTING} deep; split it`;
    }
  }
  return undefined;
}

/** A character that shells and terminals read in different ways. */
function unreadable(text: string): string | undefined {
  const control = /[\x00-\x08\x0b-\x1f\x7f]/.exec(text)?.[0];
  if (control === undefined) return undefined;
  return `it has a control character (0x${(control.codePointAt(0) ?? 0).toString(16).padStart(2, "0")})`;
}
