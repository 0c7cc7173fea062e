import { type Folders, type Shell, changesFolderIn, folderIn, movesAway } from "./folders.ts";
import { readCommand } from "./options.ts";
import { type Part, addPath, addWrite, raise, raiseUnclear } from "./part.ts";
import type { Sight } from "./sight.ts";
import type { CommandSpec, Finding } from "./spec.ts";
import type { Word } from "./tree.ts";
import { literalWord, unknownWord } from "./words.ts";

/** Of a longer command only the beginning is looked at. */
const MAX_WORDS = 1_000;

/** Where the shell stands after a command. */
type Moved = Folders | "stays";

/** Adds to a part what its command does, name first, and walks what it runs. */
type CommandWalker = (part: Part, words: readonly Word[], shell: Shell) => Moved;

interface CommandWalkerOptions {
  readonly sight: Sight;
  readonly home: string;
  readonly lookUp: (name: string) => CommandSpec | undefined;
  /** Whether the script defines a function of this name. */
  readonly isFunction: (name: string) => boolean;
  /** Walks the text of a script that a command runs. */
  readonly walkText: (text: string, shell: Shell) => void;
}

/** Walks commands by their entries: options, operands, and the scripts and commands that they run in their turn. */
export function commandWalker({ sight, home, lookUp, isFunction, walkText }: CommandWalkerOptions): CommandWalker {
  const walkCommand: CommandWalker = (part, words, shell) => {
    const [name] = words;
    if (name === undefined) return "stays";
    if (words.length > MAX_WORDS) part.unclear.push(`it has more than ${MAX_WORDS} words`);
    if (name.value === undefined) {
      sight.missSome();
      part.unclear.push(`which command ${name.text} is, is known only when it runs`);
      raise(part, "medium", "its name is not known");
      return "stays";
    }
    sight.names.push(name.value);
    if (isFunction(name.value)) part.unclear.push(`${name.value} is a function of this script`);
    const spec = specOf(part, name.value, shell);
    if (spec === undefined) return "stays";
    const { use, findings } = readCommand(spec, words.slice(0, MAX_WORDS));
    const after = applyAll(part, findings, { ...shell, ordinary: shell.ordinary && use.spec.ordinary === true });
    if (use.spec.names.includes("cd")) return standIn(part, use.operands, shell);
    return movesAway(name.value, use.operands) ? undefined : after;
  };

  /** The entry of a command: by its name, or by the last part of a path into a folder of the system. */
  const specOf = (part: Part, name: string, shell: Shell): CommandSpec | undefined => {
    const base = name.slice(name.lastIndexOf("/") + 1);
    const known = lookUp(base);
    if (base === name) {
      part.program = name;
      if (known === undefined) raise(part, "medium", `the command ${name} is not one that is known here`);
      return known;
    }
    // One that goes by the name of a tool is not the project's own script, unless it is where package managers put the project's tools.
    const isInstalled = INSTALLED.test(name);
    raise(part, "medium", `it runs a program by its path, ${name}`, known === undefined || isInstalled);
    if (/^(\/usr(\/local)?)?\/s?bin\/[^/]+$/.test(name)) return known;
    addPath(part, "program", literalWord(name), shell.cwds);
    return known?.risk === "high" || isInstalled ? known : undefined;
  };

  const applyAll = (part: Part, findings: readonly Finding[], shell: Shell): Moved => {
    let { cwds } = shell;
    let moved: Moved = "stays";
    const inner = (): Shell => ({ ...shell, cwds, depth: shell.depth + 1 });
    for (const finding of findings) {
      switch (finding.kind) {
        case "risk":
          raise(part, finding.risk, finding.why, finding.ordinary);
          break;
        case "unclear":
          if (finding.risk === undefined) part.unclear.push(finding.why);
          else raiseUnclear(part, finding.risk, finding.why);
          break;
        case "path":
          if (finding.use === "write" || finding.use === "remove") addWrite(part, finding.use, finding.word, cwds);
          else addPath(part, finding.use, finding.word, cwds);
          break;
        case "directory":
          addPath(part, "cwd", finding.word, cwds);
          cwds = folderIn(cwds, finding.word, home);
          break;
        case "script":
          if (finding.word.value === undefined) {
            sight.missSome();
            part.unclear.push(`the script ${finding.word.text} is known only when it runs`);
            raise(part, "medium", "it runs a script that is not known");
          } else walkText(finding.word.value, inner());
          moved = changesFolderIn(finding.word) ? undefined : moved;
          break;
        case "command": {
          const words = finding.added === undefined ? finding.words : withUnknown(finding.words);
          const after = walkInner(words, inner());
          if (after !== "stays") moved = after;
          break;
        }
      }
    }
    return moved;
  };

  /** Where `cd` leads: the home without an operand, `-` to nobody knows where. */
  const standIn = (part: Part, [to = literalWord(home)]: readonly Word[], { cwds }: Shell): Folders => {
    if (to.value === "-") {
      part.unclear.push("where cd - leads is known only when it runs");
      return undefined;
    }
    addPath(part, "cwd", to, cwds);
    return folderIn(cwds, to, home);
  };

  const walkInner = (words: readonly Word[], shell: Shell): Moved => {
    const text = words.map((word) => word.text).join(" ");
    if (sight.isTooDeep(text, shell) || words.length === 0) return "stays";
    return walkCommand(sight.open("command", text, words, shell), words, shell);
  };

  return walkCommand;
}

/** Programs of the project's packages (npm, Python's virtual environments, Composer). */
const INSTALLED = /(^|\/)(node_modules\/\.bin|\.?venv\/bin|vendor\/bin)\/[^/]+$/;

/** What xargs and find put in is not known: at the end, and wherever a word has `{}` in it. */
function withUnknown(words: readonly Word[]): readonly Word[] {
  const hasPlace = words.some(({ value }) => value?.includes("{}"));
  const filled = words.map((word) => {
    if (word.value?.includes("{}") !== true) return word;
    return { ...unknownWord(word.text), prefix: word.value.slice(0, word.value.indexOf("{}")), splits: false };
  });
  return hasPlace ? filled : [...filled, unknownWord("(what is added)")];
}
