import type { Risk } from "../../contract/decision.ts";
import { absolutePath } from "../../util/paths.ts";
import { readCommand } from "./options.ts";
import { parseShell } from "./parse.ts";
import type { CommandSpec, Finding, Ordinary } from "./spec.ts";
import type { Assignment, CommandNode, Redirect, Tree, Word } from "./tree.ts";
import { judgeVariable } from "./variables.ts";
import { activates, literalWord, unknownWord } from "./words.ts";

/** A path that a part of a script touches. */
export interface PathUse {
  readonly use: "read" | "write" | "folder" | "remove" | "cwd" | "program";
  /** Absolute; what the path is relative to. */
  readonly from: string;
  /** As the command gets it. Of a pattern: the folder in front of it. */
  readonly path: string;
  /** What of it is a pattern of file names. */
  readonly pattern?: string;
  /** As it is written. */
  readonly text: string;
}

/** A part of a script that is judged by itself: a command, or something that is not understood. */
export interface Part {
  readonly kind: "command" | "other";
  readonly text: string;
  /** A command's words, name first, those that are not known as they are written. */
  readonly words: readonly string[];
  /** The program's name when it has no folder: it is looked up when the command runs. */
  program: string | undefined;
  risk: Risk;
  /** Why the risk is what it is: of the highest. */
  why: string | undefined;
  /** True: what is of medium risk in it is ordinary work (`CommandSpec.ordinary`), all of it, and nothing of it is unclear. */
  ordinary: Ordinary;
  /** What of it is not understood. */
  readonly unclear: string[];
  readonly paths: PathUse[];
  /** What nothing allows: network devices of the shell. */
  readonly forbidden: string[];
  /** Where it may run; `undefined`: not known. */
  readonly cwds: readonly string[] | undefined;
  /** True when it opens a file to write, whatever the command. */
  writes: boolean;
}

export interface Seen {
  readonly parts: readonly Part[];
  /** The name of every command in it, wherever it stands. */
  readonly names: readonly string[];
  /** False: it may run commands that are not among `names`. */
  readonly complete: boolean;
}

interface WalkOptions {
  readonly cwd: string;
  readonly home: string;
  readonly lookUp: (name: string) => CommandSpec | undefined;
}

/** A script in a script in a script: deeper is not followed. */
const MAX_DEPTH = 5;
/** More commands are not looked at one by one. */
const MAX_PARTS = 300;
/** Of a longer command only the beginning is looked at. */
const MAX_WORDS = 1_000;
/** A script that may stand in more folders is not followed. */
const MAX_FOLDERS = 4;

/** Where a shell may stand; `undefined`: not known. */
type Folders = readonly string[] | undefined;

/** A shell of its own, while it is walked. */
interface Shell {
  cwds: Folders;
  readonly depth: number;
  /** False: what runs in it is never ordinary, because of who runs it (`eval`, `xargs`). */
  readonly ordinary: boolean;
}

