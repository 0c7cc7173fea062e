import type { Backend, FileInfo } from "../core/contract/backend.ts";
import type { Decision, Scope } from "../core/contract/decision.ts";
import { absolutePath, isInside } from "../core/util/paths.ts";
import { type LookUps, MAX_PATH_BYTES } from "./look-ups.ts";
import { type NamedPath, type PathKind, type Root, pathKinds, rootOf } from "../machine/places/paths.ts";
import { REPOSITORY } from "../machine/places/start-up.ts";
import { STARTED, lookAhead, repositoryFiles, startedByGit } from "./repository-files.ts";
import { DEFAULT_FORBIDDEN_PATHS, type PolicySettings } from "./policy-settings.ts";

export type PathOperation = "read" | "write" | "cwd";

/** Judges one path, as written and as its real path (`undefined`: looks that up). */
export type PathJudge = (operation: PathOperation, written: string, real: string | undefined) => Promise<Decision>;

/**
 * The user of the path. For file tools, the temporary folders of a working sandbox count like the workspace, if they
 * see those of the sandbox (`Backend.outside`).
 */
export type PathUser = "file tools" | "commands";

const DEFAULTS: ReadonlySet<string> = new Set(DEFAULT_FORBIDDEN_PATHS);

/**
 * Creates the judge of paths: a path is judged by what it is, then by where it is. Keys, and start-up files to write,
 * are asked about everywhere unless they are forbidden. The workspace, the allowed roots and the forbidden paths: the
 * longest one that contains the real path decides; a tie forbids. Elsewhere `workspaceOnly` denies, or a person is
 * asked, unless the autonomy is full or `wholeMachine` lets it be read. A path that is forbidden as written stays
 * forbidden. `own` are Handrail's own folders, which are never reachable. For file tools the session's temporary folders
 * count like the workspace.
 */
export function pathJudge(
  settings: PolicySettings,
  backend: Backend,
  own: readonly string[] = [],
  user: PathUser = "file tools",
): (look: LookUps) => PathJudge {
  const { workspaceOnly = true, allowedRoots = [], forbiddenPaths = DEFAULT_FORBIDDEN_PATHS } = settings;
  const findRoots = rootFinder(backend, allowedRoots, forbiddenPaths, own);
  const hasTheirOwn = user === "file tools" && backend.outside !== undefined;
  const temporary = hasTheirOwn ? (backend.sandbox?.temporary ?? []) : [];
  /** The roots for a path that is not a command's folder. */
  const withTemporary = async (roots: readonly Root[]): Promise<readonly Root[]> => {
    if ((await backend.sandbox?.state())?.works !== true) return roots;
    const isSystems = ({ path: at, isDefault = false }: Root) => isDefault && temporary.includes(at);
    const sessions = temporary.map((at): Root => ({ path: at, allows: true, rule: "temporary" }));
    return [...roots.filter((root) => !isSystems(root)), ...sessions];
  };
  // Checked first, because the sandbox need not be opened for a workspace or a home below /tmp.
  const isTemporary = (path: string) => temporary.length > 0 && backend.sandbox?.isTemporary(path) === true;
  const isOfRepository = repositoryFiles();
  const isStarted = startedByGit(backend);
  const kindOf = pathKinds(backend, backend.sandbox?.hidden);

  return (look) => {
    // One decision looks the roots up once, also when one of them cannot be followed.
    let rootsOfAll: Promise<readonly Root[]> | undefined;
    return async (operation, written, real) => {
      const refused = judgeText(written);
      if (refused) return refused;
      const path = absolutePath(written, backend);
      if (operation === "write" && real !== undefined) {
        void look.infoAt(real);
        lookAhead(real, backend.workDir, look);
      }
      const [usual, target] = await Promise.all([(rootsOfAll ??= findRoots()), real ?? look.realPath(path)]);
      const rootsFor = (at: string) => (operation !== "cwd" && isTemporary(at) ? withTemporary(usual) : usual);
      const rootsAsWritten = await rootsFor(path);
      const asWritten = rootOf(path, rootsAsWritten);
      if (asWritten !== undefined && !asWritten.allows) return forbidden(written, asWritten, usual);
      if (target instanceof Error) return unknownTarget(written, target);
      const roots = target === path ? rootsAsWritten : await rootsFor(target);
      const at = target === path ? asWritten : rootOf(target, roots);
      if (at !== undefined && !at.allows) return forbidden(written, at, roots);
      const named = { path, real: target };
      const what = operation === "cwd" ? undefined : kindOf(operation, named, at?.path);
      if (at === undefined) {
        if (!workspaceOnly && what !== undefined && operation !== "cwd")
          return withExceptions(special(operation, written, named, what, "outside"), roots, target);
        const isOpen = !workspaceOnly && settings.wholeMachine === true && operation !== "write";
        const owners = isOpen ? await keptByOwner(written, target, look) : undefined;
        const unasked = isOpen ? (owners ?? OF_MACHINE) : undefined;
        const isFull = !workspaceOnly && settings.autonomy === "full";
        const decision =
          unasked ?? (isFull ? OUTSIDE_IN_FULL : outside(written, target, workspaceOnly, backend.workDir));
        return withExceptions(decision, roots, target);
      }
      if (operation === "cwd") return { verdict: "allow", risk: "low", rule: at.rule };
      const decision = within(operation, written, named, what, at);
      if (operation === "read" || decision.verdict !== "allow") return withExceptions(decision, roots, target);
      const [linked, ofRepository] = await Promise.all([
        hardLinked(written, target, look),
        isOfRepository(target, isInside(target, backend.workDir) ? backend.workDir : at.path, look),
      ]);
      const holds = ofRepository ? REPOSITORY : isStarted(target) ? STARTED : undefined;
      const asked = holds === undefined ? linked : protectedBy(written, target, holds);
      return withExceptions(asked ?? decision, roots, target);
    };
  };
}

