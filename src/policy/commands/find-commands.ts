import { type FoundWord, assignmentWord, knownWord, wordsOf } from "./found-words.ts";
import { MAX_DEPTH, createFollower, printedFor } from "./follow.ts";
import {
  type Assignment,
  type Command,
  type HereDoc,
  type Pipeline,
  type Redirect,
  type Redirection,
  type SyntaxNode,
  type Word,
  forEachChild,
  parse,
} from "./grammar.ts";
import {
  type Assigned,
  type FoundCommand,
  type FoundRedirection,
  MAX_STEPS,
  type Place,
  type Search,
  SPENT,
  STEPS,
  leaveOut,
  nameOf,
  newSearch,
  spend,
  tooLarge,
  unreadable,
} from "./search.ts";
import { type SubstitutionAccount, accountOf } from "./substitutions.ts";
import { expandedIn } from "./wrapped.ts";

export interface FoundScript {
  readonly commands: readonly FoundCommand[];
  readonly redirections: readonly FoundRedirection[];
  /** Why the script is not fully understood. Empty: it is fully understood. */
  readonly unclear: readonly string[];
  /** Why a part was not checked (too long, nested too deep), with the next step. The text is also in `unclear`. */
  readonly tooLong: string | undefined;
  /** Commands whose name is known only when they run. */
  readonly unread: readonly string[];
  /** How many steps the search took; at most `MAX_STEPS` + 1. */
  readonly steps: number;
}

/**
 * Finds every command of a script, at any depth. The search is lenient: it finds too much rather than too little, and
 * reports what it cannot follow. Never throws, and takes a bounded number of steps. `home` replaces `~`.
 */
export function findCommands(script: string, { home }: { readonly home: string }): FoundScript {
  const search = newSearch();
  const { commands, redirections, unclear } = search;
  const texts = createTexts(search, (node, place) => visit(node, place));
  const expand = expander(search, home);

  const { open, follow, applyAll } = createFollower(search, home, texts.read);

  const visitAll = (node: SyntaxNode, place: Place): void => forEachChild(node, (child) => visit(child, place));

  const visit = (node: SyntaxNode, place: Place): void => {
    spend(search, 1);
    switch (node.type) {
      case "Script":
        for (const { message } of node.errors ?? []) unclear.add(`it is not a valid script: ${message}`);
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
      case "ArithmeticCommand":
        if (node.type === "ArithmeticCommand") texts.account.word(node.pos, node.end);
        else texts.account.visited(node.pos, node.end);
        return visitAll(node, node.type === "ArithmeticCommand" ? place : { ...place, quoted: true });
      case "ParameterExpansion": {
        const why = unclearExpansion(node);
        if (why !== undefined) unclear.add(why);
        return visitAll(node, place);
      }
      case "TestUnary":
      case "TestBinary":
        visitAll(node, place);
        return forEachChild(node, (word) => (word.type === "Word" ? visitEvaluated(word, place) : undefined));
      case "Word":
        texts.account.word(node.pos, node.end);
        spend(search, (node.end - node.pos) >> 4);
        return visitAll(node, place);
      case "DoubleQuoted":
      case "LocaleString":
        return visitAll(node, { ...place, quoted: true });
      case "SingleQuoted":
      case "AnsiCQuoted":
        // In double quotes, a single quote is an ordinary character.
        return place.quoted ? undefined : texts.account.literal(node.pos, node.end);
      case "Literal":
        return place.quoted ? texts.account.quoted(node.pos, node.end) : undefined;
      case "Assignment":
        texts.account.word(node.pos, node.end);
        visitAll(node, place);
        return node.value.type === "Word" ? visitEvaluated(node.value, place) : undefined;
      case "Redirected":
        return visitAll(node, { ...place, here: [...place.here, ...textsOf(node.redirects)] });
      case "Redirect":
        return visitRedirect(node, place);
      case "HereDoc":
        return visitHereDoc(node, place);
      default:
        return visitAll(node, place);
    }
  };

  const textsOf = (redirects: readonly Redirection[]) => redirects.flatMap((each) => hereText(each, expand));

  /** A word in which the shell may expand substitutions once more. */
  const visitEvaluated = (word: Word, place: Place): void => {
    for (const { value } of expand(word)) applyAll(expandedIn(value), place);
  };

  const visitSubstitution = (
    node: Extract<SyntaxNode, { type: "CommandExpansion" | "ProcessSubstitution" | "ArithmeticCommandExpansion" }>,
    place: Place,
  ): void => {
    const { pos, end, script: inner } = node;
    if (inner === undefined) return void unclear.add(`a substitution cannot be parsed: ${node.text}`);
    texts.account.visited(pos, end);
    spend(search, (end - pos) * STEPS.substituted);
    const isFed = node.type === "ProcessSubstitution" && node.operator === ">";
    const reads = isFed ? [...place.reads, place.owner] : place.reads;
    const within = { ...place, nested: true, quoted: false, reads };
    if (inner.source === undefined) return visit(inner, within);
    // Escaped backquotes: what runs is another text, with places of its own.
    texts.account.literal(pos, end);
    spend(search, STEPS.text + inner.source.length);
    texts.visitIn(inner.source, inner, within);
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
    if (node.target === undefined) return void unclear.add(`the redirection ${texts.textOf(node)} has no target`);
    redirections.push(...redirected(node, expand(node.target), { text: texts.textOf(node), folder: place.folder }));
  };

  const visitHereDoc = (node: HereDoc, place: Place): void => {
    if (node.closing === undefined) unclear.add("a here-document has no end");
    if (hasExpansions(node, texts.account)) visitAll(node.body, { ...place, quoted: true });
  };

  const visitCommand = (node: Command, place: Place): void => {
    const { words, assigns } = readWords(node, expand, () => spend(search, STEPS.assignment));
    const found = open(words, texts.textOf(node), assigns, place);
    const from = commands.length;
    visitAll(node, { ...place, owner: nameOf(found) });
    const inner = commands.slice(from);
    found.inWords = inner.map(nameOf);
    applyAll(printedFor(found, inner), place);
    follow(found, { ...place, here: [...place.here, ...textsOf(node.redirects)] }, place);
  };

  try {
    texts.read(script, { ...START });
  } catch (error) {
    if (error !== SPENT) throw error;
  }
  const { tooLong, steps, unread } = search;
  return { commands, redirections, unclear: [...unclear], tooLong, unread: [...unread], steps };
}

