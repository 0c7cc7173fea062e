import type { AgentContext, ElicitationSchema, PermissionOption, ToolCallContent } from "@agentclientprotocol/sdk";
import type { CheckedCall } from "../../core/contract/call.ts";
import type { Approval, Decision, FormInput } from "../../core/contract/decision.ts";
import type { JsonSchema } from "../../core/contract/schema.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { describeCall, foldedCall } from "../../policy/describe.ts";
import { isWholeCall, longestGrant } from "../../policy/scopes.ts";
import type { CallFacts } from "./updates.ts";

const OPTIONS = {
  once: { optionId: "once", name: "Allow once", kind: "allow_once" },
  session: { optionId: "session", name: "Allow for this session", kind: "allow_always" },
  always: { optionId: "always", name: "Allow always, in this workspace", kind: "allow_always" },
  refuse: { optionId: "refuse", name: "Refuse", kind: "reject_once" },
  show: { optionId: "show", name: "Show all of it first", kind: "reject_once" },
} as const satisfies { readonly [answer: string]: PermissionOption };

const OFFERED = {
  folded: [OPTIONS.once, OPTIONS.show, OPTIONS.refuse],
  once: [OPTIONS.once, OPTIONS.refuse],
  session: [OPTIONS.once, OPTIONS.session, OPTIONS.refuse],
  always: [OPTIONS.once, OPTIONS.session, OPTIONS.always, OPTIONS.refuse],
} as const;

/** A question of a session, and the client that is asked. */
export interface Asking {
  readonly client: AgentContext;
  readonly sessionId: string;
  /** Whether the client fills in forms. */
  readonly hasForms: boolean;
  /** The target, if it is not this machine. */
  readonly host?: string;
  /** Fires when the question is closed. */
  readonly signal: AbortSignal;
}

/**
 * Asks the client about a call: what it does, in which folder, its change, the risk and the reason. A long call is
 * folded; the person can ask for all of it. If a server asks the person, its form is filled in. An answer that was not
 * offered counts as a refusal, and so does a closed question.
 */
export async function askClient(
  call: CheckedCall,
  decision: Decision,
  facts: CallFacts,
  asking: Asking,
  size: "folded" | "whole" = "folded",
): Promise<Approval> {
  const { client, sessionId, signal } = asking;
  const [form] = call.effects.flatMap((effect) => (effect.kind === "foreign" && effect.form ? [effect.form] : []));
  if (form !== undefined && asking.hasForms) return fillIn(call, form, asking);
  const folded = foldedCall(describeCall(call));
  const isFolded = folded.isFolded && size === "folded";
  const offered: readonly PermissionOption[] = OFFERED[isFolded ? "folded" : longestGrant(decision)];
  const { outcome } = await client.request(
    "session/request_permission",
    {
      sessionId,
      toolCall: {
        toolCallId: call.request.id,
        name: call.tool.name,
        ...facts,
        status: "pending",
        content: [
          textOf(questionText(call, decision, asking.host, isFolded ? folded.shown : folded.whole)),
          ...facts.content,
        ],
      },
      options: [...offered],
    },
    { cancellationSignal: signal },
  );
  const answer = outcome.outcome === "selected" ? outcome.optionId : "refuse";
  if (!offered.some(({ optionId }) => optionId === answer)) {
    return { answer: "refuse", reason: `The client answered "${oneLine(answer, 100)}", which it was not offered.` };
  }
  if (answer === "show") return askClient(call, decision, facts, asking, "whole");
  return answer === "once" || answer === "session" || answer === "always" ? { answer } : { answer: "refuse" };
}

/** The question as text: sub-agent, place, call, risk, reason, and what a longer approval allows. */
function questionText(call: CheckedCall, decision: Decision, host: string | undefined, shown: string): string {
  const { agent } = call.request;
  const { risk, reason, scopes = [] } = decision;
  const folders = call.effects.flatMap((effect) => (effect.kind === "exec" ? [effect.real ?? effect.cwd ?? "."] : []));
  const parts = isWholeCall(decision, describeCall(call))
    ? []
    : ["For the session or always, this is allowed:", ...scopes.map(({ label }) => `- ${oneLine(label, Infinity)}`)];
  return [
    ...(agent === undefined ? [] : [`Agent ${oneLine(agent, 100)} asks.`]),
    `Risk: ${risk}.${reason === undefined ? "" : ` ${oneLine(reason, 2_000)}`}`,
    ...(host === undefined ? [] : [`On: ${oneLine(host, 200)}`]),
    ...[...new Set(folders)].map((folder) => `Folder: ${oneLine(folder, 1_000)}`),
    shown,
    ...parts,
  ].join("\n\n");
}

async function fillIn(call: CheckedCall, form: JsonSchema, { client, sessionId, signal }: Asking): Promise<Approval> {
  const answer = await client.request(
    "elicitation/create",
    {
      mode: "form",
      sessionId,
      toolCallId: call.request.id,
      message: foldedCall(describeCall(call)).whole, // a form has no answer that would show it
      requestedSchema: form as ElicitationSchema,
    },
    { cancellationSignal: signal },
  );
  if (answer.action !== "accept") return { answer: "refuse" };
  const input = "content" in answer ? (answer.content as FormInput | null | undefined) : null;
  return { answer: "once", ...(input && { input }) };
}

function textOf(text: string): ToolCallContent {
  return { type: "content", content: { type: "text", text } };
}
