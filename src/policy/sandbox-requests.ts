import { posix } from "node:path";
import type { Backend } from "../core/contract/backend.ts";
import type { Containment, SandboxAccess } from "../core/contract/containment.ts";
import { type Decision, type Scope, stricter } from "../core/contract/decision.ts";
import type { Effect } from "../core/contract/effect.ts";
import { type HostRule, hostRule, hostRules } from "../machine/network/hosts.ts";
import type { UrlJudge } from "../machine/network/url.ts";
import { absolutePath, isInside } from "../core/util/paths.ts";
import type { LookUps } from "./look-ups.ts";
import { pathJudge } from "./paths.ts";
import { DEFAULT_FORBIDDEN_PATHS, type PolicySettings, askingOutside } from "./policy-settings.ts";

type Exec = Extract<Effect, { kind: "exec" }>;
type Use = "read" | "write";

/** Judges what a command asks the sandbox for. `undefined`: the command asks for nothing. */
export type SandboxRequestJudge = (effect: Exec, look: LookUps) => Promise<Decision | undefined>;

const ANY_HOST = "*";

/**
 * Creates the judge of what commands request from the sandbox. Each host and folder is a separate question, and a grant
 * covers it for every contained command. A forbidden home does not forbid a folder in it that the command names.
 */
export function sandboxRequestJudge(
  settings: PolicySettings,
  backend: Backend,
  own: readonly string[],
): SandboxRequestJudge {
  const { autonomy = "supervised", network = {}, forbiddenPaths = DEFAULT_FORBIDDEN_PATHS } = settings;
  const allowed = hostRules(network.allowHosts ?? [], "network.allowHosts");
  const judgeWith = (forbidden: readonly string[]) =>
    pathJudge({ ...askingOutside(settings), wholeMachine: false, forbiddenPaths: forbidden }, backend, own, "commands");
  const usual = judgeWith(forbiddenPaths);
  const inHome = judgeWith(forbiddenPaths.filter((path) => !isInside(backend.home, absolutePath(path, backend))));
  let judge: Promise<UrlJudge> | undefined;

  const judgeHost = async (text: string): Promise<Decision> => {
    const label = text === ANY_HOST ? "any public host" : text;
    const askFor = (risk: "medium" | "high", doubt = "") =>
      ask("needs", risk, `Reaching ${label} from the sandbox requires approval${doubt}`, {
        label: `${label}, from the sandbox`,
        key: JSON.stringify(["sandbox", "network", text]),
        host: text,
        ...(text === ANY_HOST && { upTo: "session" as const }),
      });
    if (text === ANY_HOST) return askFor("high");
    const rule = hostRule(text);
    if (typeof rule === "string") return deny("needs", `network: ${rule}, or "*"; got ${JSON.stringify(text)}`);
    judge ??= import("../machine/network/url.ts").then(({ urlJudge }) => urlJudge(network));
    const judged = (await judge)(urlOf(rule));
    if (judged.verdict === "refused") return deny(judged.rule, judged.reason);
    if (allowed.some((each) => each.text === text) || (judged.verdict === "named" && !text.startsWith("*.")))
      return { verdict: "allow", risk: "low", rule: "allow_hosts" };
    const doubt = judged.verdict === "reachable" ? judged.doubt : undefined;
    return doubt === undefined ? askFor("medium") : askFor("high", ` (${doubt})`);
  };

  const judgeFolder = async (use: Use, path: string, command: string, look: LookUps): Promise<Decision> => {
    const followed = await look.realPath(absolutePath(path, backend));
    const real = followed instanceof Error ? path : followed;
    if (real === "/" && use === "write")
      return deny("whole_system", "write: / is the whole system. Ask for the folder that the command needs");
    const isOfHome = [absolutePath(path, backend), real].every((each) => isInside(each, backend.home));
    const judged = await (isOfHome ? inHome : usual)(look)(use, path, undefined);
    if (judged.verdict !== "ask") return judged;
    const wide = await widthOf(real, backend, look);
    const risk = wide === undefined ? judged.risk : "high";
    const doubt = wide === undefined ? "" : `; it is ${wide}`;
    const reason = `${judged.reason ?? path}${doubt} (a command in the sandbox would ${use} there)`;
    const { upTo, onlyPerson } = judged.scopes?.[0] ?? {};
    // A key is opened only for the command that was shown.
    const isKey = onlyPerson === true;
    return ask(judged.rule ?? "needs", risk, reason, {
      label: `${use} ${real}, from the sandbox${isKey ? `, for ${command}` : ""}`,
      key: JSON.stringify(["sandbox", use, real, ...(isKey ? [command] : [])]),
      ...(upTo !== undefined && { upTo }),
      ...(isKey && { onlyPerson }),
    });
  };

  /** Full autonomy needs no question about hosts or about leaving the sandbox, only about paths outside it. */
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
    const { lacks } = backend.sandbox ?? {};
    if ((within.network ?? []).length > 0 && lacks?.what.includes("network") === true) {
      const why = `the sandbox on ${lacks.place} has no network, and Handrail's proxy cannot be reached from there`;
      return deny(
        "needs",
        `network: ${why}. Run the command outside the sandbox, with sandbox: false: a person is asked`,
      );
    }
    let all: Decision | undefined;
    for (const host of within.network ?? []) all = stricter(all, unaskedInFull(await judgeHost(host)));
    for (const path of within.write ?? []) all = stricter(all, await judgeFolder("write", path, command, look));
    for (const path of within.read ?? []) all = stricter(all, await judgeFolder("read", path, command, look));
    return all;
  };
}

