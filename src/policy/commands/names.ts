import { posix } from "node:path";
import type { Backend } from "../../contract/backend.ts";
import type { SandboxAccess } from "../../contract/containment.ts";
import { type Decision, stricter } from "../../contract/decision.ts";
import { absolutePath, isInside } from "../../util/paths.ts";
import { type LookUps, TOO_LONG_PATH, isTooLong } from "../look-ups.ts";
import type { PathJudge } from "../paths.ts";
import { isListed } from "../plain/programs.ts";
import { protectedFile } from "../protected.ts";
import { sensitive } from "../sensitive.ts";
import type { FoundScript } from "./find-commands.ts";
import { type NamedPath, namedPaths } from "./named-paths.ts";
import { gitWords } from "./found-words.ts";
import type { FoundCommand } from "./search.ts";

/** Names of a script that are looked up, … */
const MOST_NAMES = 600;
/** … and names of folders in all of them: each that does not exist is a look-up of its own. */
const MOST_COMPONENTS = 4_000;

/** Path rules that the sandbox itself enforces for a contained command. */
const CONTAINED: ReadonlySet<string | undefined> = new Set(["outside", "hard_link", "path_text"]);

export interface JudgedNames {
  /** The strictest decision of the path rules on the files that a command names. `undefined`: no objection. */
  of(command: FoundCommand): Decision | undefined;
  /** The same decision for redirections that belong to no command. */
  readonly ofScript: Decision | undefined;
  /** Why some of its names were not checked, with the next step; `undefined` if all were. */
  readonly tooLong: string | undefined;
  /** What the sandbox opens for the files that are named, where the command is allowed in the end. Paths are real. */
  readonly needs: SandboxAccess;
}

interface NamesOptions {
  readonly judgePath: PathJudge;
  readonly look: LookUps;
  readonly contained: boolean;
  readonly folder: string;
  readonly backend: Pick<Backend, "home" | "sandbox">;
}

/** Judges the literal words that name files. A protected file counts as written to, except by listed programs. */
export async function judgeNames(
  found: FoundScript,
  { judgePath, look, contained, folder, backend }: NamesOptions,
): Promise<JudgedNames> {
  const hidden = backend.sandbox?.hidden ?? [];
  const read = new Set<string>();
  const write = new Set<string>();

  const judge = async (named: NamedPath): Promise<Decision | undefined> => {
    const { path: written, use, command, folder: from = "" } = named;
    const path = absolutePath(written, { workDir: posix.resolve(folder, from), home: backend.home });
    if (isTooLong(path)) return TOO_LONG;
    const real = await look.realPath(path);
    const target = typeof real === "string" ? real : path;
    const isProtected = [path, target].some((each) => protectedFile(each) !== undefined);
    const isWritten = use === "write" || (isProtected && !isListed(command?.words[0]?.value ?? ""));
    const isHidden = hidden.some((each) => isInside(target, each));
    const decision = await judgePath(isWritten ? "write" : "read", path, target);
    if (!contained) return against(decision);
    if (decision.verdict === "deny" && decision.rule !== "path_text") return decision;
    const isSensitive = [path, target].some((each) => sensitive(each) !== undefined);
    if (isHidden || isSensitive) read.add(target);
    const isHeld = isWritten && (isProtected || decision.rule === "protected_files");
    if (isHeld || (isWritten && isSensitive)) write.add(target);
    const isSpecial = isHidden || isSensitive || isHeld;
    return CONTAINED.has(decision.rule) && !isSpecial ? undefined : against(decision);
  };

  // The target of ".." is unknown if the script may have changed its folder.
  const names = namedPaths(found, MOST_NAMES + 1).filter(
    ({ path, folder: from }) => from !== undefined || !path.startsWith(".."),
  );
  // These commands of git write its configuration.
  const configured = (contained ? found.commands : []).flatMap((command) =>
    CONFIGURING.filter(([, words]) => words.test(gitWords(command.words).join(" "))).map(([path]): NamedPath => {
      return { path, use: "write", folder: command.folder, command };
    }),
  );
  const all = [...configured, ...names];
  const looked = withinBudget(all);
  const judged = await Promise.all(
    looked.map(async (named) => ({ command: named.command, decision: await judge(named) })),
  );
  const strictest = (command: FoundCommand | undefined) =>
    judged
      .filter((each) => each.command === command)
      .reduce<Decision | undefined>((most, { decision }) => stricter(most, decision), undefined);
  const git = gitNeeds(found);
  return {
    of: strictest,
    ofScript: strictest(undefined),
    tooLong:
      looked.length < all.length ? `it names more files than are checked (${looked.length}); split it` : undefined,
    needs: { read: [...read], write: [...write], ...(git !== undefined && { git }) },
  };
}

const TOO_LONG: Decision = {
  verdict: "ask",
  risk: "medium",
  rule: "path_text",
  reason: `Command requires approval: a path in it is not looked up, since it has ${TOO_LONG_PATH}; use a shorter one`,
};

function withinBudget(names: readonly NamedPath[]): readonly NamedPath[] {
  let components = 0;
  const end = names.findIndex(({ path, folder = "" }, at) => {
    components += path.split("/").length + folder.split("/").length;
    return at >= MOST_NAMES || components > MOST_COMPONENTS;
  });
  return end === -1 ? names : names.slice(0, end);
}

/** Files of a repository's configuration, by the git commands that write them. */
const CONFIGURING: readonly (readonly [file: string, words: RegExp])[] = [
  [".git/config", /^remote( -\S+)* (add|remove|rm|rename|set-url|set-branches|set-head)( |$)/],
  [".git/config", /^submodule( -\S+)* (add|set-url|set-branch|init|update|sync|deinit|absorbgitdirs)( |$)/],
  [".gitmodules", /^submodule( -\S+)* (add|set-url|set-branch)( |$)/],
  [".git/config", /^branch .*(?<= )(-[a-z]*[mMcCu]|--(move|copy|set-upstream|unset-upstream|edit-description))/s],
  [".git/config", /^config(?!.* --global( |$))(( -\S*)* (?!-).*){2}/s],
  [".git/config", /^config(?!.* --global( |$)).* --(unset|add|replace-all|remove-section|rename-section|edit)/s],
];

/** Subcommands of git that begin, change or end a rebase, cherry-pick, revert or bisect. */
const SEQUENCING = /^(am|bisect|checkout|cherry-pick|commit|merge|pull|rebase|reset|revert|stash|switch)$/;

function gitNeeds({ commands }: FoundScript): SandboxAccess["git"] {
  const seen = commands.map(({ words }) => gitWords(words)).filter(([subcommand = ""]) => SEQUENCING.test(subcommand));
  if (seen.length === 0) return undefined;
  return {
    exec: seen.flatMap((words) =>
      words.flatMap((word, at) => {
        if (word === "-x" || word === "--exec") return words[at + 1] ?? [];
        return /^(?:--exec=|-x(?=.))([^]*)$/.exec(word)?.[1] ?? [];
      }),
    ),
  };
}

function against(decision: Decision): Decision | undefined {
  return decision.verdict === "allow" ? undefined : decision;
}
