import { posix } from "node:path";
import type { Backend } from "../../contract/backend.ts";
import { type Decision, stricter } from "../../contract/decision.ts";
import { isInside } from "../../util/paths.ts";
import type { PathJudge, PathOperation } from "../paths.ts";
import type { PathUse } from "./walk.ts";

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
export type CommandPathJudge = (use: PathUse) => Promise<Decision | undefined>;

export function commandPathJudge(backend: Backend, judgePath: PathJudge): CommandPathJudge {
  const known = new Map<string, Promise<Decision | undefined>>();
  let looked = 0;

  /** The same path is looked up once, and no more than `MOST_PATHS` of them. */
  const judgeOne = async (use: PathUse["use"], path: string): Promise<Decision | undefined> => {
    const key = `${use} ${path}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    if (++looked > MOST_PATHS) return tooMany();
    const judging = lookAt(use, path);
    known.set(key, judging);
    return judging;
  };

  const lookAt = async (use: PathUse["use"], path: string): Promise<Decision | undefined> => {
    const operation = OPERATIONS[use];
    // Looked up once, for the path rules, people's rules and the workspace alike. Where it cannot be followed the path rules say why.
    const real = await backend.files.realPath(path).catch(() => undefined);
    const followed = use === "program" && real !== undefined ? await programAt(path, real, backend) : real;
    const decision = await judgePath(operation, path, followed);
    const closed = decision.except?.[0];
    if (decision.verdict === "allow" && closed !== undefined && use !== "cwd") return holdsForbidden(path, closed);
    if (decision.verdict === "deny" || use !== "remove") return decision.verdict === "allow" ? undefined : decision;
    if (isInside(backend.workDir, followed ?? path)) return wholeWorkspace(path);
    return decision.verdict === "allow" ? undefined : decision;
  };

  const judgeUse: CommandPathJudge = async ({ use, from, path, pattern, text }) => {
    if (looked > MOST_PATHS) return tooMany();
    const folder = await follow(from, path, backend);
    if (folder === undefined) return unknownPath(text);
    if (pattern === undefined) return judgeOne(use, folder);
    const base = await judgeOne(use === "cwd" ? "cwd" : "folder", folder);
    if (base !== undefined) return base;
    if (use === "remove" && pattern === "*" && isInside(backend.workDir, folder)) return wholeWorkspace(text);
    const matches = await namesFor(folder, pattern, backend);
    if (matches === undefined) return unknownPath(text);
    let strictest: Decision | undefined;
    for (const name of matches) {
      // Such a name is an option to the command.
      if (path === "" && name.startsWith("-")) return unknownPath(text);
      strictest = stricter(strictest, await judgeOne(use, posix.join(folder, name)));
    }
    return strictest;
  };

  const uses = new Map<string, Promise<Decision | undefined>>();
  return (use) => {
    const key = JSON.stringify([use.use, use.from, use.path, use.pattern]);
    const judging = uses.get(key) ?? judgeUse(use);
    uses.set(key, judging);
    return judging;
  };
}

/**
 * Where a program counts as being. A link to one in a folder of programs (a virtual environment's `python`) is where it stands: running what
 * has a name of its own on the PATH is not looking around there.
 */
async function programAt(path: string, real: string, { files }: Backend): Promise<string> {
  if (!/\/s?bin\/[^/]+$/.test(real)) return real;
  const folder = await files.realPath(posix.dirname(path)).catch(() => undefined);
  return folder === undefined ? real : posix.join(folder, posix.basename(path));
}

/** The path as the system follows it: `..` is the folder above where a link leads, not above the link. */
async function follow(from: string, path: string, backend: Backend): Promise<string | undefined> {
  if (!path.includes("..")) return posix.resolve(from, path);
  let at = path.startsWith("/") ? "/" : from;
  if (path.split("..").length > MOST_STEPS) return undefined;
  for (const name of path.split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== "..") at = posix.join(at, name);
    else {
      const real = await backend.files.realPath(at).catch(() => undefined);
      if (real === undefined) return undefined;
      at = posix.dirname(real);
    }
  }
  return at;
}

/** The entries of a folder that a pattern fits; `undefined` when they are too many, or the pattern is not a simple one. */
async function namesFor(folder: string, pattern: string, backend: Backend): Promise<readonly string[] | undefined> {
  const fits = patternOf(pattern);
  if (fits === undefined) return undefined;
  const info = await backend.files.stat(folder).catch(() => undefined);
  if (info?.kind !== "folder") return [];
  const entries = await backend.files.list(folder).catch(() => []);
  if (entries.length > MOST_ENTRIES) return undefined;
  const names = entries.map(({ name }) => name).filter((name) => fits.test(name));
  return names.length > MOST_MATCHES ? undefined : names;
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
