import {
  type AndOr,
  type ArithmeticExpression,
  type Command,
  type CompoundList,
  type CommandNode as ParsedNode,
  type Assignment as ParsedAssignment,
  type ParsedScript,
  type Word as ParsedWord,
  type PipelineNode,
  type Redirection,
  type Script,
  type SyntaxNode,
  type TestExpression,
  forEachChild,
  parse as parseBash,
} from "./grammar.ts";
import { type KnownVariables, createWordReader } from "./read-word.ts";
import type { Assignment, CommandNode, Redirect, Tree, Word } from "./tree.ts";

/** A longer script is not looked at: 16 KiB. */
export const MAX_SCRIPT_BYTES = 16_384;

/** Deeper nested substitutions and subshells are not looked at. */
const MAX_PARENTHESES = 64;

/** So many errors of a script are told. */
const MOST_ERRORS = 10;

/** What is known of the shell that will run the script. */
interface ShellFacts {
  /** What `~` stands for. */
  readonly home: string;
  /** Where it starts, if that is known. */
  readonly cwd?: string | undefined;
}

interface ParsedShell {
  readonly tree: Tree;
  /** Why the script is not one that this policy can read, with the place. None: it could be read. */
  readonly errors: readonly string[];
}

/**
 * Reads a shell script. Never throws. What has errors is read as far as it goes, so that what can be seen in it is judged too; it must not
 * count as understood.
 */
