import { posix } from "node:path";
import type { FileEntry } from "../../contract/backend.ts";
import { type Decision, stricter } from "../../contract/decision.ts";
import { isInside } from "../../util/paths.ts";
import type { LookUps } from "../look-ups.ts";
import type { PathJudge, PathOperation } from "../paths.ts";
import type { PathUse } from "./part.ts";

/** Of a pattern that fits more files than this, or in a folder with more entries, nobody looks at each. */
const MOST_MATCHES = 200;
const MOST_ENTRIES = 2_000;
/** So many paths of a script are looked up, and so many steps upwards (`..`) in one path. */
const MOST_PATHS = 200;
const MOST_STEPS = 40;

const OPERATIONS: { readonly [use in PathUse["use"]]: PathOperation } = {
  read: "read",
  folder: "read",
  program: "read",
  write: "write",
  remove: "write",
  cwd: "cwd",
};

/** What the path rules say of what a command touches. `undefined`: nothing against it. For one script: it remembers what it has seen. */
type CommandPathJudge = (use: PathUse) => Promise<Decision | undefined>;

interface CommandPathOptions {
  readonly workDir: string;
  /** Folders that may be looked into, as they are written: patterns in them are expanded. */
  readonly open: readonly string[];
  readonly judgePath: PathJudge;
  readonly look: LookUps;
}

export function commandPathJudge({ workDir, open, judgePath, look }: CommandPathOptions): CommandPathJudge {
  const seen = new Set<string>();
  const isTooMuch = (use: PathUse["use"], path: string): boolean => seen.add(`${use} ${path}`).size > MOST_PATHS;

  const judgeOne = async (use: PathUse["use"], path: string, known?: string): Promise<Decision | undefined> => {
    const found = use === "program" ? await programAt(path, look) : (known ?? (await look.realPath(path)));
    const real = found instanceof Error ? undefined : found;
    const decision = await judgePath(OPERATIONS[use], path, real);
    const closed = decision.except?.[0];
    if (decision.verdict === "allow" && closed !== undefined && use !== "cwd") return holdsForbidden(path, closed);
    if (decision.verdict !== "deny" && use === "remove" && isInside(workDir, real ?? path)) return wholeWorkspace(path);
    return decision.verdict === "allow" ? undefined : decision;
  };

  /** What is found out late is asked for at once: there is one round left. */
  const judgeWhenSeen = async (use: PathUse["use"], path: string, how?: "at-once"): Promise<Decision | undefined> => {
    if (OPERATIONS[use] === "write") await look.lookAt(path, how);
    return judgeOne(use, path);
  };

  const judgePattern = async (use: PathUse, folder: string, pattern: string): Promise<Decision | undefined> => {
    const base = await judgeOne(use.use === "cwd" ? "cwd" : "folder", folder);
    if (base !== undefined) return base;
    if (use.use === "remove" && pattern === "*" && isInside(workDir, folder)) return wholeWorkspace(use.text);
    const [matches, real] = await Promise.all([entriesFor(folder, pattern, look), look.realPath(folder)]);
    // A name with a dash in front is an option to the command.
    if (matches === undefined || (use.path === "" && matches.some(({ name }) => name.startsWith("-")))) {
      return unknownPath(use.text);
    }
    const judged = matches.map(async ({ name, kind }) => {
      const path = posix.join(folder, name);
      if (isTooMuch(use.use, path)) return tooMany();
      // Where the folder really is is known, and so is what is no link in it.
      if (kind !== "link" && typeof real === "string") return judgeOne(use.use, path, posix.join(real, name));
      return judgeWhenSeen(use.use, path, "at-once");
    });
    let strictest: Decision | undefined;
    for (const decision of await Promise.all(judged)) strictest = stricter(strictest, decision);
    return strictest;
  };

  const judgeUse: CommandPathJudge = async (use) => {
    // Where it is if no link lies in front of a `..`, which is mostly so: that is asked for at once.
    const straight = posix.resolve(use.from, use.path);
    if (isTooMuch(use.use, straight)) return tooMany();
    void (OPERATIONS[use.use] === "write" ? look.lookAt(straight) : look.realPath(straight));
    if (use.pattern !== undefined && open.some((folder) => isInside(straight, folder))) void look.list(straight);
    const path = use.path.includes("..") ? await follow(use.from, use.path, look) : straight;
    if (path === undefined) return unknownPath(use.text);
    if (use.pattern !== undefined) return judgePattern(use, path, use.pattern);
    return judgeWhenSeen(use.use, path, path === straight ? undefined : "at-once");
  };

  const judged = new Map<string, Promise<Decision | undefined>>();
  return (use) => {
    const key = JSON.stringify([use.use, use.from, use.path, use.pattern]);
    const judging = judged.get(key) ?? judgeUse(use);
    judged.set(key, judging);
    return judging;
  };
}