/** How many entries of a folder are looked at for projects. */
const MOST_LOOKED_AT = 100;

/** The name of a large folder to open: "your home". `undefined`: the folder is not large. */
async function widthOf(
  real: string,
  { workDir, home }: Pick<Backend, "workDir" | "home">,
  look: LookUps,
): Promise<string | undefined> {
  if (real === home) return "your home";
  if (isInside(home, real)) return "a folder with your home in it";
  if (isInside(workDir, real)) return "a folder with other projects next to the workspace";
  const folders = (await look.list(real)).filter(({ kind }) => kind === "folder").slice(0, MOST_LOOKED_AT);
  const inside = await Promise.all(
    folders.map(({ name }) => look.info(posix.join(real, name, ".git")).catch(() => undefined)),
  );
  return inside.filter((each) => each !== undefined).length > 1 ? "a folder of several projects" : undefined;
}

/** The request with real paths. Rejects if a path cannot be resolved. */
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

export function withMore(within: Containment, more: SandboxAccess): Containment {
  if (within === "none") return within;
  const both = (one: readonly string[] = [], other: readonly string[] = []) => [...new Set([...one, ...other])];
  return {
    network: both(within.network, more.network),
    write: both(within.write, more.write),
    read: both(within.read, more.read),
    ...(more.readOnly === true && { readOnly: true }),
    ...(more.git === true && { git: true }),
    ...(within.hideSensitive === true && { hideSensitive: true }),
  };
}

/** The request before its hosts are approved for this call: if it has hosts, it hides sensitive files. */
export function beforeApproval(within: Containment): Containment {
  if (within === "none" || (within.network ?? []).length === 0) return within;
  return { ...within, hideSensitive: true };
}

/**
 * The request after a person approves the decision's scopes. If these include all of its hosts, or are the whole call
 * (`undefined`), sensitive files are visible.
 */
export function afterApproval({ within, scopes }: Pick<Decision, "within" | "scopes">): Containment | undefined {
  if (within === undefined || within === "none") return within;
  const { hideSensitive: _, ...shown } = within;
  const isAsked = (host: string) => scopes === undefined || scopes.some((scope) => scope.host === host);
  return (within.network ?? []).every(isAsked) ? shown : within;
}

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
