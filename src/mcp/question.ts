import type { CheckedCall } from "../contract/call.ts";
import type { Approval, Decision } from "../contract/decision.ts";
import { oneLine } from "../output/terminal-text.ts";
import { describeCall } from "../policy/describe.ts";
import { clip } from "../util/text.ts";

/** A person cannot judge more at a glance; where something is left out the question says so. In characters. */
const MAX_DESCRIPTION = 1_500;
const MAX_DESCRIPTION_LINES = 20;
const MAX_DECISION_REASON = 400;
/** What a person writes reaches the model; in characters. */
const MAX_ANSWER_REASON = 1_000;

const CHOICES = [
  { const: "once", title: "Allow once" },
  { const: "session", title: "Allow for this session" },
  { const: "refuse", title: "Refuse" },
] as const;

/** The first revision in which the title of a choice stands beside it; until then titles were a list of their own. */
const FIRST_WITH_TITLED_CHOICES = "2025-11-25";

/** The parameters of an elicitation. */
export interface ApprovalForm {
  readonly message: string;
  readonly requestedSchema: {
    type: "object";
    properties: { answer: typeof TITLED_CHOICES | typeof LISTED_CHOICES; reason: typeof REASON };
    required: string[];
  };
}

const ANSWER = { type: "string" as const, title: "Answer" };
const TITLED_CHOICES = { ...ANSWER, oneOf: CHOICES.map((choice) => ({ ...choice })) };
const LISTED_CHOICES = {
  ...ANSWER,
  enum: CHOICES.map((choice) => choice.const as string),
  enumNames: CHOICES.map((choice) => choice.title as string),
};
const REASON = { type: "string" as const, title: "Reason", description: "Told to the model when you refuse" };

/**
 * Asks a person about a call: which tool, how risky and why, then what would be done. What comes from the model stands last, so
 * that no line of it can take the place of one of ours. At most about 2,000 characters.
 *
 * @param revision The protocol revision of the client, as "2025-11-25".
 */
export function approvalForm(call: CheckedCall, { risk, reason }: Decision, revision: string): ApprovalForm {
  const why = reason === undefined ? "" : `\n${oneLine(reason, MAX_DECISION_REASON)}`;
  const choices = revision >= FIRST_WITH_TITLED_CHOICES ? TITLED_CHOICES : LISTED_CHOICES;
  return {
    message: `Allow this call of ${call.tool.name}? Risk: ${risk}.${why}\n\n${description(call)}`,
    requestedSchema: { type: "object", properties: { answer: choices, reason: REASON }, required: ["answer"] },
  };
}

/** Longer ones in one line without their middle: blank lines must not push what matters out of sight. */
function description(call: CheckedCall): string {
  const whole = describeCall(call);
  const lines = whole.split("\n").map((line) => oneLine(line, MAX_DESCRIPTION));
  const shown = lines.join("\n");
  return lines.length <= MAX_DESCRIPTION_LINES && shown.length <= MAX_DESCRIPTION
    ? shown
    : oneLine(whole, MAX_DESCRIPTION);
}

/** What a client's answer to the form comes to. Whatever is not clearly an approval is a refusal. Never throws. */
export function approvalOf(response: unknown): Approval {
  const { action, content } = fieldsOf(response);
  const { answer, reason } = fieldsOf(content);
  if (action === "accept" && (answer === "once" || answer === "session")) return { answer };
  if (typeof reason !== "string" || reason.trim() === "") return { answer: "refuse" };
  return { answer: "refuse", reason: clip(reason.trim(), MAX_ANSWER_REASON) };
}

function fieldsOf(value: unknown): { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
