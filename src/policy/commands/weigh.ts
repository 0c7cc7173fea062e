import type { Decision } from "../../contract/decision.ts";
import type { Rules } from "../rules/rules.ts";
import type { PolicySettings } from "../settings.ts";
import type { Part } from "./part.ts";

/** A part as it is weighed. */
type Weighed = Pick<Part, "kind" | "text" | "words" | "risk" | "why" | "ordinary">;

/** What a part is weighed with. */
interface Circumstances {
  /** What of it is not understood, all told. */
  readonly unclear: readonly string[];
  /** What the path rules ask about. */
  readonly asked?: Decision | undefined;
  /** It runs in a sandbox that works. Default false. */
  readonly contained?: boolean;
  /** It has a way to the network, in the sandbox. Default false. */
  readonly networked?: boolean;
}

/** What is said of one part of a script, whatever the others are. */
export type Weigher = (part: Weighed, circumstances: Circumstances) => Decision;

/** Rules before risk before autonomy; nothing but a rule overrides what the paths ask. */
export function weigher(
  {
    autonomy = "supervised",
    blockHighRiskCommands = true,
    requireApprovalForMediumRisk = true,
    shellConfirm = false,
    askInSandbox = "unusual",
  }: PolicySettings,
  rules: Rules["command"],
): Weigher {
  /** The sandbox holds it, so nobody is asked. */
  const isLeft: (...weighed: Parameters<Weigher>) => boolean = (
    { ordinary },
    { unclear, contained = false, networked = false },
  ) => {
    if (!contained || askInSandbox === "all") return false;
    if (askInSandbox === "nothing") return true;
    return unclear.length === 0 && (ordinary === true || (ordinary === "offline" && !networked));
  };

  return (part, circumstances) => {
    const { kind, text, words, risk, why } = part;
    const { unclear, asked } = circumstances;
    const ruling = kind === "command" ? rules({ words, text }) : undefined;
    const shown = shorten(text);
    const ask = (rule: string, reason: string): Decision => ({ verdict: "ask", risk, rule, reason });
    if (ruling?.verdict === "deny") return { ...ruling, risk };
    if (asked !== undefined) return { ...asked, reason: `${asked.reason ?? ""} (\`${shown}\`)` };
    if (ruling?.verdict === "ask") return { ...ruling, risk };
    if (ruling?.verdict === "allow" && !shellConfirm) return { ...ruling, risk };
    if (risk === "high" && blockHighRiskCommands) {
      return {
        verdict: "deny",
        risk,
        rule: "block_high_risk_commands",
        reason: `High-risk commands are blocked: \`${shown}\` (${why ?? "it may harm beyond the workspace"}). Leave it out, or have the user allow it with a rule`,
      };
    }
    if (shellConfirm) {
      return ask("shell_confirm", `Command requires approval: every command is asked about (\`${shown}\`)`);
    }
    if (autonomy === "full") return { verdict: "allow", risk, rule: "autonomy" };
    const because = why ?? unclear[0] ?? "";
    if (risk === "high") {
      return ask("high_risk", `High-risk command requires approval: \`${shown}\` (${because})`);
    }
    if (risk === "medium" && isLeft(part, circumstances)) return { verdict: "allow", risk, rule: "sandbox" };
    if (risk === "medium" && requireApprovalForMediumRisk) {
      return ask(
        "require_approval_for_medium_risk",
        `Medium-risk command requires approval: \`${shown}\` (${because})`,
      );
    }
    if (unclear[0] === undefined) {
      return { verdict: "allow", risk, rule: risk === "low" ? "low_risk" : "require_approval_for_medium_risk" };
    }
    if (isLeft(part, circumstances)) return { verdict: "allow", risk: "medium", rule: "sandbox" };
    const reason = `Command requires approval: \`${shown}\` is not understood as a whole: ${unclear[0]}`;
    return { ...ask("not_understood", reason), risk: "medium" };
  };
}

/** A long command is shown with its beginning and its end. */
export function shorten(text: string): string {
  return text.length <= 120 ? text : `${text.slice(0, 80)} … ${text.slice(-35)}`;
}
