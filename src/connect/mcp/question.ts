import type { CheckedCall } from "../../core/contract/call.ts";
import type { Approval, Decision } from "../../core/contract/decision.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { describeCall, foldedCall } from "../../policy/describe.ts";
import { isWholeCall, longestGrant } from "../../policy/scopes.ts";
import { clip } from "../../core/util/text.ts";
import { fieldsOf } from "./form.ts";

/**
 * The maximum length of a description, in characters. A person cannot judge more at a glance. The question says if
 * something is omitted.
 */
const MAX_DESCRIPTION = 1_500;
const MAX_DECISION_REASON = 400;
/** The maximum length of a person's reason, which the model reads, in characters. */
const MAX_ANSWER_REASON = 1_000;

const CHOICES = {
  once: { const: "once", title: "Allow once" },
  session: { const: "session", title: "Allow for this session" },
  always: { const: "always", title: "Allow always, in this workspace" },
  refuse: { const: "refuse", title: "Refuse" },
  show: { const: "show", title: "Show all of it first" },
} as const;

/** The offered answers, by the longest possible approval. "cut": the call is not shown in full. */
const OFFERED = {
  cut: [CHOICES.once, CHOICES.show, CHOICES.refuse],
  once: [CHOICES.once, CHOICES.refuse],
  session: [CHOICES.once, CHOICES.session, CHOICES.refuse],
  always: [CHOICES.once, CHOICES.session, CHOICES.always, CHOICES.refuse],
} as const;

/** The first revision in which choices contain their titles. Earlier ones have a separate list of titles. */
const FIRST_WITH_TITLED_CHOICES = "2025-11-25";

/** The parameters of an elicitation. */
export interface ApprovalForm {
  readonly message: string;
  readonly requestedSchema: {
    type: "object";
    properties: { answer: ReturnType<typeof answerField>; reason: typeof REASON };
    required: string[];
  };
}

const REASON = { type: "string" as const, title: "Reason", description: "Shown to the model when you refuse" };

function answerField(longest: keyof typeof OFFERED, revision: string) {
  const field = { type: "string" as const, title: "Answer" };
  const choices = OFFERED[longest];
  if (revision >= FIRST_WITH_TITLED_CHOICES) return { ...field, oneOf: choices.map((choice) => ({ ...choice })) };
  return {
    ...field,
    enum: choices.map((choice): string => choice.const),
    enumNames: choices.map((choice): string => choice.title),
  };
}

/**
 * Returns a question to a person about a call: the tool, the risk and the reason, then what would be done and, if that
 * differs, what a longer approval allows, part by part. Text of the model comes last, so that none of its lines can
 * imitate ours. A call that cannot be shown in full cannot be approved for longer; the person can ask for all of it. At
 * most about 2,000 characters.
 *
 * @param revision The protocol revision of the client, such as "2025-11-25".
 */
export function approvalForm(
  call: CheckedCall,
  decision: Decision,
  revision: string,
  size: "short" | "whole" = "short",
): ApprovalForm {
  const { risk, reason } = decision;
  const why = reason === undefined ? "" : `\n${oneLine(reason, MAX_DECISION_REASON)}`;
  const whole = describeCall(call);
  const parts = partsOf(decision, whole);
  const withParts = foldedCall(whole + parts, MAX_DESCRIPTION);
  const longest = withParts.isFolded ? "once" : longestGrant(decision);
  const folded = longest === "once" ? foldedCall(whole, MAX_DESCRIPTION) : withParts;
  const described = size === "whole" ? foldedCall(whole).whole : folded.shown;
  const offered = folded.isFolded && size !== "whole" ? "cut" : longest;
  return {
    message: `Allow this call of ${call.tool.name}? Risk: ${risk}.${why}\n\n${described}`,
    requestedSchema: {
      type: "object",
      properties: { answer: answerField(offered, revision), reason: REASON },
      required: ["answer"],
    },
  };
}

/** Returns what a longer approval would allow; "" if the description says the same. */
function partsOf(decision: Decision, described: string): string {
  if (isWholeCall(decision, described)) return "";
  const { scopes = [] } = decision;
  const lines = [...new Set(scopes.map(({ label }) => `- ${oneLine(label, Infinity)}`))];
  return ["", "", "For the session or always, this is allowed:", ...lines].join("\n");
}

/** Whether the person asks to see the whole of a call that was not shown in full. */
export function wantsWhole({ requestedSchema }: ApprovalForm, response: unknown): boolean {
  const { action, content } = fieldsOf(response);
  const { answer } = requestedSchema.properties;
  const offered = "oneOf" in answer ? answer.oneOf.map((choice): string => choice.const) : answer.enum;
  return action === "accept" && fieldsOf(content)["answer"] === "show" && offered.includes("show");
}

/**
 * Converts a client's answer to the form. Anything that is not clearly an approval is a refusal, including an accept
 * without an answer. Never throws.
 */
export function approvalOf(response: unknown): Approval {
  const { action, content } = fieldsOf(response);
  const { answer, reason } = fieldsOf(content);
  if (action === "accept" && (answer === "once" || answer === "session" || answer === "always")) return { answer };
  if (typeof reason === "string" && reason.trim() !== "") {
    return { answer: "refuse", reason: clip(reason.trim(), MAX_ANSWER_REASON) };
  }
  return action === "accept" && answer === undefined ? { answer: "refuse", reason: NO_ANSWER } : { answer: "refuse" };
}

/** Returns the approval if the form offered it. A client may send an answer that was not offered. */
export function offeredBy({ requestedSchema }: ApprovalForm, approval: Approval): Approval {
  const { answer } = requestedSchema.properties;
  const offered = "oneOf" in answer ? answer.oneOf.map((choice): string => choice.const) : answer.enum;
  if (offered.includes(approval.answer)) return approval;
  return { answer: "refuse", reason: `The client answered "${approval.answer}", which it was not offered.` };
}

const NO_ANSWER = 'The client accepted the question, but sent no "answer" with it.';
