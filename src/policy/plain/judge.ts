import { posix } from "node:path";
import type { Backend, FileEntry } from "../../core/contract/backend.ts";
import type { Decision } from "../../core/contract/decision.ts";
import type { Env } from "../../core/contract/effect.ts";
import { displayPath, isInside } from "../../core/util/paths.ts";
import { type LookUps, once } from "../look-ups.ts";
import type { PathJudge } from "../paths.ts";
import { SENSITIVE_FILES, SENSITIVE_FOLDERS } from "../../machine/places/keys.ts";
import { type FoundProgram, type Programs, programsOf } from "./finder.ts";
import { type GitRepository, gitRepository } from "./git-repository.ts";
import { matching, newBudget, readPattern } from "./patterns.ts";
import { readByList } from "./programs.ts";
import type { GitReading, Reading } from "./reading.ts";
import type { PlainCommand, PlainScript, PlainWord } from "./script.ts";
import { type WrittenCommand, writeScript } from "./write.ts";

/** What runs instead of the script, as in `Command`. */
export interface PlainRun {
  readonly argv: readonly [string, ...string[]];
  readonly env: Env;
  readonly cwd: string;
}

export type PlainVerdict =
  /** `looks`: every command is on the list, so none was accepted only by `allows`. */
  | { readonly plain: true; readonly run: PlainRun; readonly looks: boolean }
  /**
   * The problem of each command, in order; `undefined`: no problem. `run`: what runs after approval, with the listed
   * commands rewritten and the others unchanged.
   */
  | { readonly plain: false; readonly problems: readonly (Problem | undefined)[]; readonly run?: PartlyPlainRun };

/** The script for the shell that was to run it. */
type PartlyPlainRun = { readonly script: string; readonly cwd: string };

/** `why`: the problem, for people. `decision`: the decision of the path rules, if that is the problem. */
export interface Problem {
  readonly why: string;
  readonly decision?: Decision;
}

interface PlainJudgeOptions {
  readonly backend: Backend;
  /** Whether programs that look at the whole machine are on the list. Default false. */
  readonly wholeMachine?: boolean;
  /** Default: all programs that are not in the workspace. */
  readonly programs?: Programs;
}

interface PlainGiven {
  /** A real path. */
  readonly cwd: string;
  readonly judgePath: PathJudge;
  readonly look: LookUps;
  /**
   * Whether a user's rule allows a command with these words; then it need not be on the list, and the caller judges its
   * paths. Default: none is allowed.
   */
  readonly allows?: (words: readonly string[]) => boolean;
}

/** Decides whether a script from `readPlainScript` may run unasked without a sandbox, and what runs then. */
export type PlainJudge = (script: PlainScript, given: PlainGiven) => Promise<PlainVerdict>;

/** The longest word with which Linux starts a program: MAX_ARG_STRLEN (128 KiB), execve(2). */
const MOST_BYTES = 131_071;

/**
 * Creates the judge of plain scripts: every command must be on the list, be found outside of the workspace, and name
 * only paths that may be read. One round trip, unless `cd` or a pattern leads through a link.
 */
export function createPlainJudge({
  backend,
  wholeMachine = false,
  programs = programsOf(backend, [backend.workDir]),
}: PlainJudgeOptions): PlainJudge {
  const repository = gitRepository(backend);

  return async (script, { cwd, judgePath, look, allows = () => false }) => {
    const found = once((name) => programs.find(name, look));
    const given = { backend, wholeMachine, judgePath, look, allows, found, trusted: programs.trusted, repository };
    const context = (folder: string): Context => ({ ...given, folder });
    if (script.cd === undefined) return judgeIn(script, context(cwd));
    const written = pathOf(script.cd, cwd);
    if (written === undefined) return forAll(script, behindName(script.cd));
    // There is rarely a link on the path; then the result of this early look-up is used.
    const ahead = judgeIn(script, context(written));
    ahead.catch(() => undefined);
    const info = await look.info(written).catch(() => undefined);
    if (info?.kind !== "folder") return forAll(script, { why: `${script.cd} is not a folder` });
    return info.path === written ? ahead : judgeIn(script, context(info.path));
  };
}