/** Adds what stays forbidden below the path. This includes allowed roots below it: a call can name them itself. */
function withExceptions(decision: Decision, roots: readonly Root[], target: string): Decision {
  if (decision.verdict === "deny") return decision;
  const inside = roots.filter(({ allows, path }) => !allows && path !== target && isInside(path, target));
  const except = [...new Set(inside.map(({ path }) => path))];
  return except.length === 0 ? decision : { ...decision, except };
}

/** How a refusal of a path begins. */
export const NOT_ALLOWED = "Path not allowed by security policy:";
/** How a refusal of a path begins that is forbidden wherever the workspace is. */
export const BLOCKED = "Path blocked by security policy:";

/** Decides from the text alone, before any look-up. */
function judgeText(written: string): Decision | undefined {
  const no = (why: string) => deny("path_text", `${NOT_ALLOWED} ${why}`);
  if (written.includes("\0")) return no(`${JSON.stringify(written)} has a NUL byte in it`);
  if (Buffer.byteLength(written) > MAX_PATH_BYTES) return no(`longer than ${MAX_PATH_BYTES} bytes`);
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(written) ? no(`${written} is a URL; give a path`) : undefined;
}

/** Asks about files with several names (hard links): the other names may be anywhere, and a write changes them all. */
async function hardLinked(written: string, real: string, look: LookUps): Promise<Decision | undefined> {
  const info = await look.infoAt(real);
  if (info === undefined || info.kind !== "file" || info.links < 2) return undefined;
  const why = `it has ${info.links} names (hard links), and the others may be outside the workspace`;
  return ask("hard_link", `Writing ${written} requires approval: ${why}`, "medium");
}

function within(
  operation: "read" | "write",
  written: string,
  named: NamedPath,
  what: PathKind | undefined,
  root: Root,
): Decision {
  // Such names confuse logs, patches and people, so a person sees the name (escaped) before it is created.
  if (operation === "write" && /[\x00-\x1f\x7f]/.test(written)) {
    const why = `Writing ${JSON.stringify(written)} requires approval: its name has control characters in it`;
    return ask("path_text", why, "medium");
  }
  if (what !== undefined) return special(operation, written, named, what, "inside");
  return { verdict: "allow", risk: "low", rule: root.rule };
}

/**
 * Asks about a key or a start-up file as a separate question. Only a person's own answer counts: for a start-up file
 * each time, since the approval is for what is written. A secret of the workspace belongs to the project: there `--yes`
 * answers too.
 */
function special(
  operation: "read" | "write",
  written: string,
  { real }: NamedPath,
  { kind, holds }: PathKind,
  where: "inside" | "outside",
): Decision {
  if (kind === "start-up") return protectedBy(written, real, holds);
  const decision = ask("sensitive_files", `Access to ${written} requires approval: it holds ${holds}`, "high");
  return kind === "secret" && where === "inside"
    ? decision
    : { ...decision, scopes: [scopeOfPath(operation, real, { onlyPerson: true })] };
}

function protectedBy(written: string, real: string, what: string): Decision {
  const decision = ask("protected_files", `Writing ${written} requires approval: it holds ${what}`, "high");
  return { ...decision, scopes: [scopeOfPath("write", real, { upTo: "once", onlyPerson: true })] };
}

function scopeOfPath(operation: "read" | "write", real: string, limits: Pick<Scope, "upTo" | "onlyPerson">): Scope {
  const label = `${operation === "read" ? "Read" : "Write"}: ${real}`;
  return { label, key: JSON.stringify(["path", operation, real]), ...limits };
}

