import type { Decision, DecisionPart, Risk, Scope } from "../../contract/decision.ts";
import type { Effect } from "../../contract/effect.ts";
import type { Autonomy } from "../../contract/policy.ts";
import { LOOKING_ENVIRONMENT } from "./environment.ts";
import type { Part } from "./part.ts";

/** A part of a script with what is said of it. */
export interface Judged {
  readonly part: Part;
  readonly decision: Decision;
}

/** How the script would run. */
interface Run {
  /** Real, where that is known. */
  readonly folder: string;
  /** What the call adds to the environment. */
  readonly env: NonNullable<Extract<Effect, { kind: "exec" }>["env"]>;
  /** How it outlives the call; "": it does not. */
  readonly background: string;
  readonly autonomy: Autonomy;
  /** No command in it is overlooked. */
  readonly complete: boolean;
}

const VERDICTS = { allow: 0, ask: 1, deny: 2 } as const;
const RISKS: readonly Risk[] = ["low", "medium", "high"];

/** The strictest part's word, of equals the riskiest; and what each part said, for those who ask why. */
export function conclude(judged: readonly Judged[], run: Run): Decision {
  const looks = run.complete && judged.every(onlyLooks);
  if (run.autonomy === "readonly" && !looks) {
    return {
      verdict: "deny",
      risk: "medium",
      rule: "autonomy",
      reason: "Read-only mode: cannot perform 'run a command'",
    };
  }
  const [strictest] = judged.toSorted((one, other) => weight(other.decision) - weight(one.decision));
  const decision: Decision = strictest?.decision ?? { verdict: "allow", risk: "low", rule: "low_risk" };
  const risk = judged.reduce<Risk>(
    (most, { decision: { risk: each } }) => (RISKS.indexOf(each) > RISKS.indexOf(most) ? each : most),
    decision.risk,
  );
  const parts = judged.map(({ part, decision: said }): DecisionPart => ({ ...said, text: part.text }));
  const asked = judged.filter(({ decision: { verdict } }) => verdict === "ask");
  return {
    ...decision,
    risk,
    ...(parts.length > 0 && { parts }),
    ...(decision.verdict === "ask" && { scopes: asked.map(({ part }) => scopeOf(part, run)) }),
    ...(looks && { env: LOOKING_ENVIRONMENT }),
  };
}

function onlyLooks({ part, decision: { verdict, risk } }: Judged): boolean {
  return verdict === "allow" && risk === "low" && part.unclear.length === 0 && !part.writes;
}

function weight({ verdict, risk }: Decision): number {
  return VERDICTS[verdict] * 10 + RISKS.indexOf(risk);
}

/** Bound to the exact words, every folder it may run in, the variables it gets, and whether it outlives the call. */
function scopeOf({ text, words, cwds }: Part, { folder, env, background }: Run): Scope {
  const variables = Object.entries(env).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const folders = cwds ?? ["?", folder];
  return {
    label: text,
    key: JSON.stringify(["exec", words.length === 0 ? [text] : words, text, folders, variables, background]),
  };
}