interface Context {
  readonly backend: Backend;
  readonly wholeMachine: boolean;
  readonly folder: string;
  readonly judgePath: PathJudge;
  readonly look: LookUps;
  readonly allows: (words: readonly string[]) => boolean;
  readonly found: (name: string) => Promise<FoundProgram | string>;
  readonly trusted: Programs["trusted"];
  readonly repository: GitRepository;
}

function forAll({ commands }: PlainScript, problem: Problem): PlainVerdict {
  return { plain: false, problems: commands.map(() => problem) };
}

async function judgeIn(script: PlainScript, context: Context): Promise<PlainVerdict> {
  const { commands, separators } = script;
  const { backend, folder, look, allows, found, trusted } = context;
  const isAllowed = commands.map(({ words }) => allows(words.map(({ value }) => value)));
  const readings = commands.map(({ words }) => readByList(words, context));
  const judgeOperand = operandJudge(context);
  const judgedHere = context.judgePath("read", shown(folder, backend), folder);
  const shellName = backend.shell ?? "bash";
  const [shell, safe, here, judged] = await Promise.all([
    found(shellName),
    trusted(look),
    judgedHere,
    Promise.all(
      commands.map(async (command, index) => {
        const reading = readings[index] ?? "";
        const listed =
          typeof reading === "string"
            ? { why: reading }
            : await judgeListed(command, reading, context, { judgeOperand, judgedHere });
        if ("words" in listed || isAllowed[index] !== true) return { result: listed, looks: true };
        return { result: await takeAllowed(command, context), looks: false };
      }),
    ),
  ]);
  if (typeof shell === "string") return forAll(script, { why: shell });
  if (here.verdict !== "allow") return forAll(script, against(here));
  const problems = judged.map(({ result }) => ("words" in result ? undefined : result));
  const looks = judged.every((each) => each.looks) && problems.every((problem) => problem === undefined);
  // Programs that start other programs find them in folders that no tool can write, as `#!/usr/bin/env node` does.
  const env = { PATH: [...new Set(safe.values())].join(":") };
  const written = judged.map(({ result, looks: isListed }, index): WrittenCommand => {
    if (!("words" in result)) return commands[index] as PlainCommand;
    return isListed && !looks ? { ...result, env: { ...env, ...result.env } } : result;
  });
  const text = writeScript(written, separators);
  if (Buffer.byteLength(text) > MOST_BYTES)
    return forAll(script, { why: "with its patterns expanded, it is too long for a shell" });
  if (problems.some((problem) => problem !== undefined)) {
    const isPartly = problems.includes(undefined);
    return { plain: false, problems, ...(isPartly && { run: { script: text, cwd: folder } }) };
  }
  const options = shellName === "bash" ? ["--noprofile", "--norc", "-p"] : [];
  return {
    plain: true,
    run: { argv: [shell.path, ...options, "-c", text], env: looks ? env : {}, cwd: folder },
    looks,
  };
}

