import type { Backend } from "../contract/backend.ts";
import type { Containment, Needs } from "../contract/containment.ts";
import { type Decision, type Scope, stricter } from "../contract/decision.ts";
import type { Effect } from "../contract/effect.ts";
import { type HostRule, hostRule, hostRules } from "../network/hosts.ts";
import type { UrlJudge } from "../network/url.ts";
import { absolutePath, isInside } from "../util/paths.ts";
import type { LookUps } from "./look-ups.ts";
import { type PathJudge, pathJudge } from "./paths.ts";
import { DEFAULT_FORBIDDEN_PATHS, type PolicySettings } from "./settings.ts";

type Exec = Extract<Effect, { kind: "exec" }>;

/** Judges what a command asks the sandbox for. `undefined`: it asks for nothing. */
export type NeedsJudge = (effect: Exec, look: LookUps) => Promise<Decision | undefined>;

/** Every public host. */
const ANY_HOST = "*";

/**
 * What a command asks the sandbox for is asked about, each host and each folder by itself, and can be granted as that
 * for every contained command. Named hosts run unasked where `network.allowHosts` has them. What is forbidden stays so;
 * but homes as a whole, which the list has so that nobody walks about in them, do not forbid the folder that is named
 * here.
 */
export function needsJudge(settings: PolicySettings, backend: Backend, own: readonly string[]): NeedsJudge {
  const { autonomy = "supervised", network = {}, forbiddenPaths = DEFAULT_FORBIDDEN_PATHS } = settings;
  const allowed = hostRules(network.allowHosts ?? [], "network.allowHosts");
  const pathJudgeBy = pathJudge(
    {
      ...settings,
      workspaceOnly: false,
      forbiddenPaths: forbiddenPaths.filter((path) => !isInside(backend.home, absolutePath(path, backend))),
    },
    backend,
    own,
    "commands",
  );
  let judge: Promise<UrlJudge> | undefined;

  const judgeHost = async (text: string): Promise<Decision> => {
    if (text === ANY_HOST) {
      return ask("needs", "high", "Reaching any public host from the sandbox requires approval", {
        label: "any public host, from the sandbox",
        key: JSON.stringify(["sandbox", "network", ANY_HOST]),
        host: ANY_HOST,
        upTo: "session",
      });
    }
    const rule = hostRule(text);
    if (typeof rule === "string") return deny("needs", `network: ${rule}, or "*"; got ${JSON.stringify(text)}`);
    judge ??= import("../network/url.ts").then(({ urlJudge }) => urlJudge(network));
    const judged = (await judge)(urlOf(rule));
    if (judged.verdict === "refused") return deny(judged.rule, judged.reason);
    if (allowed.some((each) => each.text === text) || (judged.verdict === "named" && !text.startsWith("*."))) {
      return { verdict: "allow", risk: "low", rule: "allow_hosts" };
    }
    const doubt = judged.verdict === "reachable" && judged.doubt !== undefined ? ` (${judged.doubt})` : "";
    return ask(
      "needs",
      doubt === "" ? "medium" : "high",
      `Reaching ${text} from the sandbox requires approval${doubt}`,
      {
        label: `${text}, from the sandbox`,
        key: JSON.stringify(["sandbox", "network", text]),
        host: text,
      },
    );
  };

  const judgeFolder = async (
    use: "read" | "write",
    path: string,
    judgePath: PathJudge,
    look: LookUps,
  ): Promise<Decision> => {
    const judged = await judgePath(use, path, undefined);
    if (judged.verdict !== "ask") return judged;
    const followed = await look.realPath(absolutePath(path, backend));
    const real = followed instanceof Error ? path : followed;
    return ask(
      judged.rule ?? "needs",
      judged.risk,
      `${judged.reason ?? path} (a command in the sandbox would ${use} there)`,
      {
        label: `${use} ${real}, from the sandbox`,
        key: JSON.stringify(["sandbox", use, real]),
      },
    );
  };

  /**
   * Full autonomy is not asked about hosts, nor about leaving the sandbox; about paths outside the workspace it is, as
   * for any tool.
   */
  const unaskedInFull = (decision: Decision): Decision => {
    if (autonomy !== "full" || decision.verdict !== "ask") return decision;
    return { verdict: "allow", risk: decision.risk, ...(decision.rule !== undefined && { rule: decision.rule }) };
  };

  return async ({ command, within }, look) => {
    if (within === undefined) return undefined;
    if (autonomy === "readonly") return deny("autonomy", "Read-only mode: cannot perform 'open the sandbox'");
    if (within === "none") {
      return unaskedInFull(
        ask("sandbox", "high", "Running outside the sandbox requires approval", {
          label: `${command} (outside the sandbox)`,
          key: JSON.stringify(["sandbox", "none", command]),
        }),
      );
    }
    const judgePath = pathJudgeBy(look);
    let all: Decision | undefined;
    for (const host of within.network ?? []) all = stricter(all, unaskedInFull(await judgeHost(host)));
    for (const path of within.write ?? []) all = stricter(all, await judgeFolder("write", path, judgePath, look));
    for (const path of within.read ?? []) all = stricter(all, await judgeFolder("read", path, judgePath, look));
    return all;
  };
}

