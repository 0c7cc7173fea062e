import type { CheckedCall } from "../contract/call.ts";
import type { Approval, Decision } from "../contract/decision.ts";
import { oneLine } from "../output/terminal-text.ts";
import { describeCall } from "../policy/describe.ts";
import { isWholeCall, longestGrant } from "../policy/scopes.ts";
import { clip } from "../util/text.ts";

/** A person cannot judge more at a glance; where something is left out the question says so. In characters. */
const MAX_DESCRIPTION = 1_500;
const MAX_DESCRIPTION_LINES = 20;
const MAX_DECISION_REASON = 400;
/** What a person writes reaches the model; in characters. */
const MAX_ANSWER_REASON = 1_000;

const CHOICES = {
  once: { const: "once", title: "Allow once" },
  session: { const: "session", title: "Allow for this session" },
  always: { const: "always", title: "Allow always, in this workspace" },
  refuse: { const: "refuse", title: "Refuse" },
} as const;

/** What can be chosen, by how long at most what is asked about can be allowed. */
const OFFERED = {
  once: [CHOICES.once, CHOICES.refuse],
  session: [CHOICES.once, CHOICES.session, CHOICES.refuse],
  always: [CHOICES.once, CHOICES.session, CHOICES.always, CHOICES.refuse],
} as const;

/** The first revision in which the title of a choice stands beside it; until then titles were a list of their own. */
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

const REASON = { type: "string" as const, title: "Reason", description: "Told to the model when you refuse" };

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
 * Asks a person about a call: which tool, how risky and why, then what would be done and, where that is not the same, what an answer for
 * longer allows, part by part. What comes from the model stands last, so that no line of it can take the place of one of ours. What cannot
 * be shown whole cannot be allowed for longer. At most about 2,000 characters.
 *
 * @param revision The protocol revision of the client, as "2025-11-25".
 */
export function approvalForm(call: CheckedCall, decision: Decision, revision: string): ApprovalForm {
  const { risk, reason } = decision;
  const why = reason === undefined ? "" : `\n${oneLine(reason, MAX_DECISION_REASON)}`;
  const whole = describeCall(call);
  const parts = partsOf(decision, whole);
  const isShown = isShort(whole + parts);
  const longest = isShown ? longestGrant(decision) : "once";
  return {
    message: `Allow this call of ${call.tool.name}? Risk: ${risk}.${why}\n\n${description(longest === "once" ? whole : whole + parts)}`,
    requestedSchema: {
      type: "object",
      properties: { answer: answerField(longest, revision), reason: REASON },
      required: ["answer"],
    },
  };
}

/** What would be allowed for longer; "" where that is what the description says already. */
function partsOf(decision: Decision, described: string): string {
  if (isWholeCall(decision, described)) return "";
  const { scopes = [] } = decision;
  const lines = [...new Set(scopes.map(({ label }) => `- ${oneLine(label, Infinity)}`))];
  return ["", "", "For the session or always, this is allowed:", ...lines].join("\n");
}

function isShort(text: string): boolean {
  const lines = text.split("\n").map((line) => oneLine(line, Infinity));
  return lines.length <= MAX_DESCRIPTION_LINES && lines.join("\n").length <= MAX_DESCRIPTION;
}

/** Longer ones in one line without their middle: blank lines must not push what matters out of sight. */
function description(whole: string): string {
  const lines = whole.split("\n").map((line) => oneLine(line, MAX_DESCRIPTION));
  const shown = lines.join("\n");
  return lines.length <= MAX_DESCRIPTION_LINES && shown.length <= MAX_DESCRIPTION
    ? shown
    : oneLine(whole, MAX_DESCRIPTION);
}

/**
 * What a client's answer to the form comes to. Whatever is not clearly an approval is a refusal, an accept without an answer too.
 * Never throws.
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

/** The answer, if the form offered it; a client may send what it was not asked. */
export function offeredBy({ requestedSchema }: ApprovalForm, approval: Approval): Approval {
  const { answer } = requestedSchema.properties;
  const offered = "oneOf" in answer ? answer.oneOf.map((choice): string => choice.const) : answer.enum;
  if (offered.includes(approval.answer)) return approval;
  return { answer: "refuse", reason: `The client answered "${approval.answer}", which it was not offered.` };
}

const NO_ANSWER = 'The client accepted the question, but sent no "answer" with it.';

function fieldsOf(value: unknown): { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