/** Judges a listed command: its program, each of its paths, and for git the repository. */
async function judgeListed(
  { words, redirections }: PlainCommand,
  reading: Reading,
  context: Context,
  { judgeOperand, judgedHere }: { readonly judgeOperand: OperandJudge; readonly judgedHere: Promise<Decision> },
): Promise<WrittenCommand | Problem> {
  const { folder, look, found, repository } = context;
  const [name, ...others] = words;
  const { git, keepsOut, end } = reading;
  const paths = new Set(reading.paths);
  // Behind "--", a path can never be the name of an object.
  const isPath = (value: string) =>
    look.info(posix.resolve(folder, value)).then(
      (info) => info !== undefined,
      () => false,
    );
  const mayBePaths = git !== undefined && !words.some(({ value }) => value === "--") ? git.objects : [];
  const behind = Promise.all(mayBePaths.map(async (at) => ((await isPath(words[at]?.value ?? "")) ? [at] : [])));
  const [program, objection, leftOut, here, moved, ...operands] = await Promise.all([
    found(name.value),
    git && repository.objection(folder, look),
    git && judgeGit(git, context),
    judgedHere,
    behind.then((each) => each.flat()),
    ...others.map((word, index) => (paths.has(index + 1) ? judgeOperand(word, reading) : [word.value])),
  ]);
  if (typeof program === "string") return { why: program };
  if (objection !== undefined) return { why: objection };
  if (leftOut !== undefined && !isWords(leftOut)) return leftOut;
  if (reading.looksBelow === true && here.except !== undefined) return isClosedBelow(folder);
  if (keepsOut === "grep" && posix.basename(program.real) === "busybox")
    return { why: "busybox grep cannot leave out files" };
  const out = [program.path, ...(reading.adds ?? []), ...(git === undefined ? [] : repository.surroundings.options)];
  const kept = keepsOut === undefined ? [] : KEEPS_OUT[keepsOut];
  for (const [index, operand] of operands.entries()) {
    if (!isWords(operand)) return operand;
    if (index + 1 === end) out.push(...kept);
    if (moved.includes(index + 1)) continue;
    out.push(...(git?.objects.includes(index + 1) === true ? operand.map((each) => `${each}^{commit}`) : operand));
    if (index + 1 === git?.subcommand) out.push(...git.added);
  }
  if (end === words.length) out.push(...kept);
  out.push(...(moved.length === 0 ? [] : ["--", ...moved.map((at) => words[at]?.value ?? "")]), ...(leftOut ?? []));
  return { words: out, redirections, ...(git !== undefined && { env: repository.surroundings.env }) };
}