/**
 * What it asked for, with its paths real; what does not exist yet keeps its name. Rejects where one cannot be followed.
 */
export async function realNeeds(
  within: Containment | undefined,
  backend: Backend,
  look: LookUps,
): Promise<Containment> {
  if (within === undefined || within === "none") return within ?? {};
  const follow = async (path: string): Promise<string> => {
    const real = await look.realPath(absolutePath(path, backend));
    if (real instanceof Error) throw real;
    return real;
  };
  const real = (paths: readonly string[] = []) => Promise.all(paths.map(follow));
  return { network: within.network ?? [], write: await real(within.write), read: await real(within.read) };
}

/** Both together. */
export function withMore(within: Containment, more: Needs): Containment {
  if (within === "none") return within;
  const both = (one: readonly string[] = [], other: readonly string[] = []) => [...new Set([...one, ...other])];
  return {
    network: both(within.network, more.network),
    write: both(within.write, more.write),
    read: both(within.read, more.read),
    ...(more.readOnly === true && { readOnly: true }),
    ...(more.git !== undefined && { git: more.git }),
    ...(within.hideSensitive === true && { hideSensitive: true }),
  };
}

/**
 * The same where nobody has approved its hosts for this very call: with hosts it does not see the sensitive files of
 * the workspace.
 */
export function beforeApproval(within: Containment): Containment {
  if (within === "none" || (within.network ?? []).length === 0) return within;
  return { ...within, hideSensitive: true };
}

/**
 * The same if a person approves the scopes of the decision, which are those that they are asked about: where these have
 * all of its hosts, or are the whole call (`undefined`), it sees the sensitive files.
 */
export function afterApproval({ within, scopes }: Pick<Decision, "within" | "scopes">): Containment | undefined {
  if (within === undefined || within === "none") return within;
  const { hideSensitive: _, ...shown } = within;
  const isAsked = (host: string) => scopes === undefined || scopes.some((scope) => scope.host === host);
  return (within.network ?? []).every(isAsked) ? shown : within;
}

/** A rule's host as a URL to be judged: `*.example.org` by the name that the others are below. */
function urlOf({ text, port }: HostRule): string {
  const host = text.startsWith("*.") ? text.slice(2) : text;
  return `${port === 80 ? "http" : "https"}://${host}/`;
}

function ask(rule: string, risk: "medium" | "high" | "low", reason: string, scope: Scope): Decision {
  return { verdict: "ask", risk, rule, reason, scopes: [scope] };
}

function deny(rule: string, reason: string): Decision {
  return { verdict: "deny", risk: "high", rule, reason };
}
