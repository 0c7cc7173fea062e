import {
  type AndOr,
  type ArithmeticExpression,
  type CompoundList,
  type CommandNode as ParsedNode,
  type ParsedScript,
  type Word as ParsedWord,
  type PipelineNode,
  type Script,
  type SyntaxNode,
  type TestExpression,
  forEachChild,
} from "./grammar.ts";
import { createCommandReader } from "./read-command.ts";
import { type KnownVariables, createWordReader } from "./read-word.ts";
import type { CommandNode, Tree, Word } from "./tree.ts";

/** So many errors of a script are told. */
const MOST_ERRORS = 10;

/** Reads one script with all that is nested in it; what is wrong with any of them is added to `errors`. */
export function createTreeReader(errors: string[], known: KnownVariables): (script: Script, source: string) => Tree {
  /** Substitutions in escaped backquotes have a text of their own. */
  let source = "";

  const textOf = ({ pos, end }: SyntaxNode) => source.slice(pos, end);

  const failAt = (pos: number, what: string): void => {
    if (errors.length < MOST_ERRORS) errors.push(`${what} ${placeOf(source, pos)}`);
  };

  const scriptOf = (script: ParsedScript): Tree => {
    const outer = source;
    source = script.source ?? source;
    for (const { message, pos } of script.errors ?? []) failAt(pos, message);
    const tree = sequence(script.commands.map(statement));
    source = outer;
    return tree;
  };

  const readWord = createWordReader({ known, scriptOf, scriptsIn });
  const words = (list: readonly ParsedWord[]): readonly Word[] => list.flatMap(readWord);
  const { simple, redirect } = createCommandReader({ readWord, textOf, failAt });

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
    const [first = sequence([]), ...more] = commands.map(pipeline);
    return more.reduce((tree, next, index) => {
      return { kind: operators[index] === "&&" ? "and" : "sequence", steps: [tree, next] };
    }, first);
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

/** Where in a script something is, for people. */
export function placeOf(script: string, at: number): string {
  const before = script.slice(0, at).split("\n");
  return `at line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`;
}