/** Judges the paths in revisions. Resolves to pathspecs (gitglossary(7)) that exclude what may not be read. */
async function judgeGit(
  { revisionPaths, showsContent }: GitReading,
  { backend, folder, judgePath }: Context,
): Promise<readonly string[] | Problem> {
  const { workDir } = backend;
  for (const written of revisionPaths) {
    const path = pathOf(written, /^\.\.?\//.test(written) ? folder : workDir);
    if (path === undefined) return behindName(written);
    const decision = await judgePath("read", shown(path, backend), path);
    if (decision.verdict !== "allow") return against(decision);
    if (decision.except !== undefined) return isClosedBelow(path);
  }
  if (!showsContent) return [];
  const { except = [] } = await judgePath("read", shown(workDir, backend), workDir);
  const closed = except.filter((path) => isInside(path, workDir));
  return [...NO_SECRETS, ...closed.map((path) => `:(top,exclude,literal)${posix.relative(workDir, path)}`)];
}

const NO_SECRETS = [...SENSITIVE_FILES, ...SENSITIVE_FOLDERS.map((name) => `${name}/**`)].map(
  (glob) => `:(top,exclude,icase,glob)**/${glob}`,
);

async function takeAllowed(
  { words, redirections }: PlainCommand,
  { found }: Context,
): Promise<WrittenCommand | Problem> {
  const [name, ...others] = words;
  const pattern = others.find(({ wildcards }) => wildcards !== undefined);
  if (pattern !== undefined)
    return {
      why: `${JSON.stringify(pattern.value)} is a pattern, and ${name.value} is not on the list`,
    };
  const program = name.value.includes("/") ? { path: name.value } : await found(name.value);
  if (typeof program === "string") return { why: program };
  return { words: [program.path, ...others.map(({ value }) => value)], redirections };
}

/** Judges an operand that is a path; resolves to the words that replace it. */
type OperandJudge = (word: PlainWord, reading: Reading) => Promise<readonly string[] | Problem>;

function operandJudge({ backend, folder, judgePath, look }: Context): OperandJudge {
  const budget = newBudget();

  /** Judges a word. Looks up the real path if `real` is undefined. */
  const judge = async (
    path: string,
    real: string | undefined,
    { isRecursive, onlyFiles, git, keepsOut }: Reading,
  ): Promise<Problem | undefined> => {
    const [decision, info, target] = await Promise.all([
      judgePath("read", shown(path, backend), real),
      onlyFiles === true ? look.info(path).catch(() => "unknown" as const) : undefined,
      git === undefined ? undefined : look.realPath(path),
    ]);
    if (decision.verdict !== "allow") return against(decision);
    if (isRecursive === true && decision.except !== undefined) return isClosedBelow(path);
    if (keepsOut !== undefined && decision.rule === "whole_machine")
      return { why: `${path} is outside the workspace, and everything below it would be read` };
    if (info === "unknown" || (info !== undefined && info.kind !== "file")) return { why: `${path} is not a file` };
    const isWithin = target === undefined || (typeof target === "string" && isInside(target, backend.workDir));
    return isWithin
      ? undefined
      : { why: `${path} is outside the workspace; git looks only at the repository of the workspace` };
  };

  return async (word, reading) => {
    const pattern = word.wildcards && readPattern(word);
    if (typeof pattern === "string") return { why: pattern };
    const path = pathOf(word.value, folder);
    if (path === undefined) return behindName(word.value);
    if (path === "/dev/null") return [word.value];
    if (ENDLESS.test(path)) return { why: `${path} is endless` };
    // Some programs treat "@file" as a file with options, and "+1f" as an option.
    const asPath = (each: string) => (reading.git === undefined && /^[@+=]/.test(each) ? `./${each}` : each);
    if (pattern === undefined) return (await judge(path, undefined, reading)) ?? [asPath(word.value)];
    const inside = posix.resolve(folder, pattern.folder);
    const [entries, real] = await Promise.all([look.list(inside), look.realPath(inside)]);
    const found = matching(pattern, entries, budget);
    if (typeof found === "string") return { why: found };
    if (found.length === 0) return (await judge(path, undefined, reading)) ?? [asPath(word.value)];
    const realOf = ({ kind, name }: FileEntry) =>
      kind === "link" || typeof real !== "string" ? undefined : posix.join(real, name);
    const judged = await Promise.all(
      found.map((entry) => judge(posix.join(inside, entry.name), realOf(entry), reading)),
    );
    return judged.find((each) => each !== undefined) ?? found.map(({ name }) => asPath(`${pattern.folder}${name}`));
  };
}

/** Devices that are harmless, but not read unasked. All other devices are forbidden paths. */
const ENDLESS = /^\/dev\/(zero|full|u?random)$/;

function isWords(operand: readonly string[] | Problem): operand is readonly string[] {
  return Array.isArray(operand);
}

/** Options that exclude files with sensitive names. They win when they come after all others (grep(1), rg(1)). */
const KEEPS_OUT: { readonly [way in "grep" | "rg"]: readonly string[] } = {
  grep: [
    ...SENSITIVE_FILES.map((glob) => `--exclude=${anyCase(glob)}`),
    ...SENSITIVE_FOLDERS.map((glob) => `--exclude-dir=${anyCase(glob)}`),
  ],
  rg: ["--no-config", ...[...SENSITIVE_FILES, ...SENSITIVE_FOLDERS].map((glob) => `--iglob=!${glob}`)],
};

function anyCase(glob: string): string {
  return glob.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
}

/** The absolute path of an operand, without following links; `undefined` when ".." follows a name. */
function pathOf(operand: string, folder: string): string | undefined {
  const names = operand.split("/").filter((name) => name !== "" && name !== ".");
  const first = names.findIndex((name) => name !== "..");
  if (first !== -1 && names.includes("..", first)) return undefined;
  return posix.resolve(folder, operand);
}

/** A path as the path rules take it: a file named "~" is not the home. */
function shown(path: string, backend: Backend): string {
  const display = displayPath(path, backend);
  return display.startsWith("~") ? `./${display}` : display;
}

function against(decision: Decision): Problem {
  return { why: decision.reason ?? "the path rules forbid it", decision };
}

function behindName(path: string): Problem {
  return { why: `".." in ${JSON.stringify(path)} depends on links` };
}

function isClosedBelow(path: string): Problem {
  return { why: `something below ${path} may not be read` };
}
