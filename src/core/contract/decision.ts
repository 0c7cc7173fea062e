import type { Approvers, Risk } from "./approvers.ts";
import { type Containment, narrower } from "./containment.ts";
import type { Env } from "./effect.ts";
import type { Json } from "./schema.ts";

export type Verdict = "allow" | "ask" | "deny";
export type { Risk };

/** A policy's decision on a call. */
export interface Decision {
  readonly verdict: Verdict;
  readonly risk: Risk;
  /** The reason, for the model and for people: what prevents the call and what would be accepted. */
  readonly reason?: string;
  /** The name of the rule that decided: "workspace", "forbidden_paths", … */
  readonly rule?: string;
  /** The parts of the call that need approval. If each was granted for longer, the call is not asked about again. */
  readonly scopes?: readonly Scope[];
  /**
   * Real paths that stay closed, with everything in them, although a folder above them is read or written: paths that
   * the policy forbids, or would ask about if named.
   */
  readonly except?: readonly string[];
  /** What runs instead of plain commands, whole or in parts. A command without an entry runs as written. */
  readonly runs?: readonly CommandRun[];
  /**
   * How a command runs on a backend with a sandbox, with real paths. Absent: contained, without access besides the
   * workspace.
   */
  readonly within?: Containment;
  /** For a question: which risk can be approved from which channel. Default: every risk from every channel. */
  readonly approvers?: Approvers;
  /** The decisions on the parts of a command's script, in order. */
  readonly parts?: readonly DecisionPart[];
}

/** A command as the policy rewrote it, so that nothing depends on how a shell reads the text. */
export type CommandRun = {
  /** The declared command that it replaces, and its real folder. */
  readonly command: string;
  readonly folder: string;
  /** A real path. */
  readonly cwd: string;
} & (
  | {
      readonly argv: readonly [program: string, ...args: string[]];
      /** Variables that replace those of other commands. */
      readonly env: Env;
    }
  /** Replaces the script after the shell's `-c`. */
  | { readonly script: string }
);

/** The decision on one part of a command. */
export interface DecisionPart extends Omit<Decision, "scopes" | "except" | "runs" | "within" | "parts" | "approvers"> {
  /** The text of the part. Raw: escape it for display. */
  readonly text: string;
}

/** Something that a person can grant for longer than one call. */
export interface Scope {
  /** The text for people: "npm test", "git push origin main". Raw: escape it for display. */
  readonly label: string;
  /** Equal keys are the same grant. The key includes everything that the grant is bound to. */
  readonly key: string;
  /** The host that the scope opens to a contained command, in the form of `SandboxAccess.network`. */
  readonly host?: string;
  /** The longest grant that a person may choose. "once": the scope is asked about each time. Default: no limit. */
  readonly upTo?: "session" | "once";
  /** True: only a person's own answer counts. `--yes` refuses. Default false. */
  readonly onlyPerson?: boolean;
}

const STRICTNESS: { readonly [V in Verdict]: number } = { allow: 0, ask: 1, deny: 2 };

const DANGER: { readonly [R in Risk]: number } = { low: 0, medium: 1, high: 2 };

/**
 * Combines two decisions. The stricter verdict counts, with its reason; for equal verdicts the higher risk, otherwise
 * the first decision. Scopes and exceptions of both are kept. `undefined` means no decision.
 */
export function stricter(one: Decision | undefined, other: Decision | undefined): Decision | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const difference = STRICTNESS[other.verdict] - STRICTNESS[one.verdict] || DANGER[other.risk] - DANGER[one.risk];
  const { scopes: _, runs: __, ...decision } = difference > 0 ? other : one;
  const scopes = scopesOfBoth(one, other);
  const except = [...new Set([...(one.except ?? []), ...(other.except ?? [])])];
  const runs = ofBoth(one.runs, other.runs);
  const within = one.within && other.within ? narrower(one.within, other.within) : (one.within ?? other.within);
  const parts = ofBoth(one.parts, other.parts);
  return {
    ...decision,
    ...(scopes !== undefined && { scopes }),
    ...(except.length > 0 && { except }),
    ...(runs.length > 0 && { runs }),
    ...(within !== undefined && { within }),
    ...(parts.length > 0 && { parts }),
  };
}

/** A decision that asks without scopes asks about the whole call: then the result has no scopes. */
function scopesOfBoth(one: Decision, other: Decision): readonly Scope[] | undefined {
  if (one.verdict !== "ask") return other.verdict === "ask" ? other.scopes : undefined;
  if (other.verdict !== "ask") return one.scopes;
  return one.scopes && other.scopes && ofBoth(one.scopes, other.scopes);
}

/** The entries of both lists. Two policies that judge alike give each entry once. */
function ofBoth<T>(one: readonly T[] = [], other: readonly T[] = []): readonly T[] {
  if (one.length === 0 || other.length === 0) return one.length === 0 ? other : one;
  const known = new Set(one.map((entry) => JSON.stringify(entry)));
  return [...one, ...other.filter((entry) => !known.has(JSON.stringify(entry)))];
}

/** What a person filled into a form: a value for some of the form's fields. It is not checked against the form. */
export interface FormInput {
  readonly [field: string]: Json;
}

/** All arguments of a call as a person has changed them. */
export interface EditedInput {
  readonly [argument: string]: Json;
}

/** A person's answer. A refusal may have a reason. */
export type Approval =
  /**
   * This call only. `input`: what the person filled in, where an effect has a `form`. `edited`: the arguments as the
   * person has changed them. The changed call is checked and judged from the start, and the model is told.
   */
  | { readonly answer: "once"; readonly input?: FormInput; readonly edited?: EditedInput }
  /**
   * Grants all scopes of the decision. "session": in this toolkit. "always": in this workspace, also later and for
   * other processes. `until`: the end of the grant, in milliseconds since 1970.
   */
  | { readonly answer: "session" | "always"; readonly until?: number }
  | { readonly answer: "refuse"; readonly reason?: string };
