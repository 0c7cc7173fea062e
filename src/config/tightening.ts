import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { absolutePath, isInside } from "../util/paths.ts";
import { APPROVER_LIMITS } from "../contract/approvers.ts";
import { SANDBOX_MODES } from "../contract/containment.ts";
import { FETCH_MODES } from "../network/network-settings.ts";
import { ASK_IN_SANDBOX, type CommandRule } from "../policy/policy-settings.ts";
import { AUTONOMIES, type Given, type KeysWith } from "./keys.ts";
import type { Place } from "./problem.ts";
import type { Settings } from "./settings.ts";
import type { Located } from "./shape.ts";

/** The parts of a project's file that the rules need. */
export interface ProjectFolder {
  /** The real folder of the file. */
  readonly folder: string;
  readonly home: string;
}

export interface Complaint {
  readonly place: Place;
  /** Appended to the key of the rule: "[2]", ".mine". */
  readonly at?: string;
  readonly message: string;
}

type Rule<K extends KeysWith<"tightening">> = (
  given: NonNullable<Given[K]>,
  without: Settings,
  project: ProjectFolder,
) => readonly Complaint[];

/**
 * Returns what makes a project's value looser than the settings `without` it. A value without complaints is accepted.
 */
export const TIGHTENING: { readonly [K in KeysWith<"tightening">]: Rule<K> } = {
  "tools.work_dir": (given, without, project) => {
    const message = outsideProject(given.value, without, project);
    return message === undefined ? [] : [{ place: given.place, message }];
  },
  toolsets: ({ value }, without) =>
    Object.entries(value).flatMap(([name, { place }]) =>
      Object.hasOwn(without.toolsets, name)
        ? [{ place, at: `.${name}`, message: "you have a toolset of this name; a project cannot change it" }]
        : [],
    ),
  "policy.autonomy": (given, { policy }) => looserWord(given, policy.autonomy, AUTONOMIES.toReversed()),
  "policy.sandbox": (given, { policy }) => looserWord(given, policy.sandbox, SANDBOX_MODES),
  "policy.ask_in_sandbox": (given, { policy }) => looserWord(given, policy.askInSandbox, ASK_IN_SANDBOX),
  "policy.network.fetch": (given, { policy }) => looserWord(given, policy.network.fetch, FETCH_MODES),
  "approvers.terminal": (given, { approvers }) => looserWord(given, approvers.terminal ?? "high", APPROVER_LIMITS),
  "approvers.browser": (given, { approvers }) => looserWord(given, approvers.browser ?? "high", APPROVER_LIMITS),
  "approvers.phone": (given, { approvers }) => looserWord(given, approvers.phone ?? "high", APPROVER_LIMITS),
  "approvers.api": (given, { approvers }) => looserWord(given, approvers.api ?? "high", APPROVER_LIMITS),
  "policy.workspace_only": (given, { policy }) => looserThan(given, policy.workspaceOnly),
  "policy.block_high_risk_commands": (given, { policy }) => looserThan(given, policy.blockHighRiskCommands),
  "policy.require_approval_for_medium_risk": (given, { policy }) =>
    looserThan(given, policy.requireApprovalForMediumRisk),
  "policy.shell_confirm": (given, { policy }) => looserThan(given, policy.shellConfirm),
  "policy.commands.only": ({ value, place }, { policy: { commands } }) => {
    const own = new Set(commands.only.map(ruleText));
    if (own.size === 0) return [];
    const added = value.map(ruleText).find((text) => !own.has(text));
    if (value.length > 0 && added === undefined) return [];
    const what = added === undefined ? "an empty list is looser than yours" : `your own list does not have "${added}"`;
    return [{ place, message: `a project can only tighten the policy, and ${what}` }];
  },
  "policy.max_actions_per_hour": ({ value, place, written }, { policy: { maxActionsPerHour } }) =>
    maxActionsPerHour !== null && (value ?? Infinity) > maxActionsPerHour
      ? [
          {
            place,
            message:
              `a project can only tighten the policy, and ${value === null ? "no limit" : written} is looser ` +
              `than ${maxActionsPerHour}`,
          },
        ]
      : [],
  "policy.allowed_roots": ({ value }, without, project) =>
    value.flatMap((root, index) => {
      const message = outsideProject(root.value, without, project);
      return message === undefined ? [] : [{ place: root.place, at: `[${index}]`, message }];
    }),
};

function ruleText(entry: string | CommandRule): string {
  return typeof entry === "string" ? entry : entry.rule;
}

/** For settings with one of several words. `words` lists the loosest first. */
function looserWord(
  { value, place }: Located<string>,
  without: string,
  words: readonly string[],
): readonly Complaint[] {
  if (words.indexOf(value) >= words.indexOf(without)) return [];
  return [{ place, message: `a project can only tighten the policy, and "${value}" is looser than "${without}"` }];
}

/** For settings whose value true is stricter. */
function looserThan({ value, place }: Located<boolean>, without: boolean): readonly Complaint[] {
  if (value || !without) return [];
  return [{ place, message: "a project can only tighten the policy, and false is looser than true" }];
}

/** Replaces paths with their real paths, which are those that were checked. */
export function withRealPaths(given: Given, { home, folder }: ProjectFolder): Given {
  const real = (path: Located<string>) => ({
    ...path,
    value: realPath(absolutePath(path.value, { workDir: folder, home })),
  });
  const workDir = given["tools.work_dir"];
  const roots = given["policy.allowed_roots"];
  return {
    ...given,
    ...(workDir && { "tools.work_dir": real(workDir) }),
    ...(roots && { "policy.allowed_roots": { ...roots, value: roots.value.map(real) } }),
  };
}

/** Returns a complaint if a path is not in the project's folder, or is in a path that the user has forbidden. */
function outsideProject(path: string, { policy }: Settings, { folder, home }: ProjectFolder): string | undefined {
  const real = realPath(absolutePath(path, { workDir: folder, home }));
  if (!isInside(real, folder)) return "a project can only open up its own folder, and this leads out of it";
  const forbidden = policy.forbiddenPaths
    .map((each) => realPath(absolutePath(each, { workDir: folder, home })))
    .find((each) => isInside(each, folder) && isInside(real, each));
  return forbidden && "a project can only tighten the policy, and you have forbidden this path";
}

/** Follows every link. A path that does not exist yet is appended to the real path of its nearest existing folder. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path === dirname(path) ? path : join(realPath(dirname(path)), basename(path));
  }
}
