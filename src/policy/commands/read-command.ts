import type {
  Command,
  Assignment as ParsedAssignment,
  Word as ParsedWord,
  Redirection,
  SyntaxNode,
} from "./grammar.ts";
import type { Assignment, CommandNode, Redirect, Word } from "./tree.ts";

interface CommandReaderOptions {
  readonly readWord: (word: ParsedWord) => readonly Word[];
  /** How it is written. */
  readonly textOf: (node: SyntaxNode) => string;
  /** Says what is wrong with the script, and where. */
  readonly failAt: (pos: number, what: string) => void;
}

interface CommandReader {
  simple(node: Command): CommandNode;
  redirect(node: Redirection): Redirect;
}

/** Reads simple commands as they are parsed: assignments, words, redirections. */
export function createCommandReader({ readWord, textOf, failAt }: CommandReaderOptions): CommandReader {
  const words = (list: readonly ParsedWord[]): readonly Word[] => list.flatMap(readWord);

  const simple = (node: Command): CommandNode => {
    const assignments: Assignment[] = [];
    const redirects: Redirect[] = [];
    for (const part of node.prefix) {
      if (part.type === "Assignment") assignments.push(assignment(part));
      else redirects.push(redirect(part));
    }
    const found: Word[] = node.name === undefined ? [] : [...readWord(node.name)];
    for (const part of node.suffix) {
      if (part.type === "Word") found.push(...readWord(part));
      else if (part.type === "Assignment") found.push(assignmentWord(assignment(part)));
      else redirects.push(redirect(part));
    }
    return { kind: "command", text: textOf(node), assignments, words: found, redirects };
  };

  const assignment = (node: ParsedAssignment): Assignment => {
    const values = node.value.type === "Word" ? [node.value] : node.value.elements;
    const subscript = node.index === undefined ? [] : [node.index];
    const plain = node.value.type === "Word" && node.index === undefined && node.append !== true;
    return { text: node.text, name: node.name, words: words([...subscript, ...values]), plain };
  };

  const redirect = (node: Redirection): Redirect => {
    const text = textOf(node);
    if (node.type === "HereDoc") {
      if (node.closing === undefined) failAt(node.pos, "here-document without its end");
      // Its parts are looked for only when they are asked for: a copy would not have them.
      const { text: value, pos, end, parts } = node.body;
      const body: ParsedWord = { type: "Word", text: value, value, pos, end, parts };
      return { kind: "data", text, words: node.delimiter?.quoted === true ? [] : words([body]) };
    }
    if (node.target === undefined) return { kind: "unclear", text, words: [], why: "it leads nowhere" };
    const found = words([node.target]);
    const [target, ...more] = found;
    const unclear = (why: string): Redirect => ({ kind: "unclear", text, words: found, why });
    if (node.descriptor?.type === "FileDescriptorVariable") return unclear("it sets a variable");
    if (node.type === "HereString") return { kind: "data", text, words: found };
    if (target === undefined || more.length > 0) return unclear("it has several targets");
    if (target.value === "!") return unclear("other shells read it otherwise");
    const isDuplicate = node.operator === "<&" || node.operator === ">&";
    if (isDuplicate && /^(\d+-?|-)$/.test(target.value ?? "")) return { kind: "data", text, words: [] };
    if (isDuplicate && target.value === undefined) return unclear("its target is known only when it runs");
    return { kind: "file", use: node.operator === "<" || node.operator === "<&" ? "read" : "write", target, text };
  };

  return { simple, redirect };
}

/** Behind a command's name an assignment is an argument: of `export`, of `make`, of anything. */
function assignmentWord({ text, name, words, plain }: Assignment): Word {
  const [only] = words;
  const scripts = words.flatMap((word) => word.scripts);
  const prefix = `${name}=`;
  if (!plain || only === undefined || words.length > 1) {
    return plain && only === undefined
      ? { text, value: prefix, prefix, splits: false, unknown: [], scripts }
      : { text, value: undefined, prefix: name, splits: false, unknown: [text], scripts };
  }
  const value = only.value === undefined ? undefined : prefix + only.value;
  return { text, value, prefix: prefix + only.prefix, splits: only.splits, unknown: only.unknown, scripts };
}