const START: Place = {
  ...{ folder: "", nested: false, hidden: false, depth: 0, reads: [], here: [], owner: "", quoted: false },
  inFunction: undefined,
};

/** The texts of a script: the script itself, and the scripts inside it. */
interface Texts {
  /** The account of the text that is visited now. */
  readonly account: SubstitutionAccount;
  /** The text of a node, as written in the text that is visited now. */
  textOf(node: SyntaxNode): string;
  /** Parses a script and visits it. */
  read(text: string, place: Place): void;
  visitIn(text: string, node: SyntaxNode, place: Place): void;
}

function createTexts(search: Search, visit: (node: SyntaxNode, place: Place) => void): Texts {
  let source = "";
  let account: SubstitutionAccount = accountOf("");

  const read = (text: string, place: Place): void => {
    const large =
      place.depth > MAX_DEPTH ? `scripts in it are nested more than ${MAX_DEPTH} deep; split it` : tooLarge(text);
    if (large !== undefined) return leaveOut(search, large);
    const problem = unreadable(text);
    if (problem !== undefined) search.unclear.add(problem);
    spend(search, STEPS.text + text.length);
    try {
      visitIn(text, parse(text), place);
    } catch (error) {
      if (error === SPENT) throw error;
      search.unclear.add(`it cannot be parsed: ${error instanceof Error ? error.message : String(error)}`);
    }
  };

  /** Visits the nodes of a separate text, and closes its account. */
  const visitIn = (text: string, node: SyntaxNode, place: Place): void => {
    const outer = { source, account };
    source = text;
    account = accountOf(text);
    visit(node, place);
    const missed = account.unexplained();
    if (missed !== undefined) search.unclear.add(`a substitution was found where none is expected: ${missed}`);
    ({ source, account } = outer);
  };

  return {
    get account() {
      return account;
    },
    textOf: ({ pos, end }) => source.slice(pos, end),
    read,
    visitIn,
  };
}

type Expand = (word: Word) => readonly FoundWord[];