function outside(written: string, real: string, workspaceOnly: boolean, workDir: string): Decision {
  const path = real === written ? written : `${written} (it leads to ${real})`;
  const where = `outside the workspace ${workDir}`;
  if (!workspaceOnly) return ask("outside", `Access to ${path} requires approval: it is ${where}`, "medium");
  const advice = "Use a path inside it, or have its folder added to allowed_roots.";
  return deny("workspace_only", `${NOT_ALLOWED} ${path} is ${where}. ${advice}`);
}

const OUTSIDE_IN_FULL: Decision = { verdict: "allow", risk: "medium", rule: "autonomy" };

/** What a person who administers the machine lets tools read. */
const OF_MACHINE: Decision = { verdict: "allow", risk: "low", rule: "whole_machine" };

/** Asks about what its owner keeps from all others, and about devices and pipes. */
async function keptByOwner(written: string, real: string, look: LookUps): Promise<Decision | undefined> {
  const info = await look.infoAt(real).catch(() => "unknown" as const);
  if (info === undefined || (info !== "unknown" && (info.kind === "folder" || isForOthers(info)))) return undefined;
  const why = info !== "unknown" && info.kind === "file" ? "only its owner may read it" : "it is no ordinary file";
  const decision = ask("sensitive_files", `Access to ${written} requires approval: ${why}`, "high");
  return { ...decision, scopes: [scopeOfPath("read", real, { onlyPerson: true })] };
}

function isForOthers({ kind, mode }: FileInfo): boolean {
  return kind === "file" && (mode & 0o044) !== 0;
}

function unknownTarget(written: string, { message }: Error): Decision {
  return deny("path_text", `${NOT_ALLOWED} ${written} cannot be resolved: ${message}`);
}

/** A forbidden workspace is rarely intended: root's home over SSH is on the default list. */
function forbidden(written: string, { path, rule }: Root, roots: readonly Root[]): Decision {
  if (rule === "state") return deny(rule, `${BLOCKED} ${written} belongs to Handrail itself`);
  const isWorkspace = roots.some((root) => root.rule === "workspace" && root.path === path);
  const hint = isWorkspace
    ? ". That is the working directory itself, so every path in it is refused. Work in another folder, which may lie " +
      `below ${path} (--work-dir), or set policy.forbidden_paths to a list without ${path}.`
    : "";
  return deny(rule, `${BLOCKED} ${written} (forbidden_paths has ${path})${hint}`);
}

function deny(rule: string, reason: string): Decision {
  return { verdict: "deny", risk: "high", rule, reason };
}

function ask(rule: string, reason: string, risk: "medium" | "high"): Decision {
  return { verdict: "ask", risk, rule, reason };
}

/**
 * Finds every root, as written and as its real path: `/tmp` may be a link to `/private/tmp`, a home to another disk.
 * Looked up once; while one of them cannot be resolved, each time again.
 */
function rootFinder(
  backend: Backend,
  allowedRoots: readonly string[],
  forbiddenPaths: readonly string[],
  own: readonly string[],
): () => Promise<readonly Root[]> {
  // Paths that people name are on the machine, where no command can put a link.
  const { outside: files = backend.files } = backend;
  const written = [
    { path: backend.workDir, allows: true, rule: "workspace" } as const,
    ...allowedRoots.map((path) => ({ path, allows: true, rule: "allowed_roots" }) as const),
    ...forbiddenPaths.map(
      (path) => ({ path, allows: false, rule: "forbidden_paths", isDefault: DEFAULTS.has(path) }) as const,
    ),
    // On a remote system, a folder of this machine counts as written: it need not be looked up remotely.
    ...own.map((path) => {
      const isFinal = backend.access !== undefined && !path.startsWith("~/");
      return { path, allows: false, rule: "state", isFinal } as const;
    }),
  ].map((root): Root => ({ ...root, path: absolutePath(root.path, backend) }));
  let found: Promise<readonly Root[]> | undefined;

  const find = async (): Promise<readonly Root[]> => {
    const both = await Promise.all(
      written.map(async (root): Promise<readonly Root[]> => {
        if (root.isFinal === true) return [root];
        const real = await files.realPath(root.path).catch(() => undefined);
        if (real === undefined) found = undefined;
        // A forbidden root also forbids its real folder; an allowed link allows its target. A root that cannot be
        // resolved (a home that cannot be entered) counts as written.
        return real === undefined || real === root.path ? [root] : [root, { ...root, path: real }];
      }),
    );
    return both.flat();
  };

  return () => (found ??= find());
}
