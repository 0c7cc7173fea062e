import { type Containment, narrower } from "./containment.ts";
import type { Env } from "./effect.ts";

export type Verdict = "allow" | "ask" | "deny";
export type Risk = "low" | "medium" | "high";

/** What a policy says of a call. */
export interface Decision {
  readonly verdict: Verdict;
  readonly risk: Risk;
  /** Why, for the model and for people: what is in the way and what would be accepted. */
  readonly reason?: string;
  /** The rule that decided, by name: "workspace", "forbidden_paths", … */
  readonly rule?: string;
  /** What of the call was asked about, part by part: a person who allows all of it for longer is asked no more. */
  readonly scopes?: readonly Scope[];
  /**
   * Real paths that stay closed, with all under them, although a folder above them is read or written: what the policy forbids, or would ask
   * about, where it is named itself.
   */
  readonly except?: readonly string[];
  /** What runs in place of commands that are plain, as a whole or in parts. A command that is not in it runs as it is written. */
  readonly runs?: readonly CommandRun[];
  /** How a command is run where there is a sandbox, paths real. Left out: contained, with nothing beside the workspace. */
  readonly within?: Containment;
  /** Of a command: what was said of each part of its script, in the order of the script. */
  readonly parts?: readonly DecisionPart[];
}

/** A command as the policy wrote it anew, so that nothing in it depends on how a shell reads the text. */
export type CommandRun = {
  /** The command that it stands for, as the call declared it, and the real folder of that. */
  readonly command: string;
  readonly folder: string;
  /** Real. */
  readonly cwd: string;
} & (
  | {
      readonly argv: readonly [program: string, ...args: string[]];
      /** Variables that it gets instead of those of other commands. */
      readonly env: Env;
    }
  /** Takes the place of the script behind the `-c` of the shell that the call names. */
  | { readonly script: string }
);

/** What was said of one part of a command. */
export interface DecisionPart extends Omit<Decision, "scopes" | "except" | "runs" | "within" | "parts"> {
  /** The part, as it is written. Raw: whoever shows it escapes it. */
  readonly text: string;
}

/** Something a person can allow for longer than one call. */
export interface Scope {
  /** As people are shown it: "npm test", "git push origin main". Raw: whoever shows it escapes it. */
  readonly label: string;
  /** Equal keys are the same permission; it holds all that the permission is bound to. */
  readonly key: string;
  /** The host that it lets a contained command reach, as `Needs.network` has it. */
  readonly host?: string;
  /** It is not granted for longer than the session. Default: for as long as the person says. */
  readonly upTo?: "session";
}

const STRICTNESS: { readonly [V in Verdict]: number } = { allow: 0, ask: 1, deny: 2 };

const DANGER: { readonly [R in Risk]: number } = { low: 0, medium: 1, high: 2 };

/**
 * Both decisions in one: the stricter verdict with its reason, of two alike that of the higher risk, else the first. What is asked about by
 * both is asked about together, and what either leaves out stays out. `undefined` is no decision.
 */
export function stricter(one: Decision | undefined, other: Decision | undefined): Decision | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const difference = STRICTNESS[other.verdict] - STRICTNESS[one.verdict] || DANGER[other.risk] - DANGER[one.risk];
  const { scopes: _, runs: __, ...decision } = difference > 0 ? other : one;
  const scopes = scopesOfBoth(one, other);
  const except = [...new Set([...(one.except ?? []), ...(other.except ?? [])])];
  const runs = [...(one.runs ?? []), ...(other.runs ?? [])];
  const within = one.within && other.within ? narrower(one.within, other.within) : (one.within ?? other.within);
  const parts = [...(one.parts ?? []), ...(other.parts ?? [])];
  return {
    ...decision,
    ...(scopes !== undefined && { scopes }),
    ...(except.length > 0 && { except }),
    ...(runs.length > 0 && { runs }),
    ...(within !== undefined && { within }),
    ...(parts.length > 0 && { parts }),
  };
}

/** One that asks without scopes asks about the whole call, which then is the scope. */
function scopesOfBoth(one: Decision, other: Decision): readonly Scope[] | undefined {
  if (one.verdict !== "ask") return other.verdict === "ask" ? other.scopes : undefined;
  if (other.verdict !== "ask") return one.scopes;
  return one.scopes && other.scopes && [...one.scopes, ...other.scopes];
}

/** What a person answered. A refusal may say why. */
export type Approval =
  /** This call only. */
  | { readonly answer: "once" }
  /**
   * The same again in this toolkit ("session"), or in this workspace, also later and by other processes ("always"), unasked: all scopes of the
   * decision. `until`: no longer than this, in milliseconds since 1970.
   */
  | { readonly answer: "session" | "always"; readonly until?: number }
  | { readonly answer: "refuse"; readonly reason?: string };