function expander(search: Search, home: string): Expand {
  return (word) => {
    spend(search, (word.parts?.length ?? 0) * STEPS.part);
    const words = wordsOf(word, home);
    spend(search, words === "too many" ? MAX_STEPS : words.length * STEPS.word);
    return words === "too many" ? [] : words;
  };
}

/** Records what a redirection opens: nothing if it only copies a descriptor that is already open. */
function redirected(
  { operator }: Redirect,
  targets: readonly FoundWord[],
  at: Pick<FoundRedirection, "text" | "folder">,
): readonly FoundRedirection[] {
  const use = operator === "<" || operator === "<&" ? "read" : "write";
  const opened = targets.filter(({ value = "" }) => !operator.endsWith("&") || !/^(\d+-?|-)$/.test(value));
  return opened.map((target) => ({ use, target, ...at }));
}

/** Accounts for the text of a here-document. Returns true when something in the text is expanded. */
function hasExpansions({ body, delimiter }: HereDoc, account: SubstitutionAccount): boolean {
  account.word(body.pos, body.end);
  if (delimiter !== undefined) account.literal(delimiter.pos, delimiter.end);
  if (delimiter?.quoted === true) account.literal(body.pos, body.end);
  else if (body.parts === undefined) account.quoted(body.pos, body.end);
  return delimiter?.quoted !== true && body.parts !== undefined;
}

/** Why an expansion may mean more than its text shows; `undefined`: it means what it shows. */
function unclearExpansion({
  operation,
  text,
}: Extract<SyntaxNode, { type: "ParameterExpansion" }>): string | undefined {
  if (operation?.type === "Transform" && !/^[QULuKkAa]$/.test(operation.operand.value))
    return `${text} runs the value of a variable`;
  return operation?.type === "Unknown" ? `${text} is not understood` : undefined;
}

/** What a command reads from a here-document or a here-string. */
function hereText(redirect: Redirection, expand: Expand): readonly FoundWord[] {
  if (redirect.type === "HereString") return redirect.target === undefined ? [] : expand(redirect.target);
  if (redirect.type !== "HereDoc") return [];
  const { body, delimiter } = redirect;
  if (delimiter?.quoted === true) return [knownWord(body.text)];
  const text = body.text.replaceAll(/\\([$`\\\n])/g, (_, letter: string) => (letter === "\n" ? "" : letter));
  const isKnown = body.parts?.every(({ type }) => type === "Literal") ?? true;
  return [{ text, value: isKnown ? text : undefined, prefix: "" }];
}

/** Reads the words and assignments of a command. `onAssignment` is called for each assignment. */
function readWords(
  node: Command,
  expand: Expand,
  onAssignment: () => void,
): { readonly words: readonly FoundWord[]; readonly assigns: readonly Assigned[] } {
  const words: FoundWord[] = [];
  const assigns: Assigned[] = [];
  const assigned = (part: Assignment): FoundWord => {
    onAssignment();
    const word = assignmentWord(part, expand);
    assigns.push({ name: part.name, value: word.value?.slice(part.name.length + 1), text: part.text });
    return word;
  };
  for (const part of node.prefix) if (part.type === "Assignment") assigned(part);
  const before = node.prefix.at(-1);
  let end = before?.type === "Assignment" ? before.end : undefined;
  for (const part of node.name === undefined ? node.suffix : [node.name, ...node.suffix]) {
    const added = part.type === "Word" ? expand(part) : part.type === "Assignment" ? [assigned(part)] : [];
    // Parts without a blank between them are one word to a shell: `x=<(a)`.
    if (added.length > 0 && part.pos === end) glue(words, added);
    else words.push(...added);
    end = added.length > 0 ? part.end : undefined;
  }
  return { words, assigns };
}

/** Joins words to the word before them. Without such a word, they belong to an assignment. */
function glue(words: FoundWord[], added: readonly FoundWord[]): void {
  const last = words.pop();
  const [first, ...more] = added;
  if (last === undefined || first === undefined) return;
  const value = last.value === undefined || first.value === undefined ? undefined : last.value + first.value;
  const prefix = last.value === undefined ? last.prefix : last.value + first.prefix;
  words.push({ text: last.text + first.text, value, prefix }, ...more);
}