/** Every command of a script with what it does, those in substitutions, functions, wrappers and nested scripts too. Never throws. */
export function walkScript(script: string, options: WalkOptions): Seen {
  const parts: Part[] = [];
  const names: string[] = [];
  const functions = new Set<string>();
  let complete = true;

  const open = (kind: Part["kind"], text: string, words: readonly Word[], shell: Shell): Part => {
    const part: Part = {
      kind,
      text: text.trim(),
      words: words.map(({ value, text: written }) => value ?? written),
      program: undefined,
      risk: "low",
      why: undefined,
      ordinary: shell.ordinary,
      unclear: [],
      paths: [],
      forbidden: [],
      cwds: shell.cwds,
      writes: false,
    };
    parts.push(part);
    if (parts.length > MAX_PARTS) {
      complete = false;
      part.unclear.push(`it has more than ${MAX_PARTS} commands`);
    }
    return part;
  };

  const walkText = (text: string, shell: Shell): void => {
    if (shell.depth > MAX_DEPTH) return notFollowed(text, shell, `it is nested more than ${MAX_DEPTH} deep`);
    const { tree, errors } = parseShell(text, {
      home: options.home,
      cwd: shell.cwds?.length === 1 ? shell.cwds[0] : undefined,
    });
    for (const why of errors.slice(0, 3))
      notFollowed(text, shell, `it cannot be read as a shell script: ${why}`, "high");
    nameFunctions(tree, functions);
    walk(tree, shell);
  };

  const notFollowed = (text: string, shell: Shell, why: string, risk: Risk = "medium"): void => {
    complete = false;
    const part = open("other", text, [], shell);
    raise(part, risk, why);
    part.unclear.push(why);
  };

  const walk = (tree: Tree, shell: Shell): void => {
    if (parts.length > MAX_PARTS) return;
    switch (tree.kind) {
      case "sequence":
      case "and": {
        for (const step of tree.steps) {
          const before = shell.cwds;
          walk(step, shell);
          // A `cd` that fails leaves the shell where it was, and the script goes on all the same.
          if (tree.kind === "sequence" && !isOneCommand(tree)) shell.cwds = either(before, shell.cwds);
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
        open("other", tree.text, [], shell).unclear.push(`it defines the function ${tree.name}`);
        return walk(tree.body, { ...shell, cwds: undefined });
      case "words":
        return walkWords(tree.words, shell);
      case "redirected": {
        const part = open("other", tree.text, [], shell);
        for (const redirect of tree.redirects) judgeRedirect(part, redirect, shell);
        return walk(tree.body, shell);
      }
      case "unclear":
        open("other", tree.text, [], shell).unclear.push(tree.why);
        for (const inside of tree.inside) walk(inside, { ...shell });
        return;
      case "command":
        return walkCommand(tree, shell);
    }
  };

  const walkWords = (words: readonly Word[], shell: Shell): void => {
    for (const { scripts } of words) for (const inner of scripts) walk(inner, { ...shell });
  };

  const walkCommand = (node: CommandNode, shell: Shell): void => {
    const { assignments, words, redirects } = node;
    for (const assignment of assignments) judgeAssignment(assignment, words.length > 0, shell);
    walkWords(words, shell);
    if (redirects.length > 0 && words.length === 0) {
      const part = open("other", node.text, [], shell);
      for (const redirect of redirects) judgeRedirect(part, redirect, shell);
    }
    if (words.length === 0) return;
    const part = open("command", node.text, words, shell);
    for (const redirect of redirects) judgeRedirect(part, redirect, shell);
    const moved = judgeWords(part, words, shell);
    if (moved !== "stays") shell.cwds = moved;
  };

  const judgeAssignment = ({ text, name, words, plain }: Assignment, isPrefix: boolean, shell: Shell): void => {
    walkWords(words, shell);
    const judged = judgeVariable(name, isPrefix);
    if (judged === undefined && plain) return;
    const part = open("other", text, [], shell);
    const why = judged?.why ?? `it sets part of ${name}`;
    raise(part, judged?.risk ?? "medium", why);
    part.unclear.push(why);
  };

  const judgeRedirect = (part: Part, redirect: Redirect, shell: Shell): void => {
    if (redirect.kind === "file") {
      walkWords([redirect.target], shell);
      if (redirect.use === "write" && !isDevice(redirect.target.value)) part.writes = true;
      return addPath(part, redirect.use, redirect.target, shell.cwds);
    }
    walkWords(redirect.words, shell);
    if (redirect.kind === "unclear") part.unclear.push(`${redirect.text}: ${redirect.why}`);
  };

  /** Where the shell stands after it. */
  const judgeWords = (part: Part, words: readonly Word[], shell: Shell): Folders | "stays" => {
    const [name] = words;
    if (name === undefined) return "stays";
    if (words.length > MAX_WORDS) part.unclear.push(`it has more than ${MAX_WORDS} words`);
    if (name.value === undefined) {
      complete = false;
      part.unclear.push(`which command ${name.text} is, is known only when it runs`);
      raise(part, "medium", "its name is not known");
      return "stays";
    }
    names.push(name.value);
    if (functions.has(name.value)) part.unclear.push(`${name.value} is a function of this script`);
    const spec = specOf(part, name.value, shell);
    if (spec === undefined) return "stays";
    const { use, findings } = readCommand(spec, words.slice(0, MAX_WORDS));
    const after = applyAll(part, findings, { ...shell, ordinary: shell.ordinary && use.spec.ordinary === true });
    if (use.spec.names.includes("cd")) return standIn(part, use.operands, shell);
    return MOVES.has(name.value) && !activates(use.operands) ? undefined : after;
  };

  /** The entry of a command: by its name, or by the last part of a path into a folder of the system. */
  const specOf = (part: Part, name: string, shell: Shell): CommandSpec | undefined => {
    const base = name.slice(name.lastIndexOf("/") + 1);
    const known = options.lookUp(base);
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

  const applyAll = (part: Part, findings: readonly Finding[], shell: Shell): Folders | "stays" => {
    let { cwds } = shell;
    let moved: Folders | "stays" = "stays";
    for (const finding of findings) {
      switch (finding.kind) {
        case "risk":
          raise(part, finding.risk, finding.why, finding.ordinary);
          break;
        case "unclear":
          part.unclear.push(finding.why);
          if (finding.risk !== undefined) raise(part, finding.risk, finding.why);
          break;
        case "path":
          if (finding.use === "write" || finding.use === "remove") part.writes ||= !isDevice(finding.word.value);
          addPath(part, finding.use, finding.word, cwds);
          break;
        case "directory":
          addPath(part, "cwd", finding.word, cwds);
          cwds = folderIn(cwds, finding.word, options.home);
          break;
        case "script":
          if (finding.word.value === undefined) {
            complete = false;
            part.unclear.push(`the script ${finding.word.text} is known only when it runs`);
            raise(part, "medium", "it runs a script that is not known");
          } else walkText(finding.word.value, { ...shell, cwds, depth: shell.depth + 1 });
          moved = changesAnyFolder(finding.word) ? undefined : moved;
          break;
        case "command": {
          const inner = finding.added === undefined ? finding.words : withUnknown(finding.words);
          const after = judgeInner(inner, { ...shell, cwds, depth: shell.depth + 1 });
          if (after !== "stays") moved = after;
          break;
        }
      }
    }
    return moved;
  };

  /** Where `cd` leads: the home without an operand, `-` to nobody knows where. */
  const standIn = (part: Part, [to = literalWord(options.home)]: readonly Word[], { cwds }: Shell): Folders => {
    if (to.value === "-") {
      part.unclear.push("where cd - leads is known only when it runs");
      return undefined;
    }
    addPath(part, "cwd", to, cwds);
    return folderIn(cwds, to, options.home);
  };

  const judgeInner = (words: readonly Word[], shell: Shell): Folders | "stays" => {
    const text = words.map((word) => word.text).join(" ");
    if (shell.depth > MAX_DEPTH) {
      notFollowed(text, shell, `it is nested more than ${MAX_DEPTH} deep`);
      return "stays";
    }
    return words.length === 0 ? "stays" : judgeWords(open("command", text, words, shell), words, shell);
  };

  const addPath = (part: Part, use: PathUse["use"], word: Word, cwds: Folders): void => {
    const { text, value } = word;
    if (isDevice(value)) return;
    const known = value ?? word.prefix;
    if (/^\/dev\/(tcp|udp)(\/|$)/.test(known)) {
      part.forbidden.push(`${text} reaches the network`);
      return;
    }
    const pattern = value === undefined ? word.glob : undefined;
    const path = value ?? known.slice(0, known.lastIndexOf("/") + 1);
    if (value === undefined && pattern === undefined) {
      part.unclear.push(`which path ${text} is, is known only when it runs`);
      if (path === "") return;
    }
    const rest = pattern?.slice(path.length);
    const more = { use, path, text, ...(rest !== undefined && { pattern: rest }) };
    if (path.startsWith("/")) part.paths.push({ ...more, from: "/" });
    else if (cwds === undefined) part.unclear.push(`which folder ${text} is in, is known only when it runs`);
    else part.paths.push(...cwds.map((from) => ({ ...more, from })));
  };

  walkText(script, { cwds: [options.cwd], depth: 0, ordinary: true });
  for (const part of parts) if (part.unclear.length + part.forbidden.length > 0) part.ordinary = false;
  return { parts, names, complete };
}

/** Programs of the project's packages (npm, Python's virtual environments, Composer). */
const INSTALLED = /(^|\/)(node_modules\/\.bin|\.?venv\/bin|vendor\/bin)\/[^/]+$/;

/** They move the shell, and where to is not followed. */
const MOVES: ReadonlySet<string> = new Set(["pushd", "popd", "source", "."]);

const RISKS: { readonly [R in Risk]: number } = { low: 0, medium: 1, high: 2 };

function raise(part: Part, risk: Risk, why: string, ordinary: Ordinary = false): void {
  const isOrdinary = risk === "medium" && ordinary;
  if (risk !== "low" && part.ordinary !== false && isOrdinary !== true) part.ordinary = isOrdinary;
  if (RISKS[risk] < RISKS[part.risk] || (risk === part.risk && part.why !== undefined) || risk === "low") return;
  part.risk = risk;
  part.why = why;
}

/** Every function of a script is known by its name before it is called. */
function nameFunctions(tree: Tree, names: Set<string>): void {
  if (tree.kind === "function") names.add(tree.name);
  for (const inside of insideOf(tree)) nameFunctions(inside, names);
}

/** True when the shell may stand elsewhere afterwards. */
function changesFolder(tree: Tree): boolean {
  if (tree.kind === "subshell" || tree.kind === "pipeline") return false;
  if (tree.kind !== "command") return insideOf(tree).some(changesFolder);
  return tree.words.some(({ value }) => value === undefined || /\b(cd|pushd|popd|eval|source)\b|^\.$/.test(value));
}

function changesAnyFolder({ value = "cd" }: Word): boolean {
  return /\b(cd|pushd|popd|source|eval)\b|(^|\s)\.\s/.test(value);
}

function insideOf(tree: Tree): readonly Tree[] {
  switch (tree.kind) {
    case "sequence":
    case "and":
    case "pipeline":
      return tree.steps;
    case "choice":
      return tree.parts;
    case "unclear":
      return tree.inside;
    case "subshell":
    case "function":
    case "redirected":
      return [tree.body];
    case "command":
    case "words":
      return [];
  }
}

function isOneCommand({ steps }: { readonly steps: readonly Tree[] }): boolean {
  return steps.length < 2;
}

function either(one: Folders, other: Folders): Folders {
  if (one === undefined || other === undefined) return undefined;
  const all = [...new Set([...one, ...other])];
  return all.length > MAX_FOLDERS ? undefined : all;
}

function folderIn(cwds: Folders, { value }: Word, home: string): Folders {
  if (value === undefined || value.startsWith("~")) return undefined;
  if (value.startsWith("/")) return [absolutePath(value, { workDir: "/", home })];
  return cwds?.map((workDir) => absolutePath(value, { workDir, home }));
}

/** What xargs and find put in is not known: at the end, and wherever a word has `{}` in it. */
function withUnknown(words: readonly Word[]): readonly Word[] {
  const hasPlace = words.some(({ value }) => value?.includes("{}"));
  const filled = words.map((word) => {
    if (word.value?.includes("{}") !== true) return word;
    return { ...unknownWord(word.text), prefix: word.value.slice(0, word.value.indexOf("{}")), splits: false };
  });
  return hasPlace ? filled : [...filled, unknownWord("(what is added)")];
}

/** Files that are none: the way to nowhere, and what the shell has open already. */
function isDevice(path: string | undefined): boolean {
  return path !== undefined && /^\/dev\/(null|zero|full|random|urandom|stdin|stdout|stderr|tty|fd\/\d+)$/.test(path);
}
