import { posix } from "node:path";
import type { Backend } from "../../core/contract/backend.ts";
import type { SandboxAccess } from "../../core/contract/containment.ts";
import { type Decision, type Scope, stricter } from "../../core/contract/decision.ts";
import { absolutePath, isInside } from "../../core/util/paths.ts";
import { type LookUps, TOO_LONG_PATH, isTooLong } from "../look-ups.ts";
import type { PathJudge } from "../paths.ts";
import { isListed } from "../plain/programs.ts";
import { isSecretOfProject } from "../../machine/places/keys.ts";
import { pathKinds } from "../../machine/places/paths.ts";
import { REPOSITORY } from "../../machine/places/start-up.ts";
import type { FoundScript } from "./find-commands.ts";
import { type NamedPath, namedPaths } from "./named-paths.ts";
import { withFiles } from "../../machine/git/reader.ts";
import { repositoryFiles } from "../../machine/git/inert.ts";
import { gitFolder, gitWords } from "./found-words.ts";
import { type GitWrite, gitWrites, limitsOf, madeByGit, setsName } from "./git-writes.ts";
import type { Need } from "./opening.ts";
import type { FoundCommand } from "./search.ts";

/** The maximum number of names of a script that are looked up. */
const MOST_NAMES = 600;
/** The maximum number of folder names in all looked-up paths: each folder that does not exist costs a look-up. */
const MOST_COMPONENTS = 4_000;

/** Path rules that the sandbox itself enforces for a contained command. */
const CONTAINED: ReadonlySet<string | undefined> = new Set(["outside", "hard_link", "path_text"]);

export interface JudgedNames {
  /** The strictest decision of the path rules on the files that a command names. `undefined`: they do not object. */
  of(command: FoundCommand): Decision | undefined;
  /** The same decision for redirections that belong to no command. */
  readonly ofScript: Decision | undefined;
  /** Why some names of the script were not checked, with the next step; `undefined` if all were checked. */
  readonly tooLong: string | undefined;
  /** What the sandbox opens for the named files if the command is allowed in the end. */
  readonly needs: readonly Need[];
  readonly git: SandboxAccess["git"];
}

interface NamesOptions {
  readonly judgePath: PathJudge;
  readonly look: LookUps;
  readonly contained: boolean;
  readonly folder: string;
  readonly backend: Pick<Backend, "home" | "workDir" | "sandbox" | "files" | "outside">;
}