export function parseShell(script: string, { home, cwd }: ShellFacts): ParsedShell {
  const large = tooLarge(script);
  if (large !== undefined) return { tree: NOTHING, errors: [large] };
  const refused = unreadable(script);
  const errors: string[] = refused === undefined ? [] : [refused];
  // A script that sets HOME makes `~` something else.
  const fixedHome = /\bHOME\b/.test(script.replaceAll(/\$\{?HOME\b/g, "")) ? undefined : home;
  // So does one that sets PWD, or goes elsewhere.
  const moves = /\bPWD\b|\b(cd|pushd|popd|source|eval)\b|(^|[\s;&|])\.\s/.test(script.replaceAll(/\$\{?PWD\b/g, ""));
  try {
    return {
      tree: createTreeReader(errors, { HOME: fixedHome, PWD: moves ? undefined : cwd })(parseBash(script), script),
      errors,
    };
  } catch (error) {
    return { tree: NOTHING, errors: [...errors, error instanceof Error ? error.message : String(error)] };
  }
}

const NOTHING: Tree = { kind: "sequence", steps: [] };

/** What would take too long to read. */
function tooLarge(script: string): string | undefined {
  const bytes = Buffer.byteLength(script);
  if (bytes > MAX_SCRIPT_BYTES)
    return (
      `it is ${bytes} bytes long, and more than ${MAX_SCRIPT_BYTES} are not looked at; ` +
      "long text goes into a file with the write tool, not through a command"
    );
  let depth = 0;
  for (const letter of script) {
    if (letter === "(") depth++;
    else if (letter === ")") depth--;
    if (depth > MAX_PARENTHESES) return `its parentheses are nested more than ${MAX_PARENTHESES} deep`;
  }
  return undefined;
}

/** What makes a script one that shells and this policy could read differently. */
function unreadable(script: string): string | undefined {
  const control = /[\x00-\x08\x0b-\x1f\x7f]/.exec(script);
  if (control === null) return undefined;
  const code = (script.codePointAt(control.index) ?? 0).toString(16).padStart(2, "0");
  return `there is a control character (0x${code}) ${placeOf(script, control.index)}`;
}

function placeOf(script: string, at: number): string {
  const before = script.slice(0, at).split("\n");
  return `at line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`;
}

/** Reads one script with all that is nested in it; what is wrong with any of them is added to `errors`. */
function createTreeReader(errors: string[], known: KnownVariables): (script: Script, source: string) => Tree {
  /** Substitutions in escaped backquotes have a text of their own. */
  let source = "";

  const textOf = ({ pos, end }: SyntaxNode) => source.slice(pos, end);

  const scriptOf = (script: ParsedScript): Tree => {
    const outer = source;
    source = script.source ?? source;
    for (const { message, pos } of script.errors ?? []) {
      if (errors.length < MOST_ERRORS) errors.push(`${message} ${placeOf(source, pos)}`);
    }
    const tree = sequence(script.commands.map(statement));
    source = outer;
    return tree;
  };

  const readWord = createWordReader({ known, scriptOf, scriptsIn });
  const words = (list: readonly ParsedWord[]): readonly Word[] => list.flatMap(readWord);

  function scriptsIn(node: SyntaxNode): readonly Tree[] {
    const found: Tree[] = [];
    const visit = (child: SyntaxNode): void => {
      if (child.type === "Script") found.push({ kind: "subshell", body: scriptOf(child) });
      else forEachChild(child, visit);
    };
    visit(node);
    return found;
  }

  function statement({ command: node, background }: Script["commands"][number]): Tree {
    const tree = node.type === "AndOr" ? andOr(node) : pipeline(node);
    return background ? { kind: "subshell", body: tree } : tree;
  }

  function andOr({ commands, operators }: AndOr): Tree {
    let tree: Tree = NOTHING;
    for (const [index, each] of commands.entries()) {
      const next = pipeline(each);
      if (index === 0) tree = next;
      else tree = { kind: operators[index - 1] === "&&" ? "and" : "sequence", steps: [tree, next] };
    }
    return tree;
  }

  function pipeline(node: PipelineNode): Tree {
    if (node.type !== "Pipeline") return command(node);
    const [only, ...more] = node.commands;
    if (only !== undefined && more.length === 0) return command(only);
    return { kind: "pipeline", steps: node.commands.map(command) };
  }

  const list = ({ commands }: CompoundList): Tree => sequence(commands.map(statement));

  function command(node: ParsedNode | CompoundList): Tree {
    switch (node.type) {
      case "Command":
        return simple(node);
      case "CompoundList":
        return list(node);
      case "BraceGroup":
        return list(node.body);
      case "Subshell":
        return { kind: "subshell", body: list(node.body) };
      case "Redirected":
        return {
          kind: "redirected",
          text: textOf(node),
          redirects: node.redirects.map(redirect),
          body: command(node.command),
        };
      case "If": {
        const arms = node.elif.flatMap(({ clause, then }) => [list(clause), list(then)]);
        const last = node.else === undefined ? [] : [list(node.else)];
        return { kind: "choice", parts: [list(node.clause), list(node.then), ...arms, ...last] };
      }
      case "While":
        return { kind: "choice", parts: [list(node.clause), list(node.body)] };
      case "For":
      case "Select": {
        const set = assigns(textOf(node.name), node.name.value, words(node.wordlist ?? []));
        return { kind: "choice", parts: [set, list(node.body)] };
      }
      case "Case": {
        const patterns: Tree = {
          kind: "words",
          words: words([node.word, ...node.items.flatMap(({ pattern }) => pattern)]),
        };
        return { kind: "choice", parts: [patterns, ...node.items.map(({ body }) => list(body))] };
      }
      case "Function":
        return { kind: "function", name: node.name.value, text: textOf(node), body: command(node.body) };
      case "TestCommand":
        return test(node.expression, textOf(node));
      case "ArithmeticCommand":
        return arithmetic(textOf(node), node.expression === undefined ? [] : [node.expression], []);
      case "ArithmeticFor":
        return arithmetic(
          textOf(node),
          [node.initialize, node.test, node.update].filter((each) => each !== undefined),
          [list(node.body)],
        );
      case "Coproc":
        return {
          kind: "unclear",
          text: textOf(node),
          why: "it runs a coprocess",
          inside: [{ kind: "subshell", body: command(node.body) }],
        };
    }
  }

  function simple(node: Command): CommandNode {
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
  }

  function assignment(node: ParsedAssignment): Assignment {
    const values = node.value.type === "Word" ? [node.value] : node.value.elements;
    const subscript = node.index === undefined ? [] : [node.index];
    const plain = node.value.type === "Word" && node.index === undefined && node.append !== true;
    return { text: node.text, name: node.name, words: words([...subscript, ...values]), plain };
  }

  function redirect(node: Redirection): Redirect {
    const text = textOf(node);
    if (node.type === "HereDoc") {
      if (node.closing === undefined) errors.push(`here-document without its end ${placeOf(source, node.pos)}`);
      // Its parts are looked for only when they are asked for: a copy would not have them.
      const { text: value, pos, end, parts } = node.body;
      const body: ParsedWord = { type: "Word", text: value, value, pos, end, parts };
      return { kind: "data", text, words: node.delimiter?.quoted === true ? [] : words([body]) };
    }
    if (node.target === undefined) return { kind: "unclear", text, words: [], why: "it leads nowhere" };
    const found = words([node.target]);
    const [target, ...more] = found;
    if (node.descriptor?.type === "FileDescriptorVariable") {
      return { kind: "unclear", text, words: found, why: "it sets a variable" };
    }
    if (node.type === "HereString") return { kind: "data", text, words: found };
    if (target === undefined || more.length > 0) {
      return { kind: "unclear", text, words: found, why: "it has several targets" };
    }
    if (target.value === "!") return { kind: "unclear", text, words: found, why: "other shells read it otherwise" };
    const isDuplicate = node.operator === "<&" || node.operator === ">&";
    if (isDuplicate && /^(\d+-?|-)$/.test(target.value ?? "")) return { kind: "data", text, words: [] };
    if (isDuplicate && target.value === undefined) {
      return { kind: "unclear", text, words: found, why: "its target is known only when it runs" };
    }
    return { kind: "file", use: node.operator === "<" || node.operator === "<&" ? "read" : "write", target, text };
  }

  function test(expression: TestExpression, text: string): Tree {
    const found: Word[] = [];
    const unclear: string[] = [];
    const visit = (node: TestExpression): void => {
      switch (node.type) {
        case "TestUnary": {
          found.push(...readWord(node.operand));
          if (node.operator === "-v" || node.operator === "-R")
            unclear.push(`${node.operator} evaluates what it is given`);
          return;
        }
        case "TestBinary": {
          const sides = words([node.left, node.right]);
          found.push(...sides);
          const isNumeric = /^-(eq|ne|lt|le|gt|ge)$/.test(node.operator);
          if (isNumeric && !sides.every(({ value }) => /^-?\d+$/.test(value ?? "")))
            unclear.push(`${node.operator} evaluates what it is given`);
          return;
        }
        case "TestLogical":
          return node.operands.forEach(visit);
        case "TestNot":
          return visit(node.operand);
        case "TestGroup":
          return visit(node.expression);
      }
    };
    visit(expression);
    const tree: Tree = { kind: "words", words: found };
    return unclear[0] === undefined ? tree : { kind: "unclear", text, why: unclear[0], inside: [tree] };
  }

  /** Names in arithmetic are looked up, and what they hold is evaluated in its turn: `a[$(id)]`. */
  function arithmetic(text: string, expressions: readonly ArithmeticExpression[], bodies: readonly Tree[]): Tree {
    return {
      kind: "unclear",
      text,
      why: "arithmetic evaluates what its variables hold",
      inside: [...expressions.flatMap(scriptsIn), ...bodies],
    };
  }

  return (script, text) => {
    source = text;
    return scriptOf(script);
  };
}

function sequence(steps: readonly Tree[]): Tree {
  const [only] = steps;
  return only !== undefined && steps.length === 1 ? only : { kind: "sequence", steps };
}

/** A variable that is set by something that is no assignment. */
function assigns(text: string, name: string, words: readonly Word[]): CommandNode {
  return { kind: "command", text, assignments: [{ text, name, words, plain: true }], words: [], redirects: [] };
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