/**
 * Where a program counts as being. A link to one in a folder of programs (a virtual environment's `python`) is where it stands: running what
 * has a name of its own on the PATH is not looking around there. `undefined`: it cannot be followed.
 */
async function programAt(path: string, look: LookUps): Promise<string | undefined> {
  const [real, folder] = await Promise.all([look.realPath(path), look.realPath(posix.dirname(path))]);
  if (real instanceof Error) return undefined;
  if (folder instanceof Error || !/\/s?bin\/[^/]+$/.test(real)) return real;
  return posix.join(folder, posix.basename(path));
}

/** The path as the system follows it: `..` is the folder above where a link leads, not above the link. */
async function follow(from: string, path: string, look: LookUps): Promise<string | undefined> {
  if (path.split("..").length > MOST_STEPS) return undefined;
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  return climb(path.startsWith("/") ? "/" : from, names, look);
}

async function climb(at: string, names: readonly string[], look: LookUps): Promise<string | undefined> {
  const up = names.indexOf("..");
  if (up === -1) return posix.join(at, ...names);
  // Every step at once, each as if no link lay on the way; the steps behind one are asked for again.
  for (const [index, name] of names.entries()) {
    if (name === "..") void look.realPath(posix.join(at, ...names.slice(0, index)));
  }
  const real = await look.realPath(posix.join(at, ...names.slice(0, up)));
  if (real instanceof Error) return undefined;
  return climb(posix.dirname(real), names.slice(up + 1), look);
}

/** The entries of a folder that a pattern fits; `undefined` when they are too many, or the pattern is not a simple one. */
async function entriesFor(folder: string, pattern: string, look: LookUps): Promise<readonly FileEntry[] | undefined> {
  const fits = patternOf(pattern);
  if (fits === undefined) return undefined;
  const entries = await look.list(folder);
  if (entries.length > MOST_ENTRIES) return undefined;
  const matches = entries.filter(({ name }) => fits.test(name));
  return matches.length > MOST_MATCHES ? undefined : matches;
}

/** A pattern of one name: `*`, `?` and literals. */
function patternOf(pattern: string): RegExp | undefined {
  if (/[[\]/]/.test(pattern) || pattern.length > 256 || pattern.split("*").length > 8) return undefined;
  const source = pattern.replaceAll(/\\.|[^\\]/gs, (letter) => {
    if (letter === "*") return "[^/]*";
    if (letter === "?") return "[^/]";
    return letter.slice(-1).replace(/[.*+?^${}()|[\]\\]/, "\\$&");
  });
  return new RegExp(pattern.startsWith(".") ? `^${source}$` : `^(?!\\.)${source}$`, "s");
}

function wholeWorkspace(text: string): Decision {
  return {
    verdict: "deny",
    risk: "high",
    rule: "workspace",
    reason: `Path blocked by security policy: ${text} is the workspace itself, or holds it; name what is to be removed in it`,
  };
}

function holdsForbidden(path: string, closed: string): Decision {
  return {
    verdict: "ask",
    risk: "high",
    rule: "forbidden_paths",
    reason: `Access to ${path} requires approval: ${closed} in it is forbidden, and a command does not leave it out`,
  };
}

function tooMany(): Decision {
  return { verdict: "ask", risk: "medium", rule: "not_understood", reason: `it names more than ${MOST_PATHS} paths` };
}

function unknownPath(text: string): Decision {
  return {
    verdict: "ask",
    risk: "medium",
    rule: "not_understood",
    reason: `which files ${text} stands for is not known here; name them`,
  };
}