/** Judges the literal words that name files. A protected file counts as written to, unless by a listed program. */
export async function judgeNames(
  found: FoundScript,
  { judgePath, look, contained, folder, backend }: NamesOptions,
): Promise<JudgedNames> {
  const kindOf = pathKinds({ workDir: folder, home: backend.home }, backend.sandbox?.hidden);
  const needs: Need[] = [];

  const judge = async (named: Named): Promise<Decision | undefined> => {
    const { path: written, use, command, folder: from = "" } = named;
    const path = absolutePath(written, { workDir: posix.resolve(folder, from), home: backend.home });
    if (isTooLong(path)) return TOO_LONG;
    const real = await look.realPath(path);
    const target = typeof real === "string" ? real : path;
    const isStartUp = kindOf("write", { path, real: target })?.kind === "start-up";
    const isReader = isListed(command?.words[0]?.value ?? "") || LOOKS.test(gitWords(command?.words ?? [])[0] ?? "");
    const key = kindOf("read", { path, real: target });
    // Any program may write a file that it names; a key in the user's home counts as read.
    const isWritten = use === "write" || (isStartUp && !isReader && key?.kind !== "key");
    const decision = await judgePath(isWritten ? "write" : "read", path, target);
    if (!contained) return against(decision);
    if (decision.verdict === "deny" && decision.rule !== "path_text") return decision;
    if (decision.rule === "sensitive_files" && !(await holdsSecret(target))) return undefined;
    const need = { command, path: target, isSure: use === "write" || isReader };
    const mustOpen = key?.kind === "key" || !isInside(target, backend.workDir);
    if (key !== undefined) needs.push({ ...need, use: "read", holds: mustOpen ? key.holds : undefined });
    const isHeld = isWritten && (isStartUp || decision.rule === "protected_files");
    if (isHeld || (isWritten && key !== undefined))
      needs.push({
        ...{ ...need, use: "write", holds: isHeld || mustOpen ? (named.holds ?? START_UP) : undefined },
        ...(named.how === "aside" && { isAside: true }),
        ...(named.isInert === true && named.isUnasked === true && { isInert: true }),
      });
    if (CONTAINED.has(decision.rule) && key === undefined && !isHeld) return undefined;
    if (named.isUnasked === true) return undefined;
    const asked = against(decision);
    return named.limits === undefined || asked?.scopes === undefined
      ? asked
      : { ...asked, scopes: asked.scopes.map(({ label, key: of }) => ({ label, key: of, ...named.limits })) };
  };

  /** Otherwise a question would protect nothing: the file does not exist yet, or a package brings it (certificates). */
  const holdsSecret = async (real: string): Promise<boolean> => {
    if (!isInside(real, backend.workDir)) return true;
    // The location of the workspace itself does not count, only what is in it.
    return (
      isSecretOfProject(real.slice(backend.workDir.length)) && (await look.infoAt(real).catch(() => true)) !== undefined
    );
  };

  const worksIn = (command: FoundCommand) => posix.resolve(folder, command.folder ?? "", gitFolder(command.words));
  const made = found.commands.flatMap((command) => {
    const target = madeByGit(command);
    return target === undefined ? [] : [posix.resolve(worksIn(command), target)];
  });
  const configuredBy = async (command: FoundCommand): Promise<readonly Named[]> => {
    const writes = gitWrites(command);
    if (writes.length === 0) return [];
    const at = worksIn(command);
    const files = await withFiles(backend.outside ?? backend.files, (reader) =>
      repositoryFiles(reader, at, backend.home),
    );
    // A repository that the script makes is not read-only while it runs.
    if (files === undefined || made.some((root) => isInside(at, root) && root !== files.top)) return [];
    const isInert = files.isInert && command.words.every(({ value }) => value !== undefined);
    return writes.flatMap(({ file, how }): readonly Named[] => {
      const isFree = how === "unasked" || how === "aside";
      const isUnasked = isFree && (isInert || setsName(command));
      if (how === "aside" && !isInert) return [];
      return [
        {
          path: files[file],
          folder: command.folder,
          use: "write",
          command,
          limits: limitsOf(how),
          isUnasked,
          isInert,
          how,
          holds: REPOSITORY,
        },
      ];
    });
  };

  // The target of ".." is unknown if the script may have changed its folder.
  const names = namedPaths(found, MOST_NAMES + 1).filter(
    ({ path, folder: from }) => from !== undefined || !path.startsWith(".."),
  );
  // These git commands write git's configuration. Their words show what they write, so they can be granted.
  const configured = contained ? (await Promise.all(found.commands.map(configuredBy))).flat() : [];
  const all: readonly Named[] = [...configured, ...names];
  const looked = withinBudget(all);
  const judged = await Promise.all(
    looked.map(async (named) => ({ command: named.command, decision: await judge(named) })),
  );
  const strictest = (command: FoundCommand | undefined) =>
    judged
      .filter((each) => each.command === command)
      .reduce<Decision | undefined>((most, { decision }) => bothReasons(most, decision), undefined);
  return {
    of: strictest,
    ofScript: strictest(undefined),
    tooLong:
      looked.length < all.length ? `it names more files than are checked (${looked.length}); split it` : undefined,
    needs,
    git: found.commands.some(({ words }) => SEQUENCING.test(gitWords(words)[0] ?? "")),
  };
}

interface Named extends NamedPath {
  /** Limits that replace those of the path rules. */
  readonly limits?: Pick<Scope, "upTo" | "onlyPerson">;
  readonly isUnasked?: boolean;
  readonly isInert?: boolean;
  readonly how?: GitWrite["how"];
  readonly holds?: string;
}

const START_UP = "a start-up file";

/** The stricter of two decisions. If both are questions about keys or start-up files, the reason names each. */
function bothReasons(one: Decision | undefined, other: Decision | undefined): Decision | undefined {
  const both = stricter(one, other);
  const reasons = [one, other].map((each) =>
    each?.verdict === "ask" && each.risk === "high" ? each.reason : undefined,
  );
  if (both?.verdict !== "ask" || reasons[0] === undefined || reasons[1] === undefined) return both;
  return { ...both, reason: [...new Set(reasons)].join("; ") };
}

const TOO_LONG: Decision = {
  verdict: "ask",
  risk: "medium",
  rule: "path_text",
  reason: `Command requires approval: a path in it is not looked up, since it has ${TOO_LONG_PATH}; use a shorter one`,
};

function withinBudget(names: readonly Named[]): readonly Named[] {
  let components = 0;
  const end = names.findIndex(({ path, folder = "" }, at) => {
    components += path.split("/").length + folder.split("/").length;
    return at >= MOST_NAMES || components > MOST_COMPONENTS;
  });
  return end === -1 ? names : names.slice(0, end);
}

/** Subcommands of git that only read the files that they name. */
const LOOKS = /^(verify-pack|show-index)$/;

/** Subcommands of git that begin, change or end a rebase, cherry-pick, revert or bisect. */
const SEQUENCING = /^(am|bisect|checkout|cherry-pick|commit|merge|pull|rebase|reset|revert|stash|switch)$/;

function against(decision: Decision): Decision | undefined {
  return decision.verdict === "allow" ? undefined : decision;
}
