import type { CheckedCall } from "../core/contract/call.ts";
import type { Approval, Decision, Scope } from "../core/contract/decision.ts";
import { ToolFailure } from "../core/contract/failure.ts";
import { messageOf } from "../core/util/errors.ts";
import { type Workspace, keptGrants } from "./kept-grants.ts";
import { afterApproval } from "./sandbox-requests.ts";
import { scopesOf } from "./scopes.ts";

export interface GrantsOptions {
  readonly workspace: Workspace;
  /** Folder of the permanent grants. */
  readonly folder: string;
  /** The longest grant that people may give. Default: "always". */
  readonly longest?: "once" | "session" | "always";
  /** Milliseconds since 1970. Default: the current time. */
  readonly now?: () => number;
}

export interface Grants {
  /**
   * Resolves to the decision with only the scopes that are not granted yet, and with the containment after their
   * approval. `undefined` if all are granted. A decision without scopes cannot be granted for longer than the call.
   */
  remaining(call: CheckedCall, decision: Decision): Promise<Decision | undefined>;
  /**
   * Stores the scopes of an approved question, for as long as the person chose and each scope allows.
   *
   * @throws ToolFailure when a permanent grant cannot be saved.
   */
  remember(question: Decision, approval: Approval): Promise<void>;
}

export function createGrants({ workspace, folder, longest = "always", now = Date.now }: GrantsOptions): Grants {
  const session = new Map<string, number>();
  const kept = keptGrants(folder, now);

  const isGranted = async ({ key, upTo }: Scope): Promise<boolean> => {
    if (upTo === "once") return false;
    const until = session.get(key);
    if (until !== undefined && until > now()) return true;
    return longest === "always" && upTo === undefined && kept.holds(workspace, key);
  };

  return {
    async remaining(call, decision) {
      const scopes: Scope[] = [];
      const all = scopesOf(call, decision);
      for (const scope of all) if (!(await isGranted(scope))) scopes.push(scope);
      if (scopes.length === 0 && all.length > 0) return undefined;
      const within = afterApproval({ ...decision, ...(decision.scopes !== undefined && { scopes }) });
      const question = { ...decision, ...(within !== undefined && { within }) };
      if (longest === "once") return { ...question, scopes: [] };
      return {
        ...question,
        scopes: longest === "always" ? scopes : scopes.map((scope) => ({ upTo: "session", ...scope })),
      };
    },
    async remember({ scopes = [] }, approval) {
      if (approval.answer === "once" || approval.answer === "refuse") return;
      const { answer, until } = approval;
      for (const { key, label, upTo } of scopes) {
        if (upTo === "once") continue;
        if (answer === "session" || upTo === "session") session.set(key, until ?? Infinity);
        else await keep({ workspace, key, label, since: now(), ...(until !== undefined && { until }) });
      }
    },
  };

  async function keep(grant: Parameters<typeof kept.keep>[0]): Promise<void> {
    try {
      await kept.keep(grant);
    } catch (error) {
      throw new ToolFailure(`the grant could not be saved, so nothing ran: ${messageOf(error)}`, {
        hint: "Allow it once, or for the session.",
        cause: error,
      });
    }
  }
}
