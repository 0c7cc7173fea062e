import { type Shell, changesFolder, either } from "./folders.ts";
import { parseShell } from "./parse.ts";
import { type Part, addPath, addWrite, raiseUnclear } from "./part.ts";
import { type Seen, createSight } from "./sight.ts";
import type { CommandSpec } from "./spec.ts";
import { type Assignment, type CommandNode, type Redirect, type Tree, type Word, insideOf } from "./tree.ts";
import { judgeVariable } from "./variables.ts";
import { commandWalker } from "./walk-command.ts";

interface WalkOptions {
  readonly cwd: string;
  readonly home: string;
  readonly lookUp: (name: string) => CommandSpec | undefined;
}

/** Every command of a script with what it does, those in substitutions, functions, wrappers and nested scripts too. Never throws. */
export function walkScript(script: string, { cwd, home, lookUp }: WalkOptions): Seen {
  const sight = createSight();
  const functions = new Set<string>();

  const walkText = (text: string, shell: Shell): void => {
    if (sight.isTooDeep(text, shell)) return;
    const { tree, errors } = parseShell(text, { home, cwd: shell.cwds?.length === 1 ? shell.cwds[0] : undefined });
    for (const why of errors.slice(0, 3)) {
      sight.notFollowed(text, shell, `it cannot be read as a shell script: ${why}`, "high");
    }
    nameFunctions(tree, functions);
    walk(tree, shell);
  };

  const walkWithEntry = commandWalker({ sight, home, lookUp, isFunction: (name) => functions.has(name), walkText });

  const walk = (tree: Tree, shell: Shell): void => {
    if (sight.isFull()) return;
    switch (tree.kind) {
      case "sequence":
      case "and": {
        for (const step of tree.steps) {
          const before = shell.cwds;
          walk(step, shell);
          // A `cd` that fails leaves the shell where it was, and the script goes on all the same.
          if (tree.kind === "sequence" && tree.steps.length > 1) shell.cwds = either(before, shell.cwds);
        }
        return;
      }
      case "pipeline":
        for (const step of tree.steps) walk(step, { ...shell });
        return;
      case "subshell":
        return walk(tree.body, { ...shell });
      case "choice": {
        const moves = tree.parts.some(changesFolder);
        if (moves) shell.cwds = undefined;
        for (const part of tree.parts) walk(part, shell);
        if (moves) shell.cwds = undefined;
        return;
      }
      case "function":
        sight.open("other", tree.text, [], shell).unclear.push(`it defines the function ${tree.name}`);
        return walk(tree.body, { ...shell, cwds: undefined });
      case "words":
        return walkWords(tree.words, shell);
      case "redirected":
        walkRedirects(sight.open("other", tree.text, [], shell), tree.redirects, shell);
        return walk(tree.body, shell);
      case "unclear":
        sight.open("other", tree.text, [], shell).unclear.push(tree.why);
        for (const inside of tree.inside) walk(inside, { ...shell });
        return;
      case "command":
        return walkCommand(tree, shell);
    }
  };

  const walkWords = (words: readonly Word[], shell: Shell): void => {
    for (const { scripts } of words) for (const inner of scripts) walk(inner, { ...shell });
  };

  const walkCommand = ({ text, assignments, words, redirects }: CommandNode, shell: Shell): void => {
    for (const assignment of assignments) walkAssignment(assignment, words.length > 0, shell);
    walkWords(words, shell);
    if (words.length === 0 && redirects.length === 0) return;
    const part = sight.open(words.length === 0 ? "other" : "command", text, words, shell);
    walkRedirects(part, redirects, shell);
    const moved = walkWithEntry(part, words, shell);
    if (moved !== "stays") shell.cwds = moved;
  };

  const walkAssignment = ({ text, name, words, plain }: Assignment, isPrefix: boolean, shell: Shell): void => {
    walkWords(words, shell);
    const judged = judgeVariable(name, isPrefix);
    if (judged === undefined && plain) return;
    const { risk, why } = judged ?? { risk: "medium", why: `it sets part of ${name}` };
    raiseUnclear(sight.open("other", text, [], shell), risk, why);
  };

  const walkRedirects = (part: Part, redirects: readonly Redirect[], shell: Shell): void => {
    for (const redirect of redirects) {
      walkWords(redirect.kind === "file" ? [redirect.target] : redirect.words, shell);
      if (redirect.kind === "unclear") part.unclear.push(`${redirect.text}: ${redirect.why}`);
      if (redirect.kind !== "file") continue;
      if (redirect.use === "write") addWrite(part, "write", redirect.target, shell.cwds);
      else addPath(part, "read", redirect.target, shell.cwds);
    }
  };

  walkText(script, { cwds: [cwd], depth: 0, ordinary: true });
  return sight.seen();
}

/** Every function of a script is known by its name before it is called. */
function nameFunctions(tree: Tree, names: Set<string>): void {
  if (tree.kind === "function") names.add(tree.name);
  for (const inside of insideOf(tree)) nameFunctions(inside, names);
}
