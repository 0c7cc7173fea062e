export type Risk = "low" | "medium" | "high";

/**
 * Where an answer comes from. "terminal": the terminal of the asking process, `handrail approvals`, or the app that the
 * process talks to (an MCP client's own question, a program's approver). "browser" and "phone": a console session
 * there. "api": a program with the token.
 */
export const CHANNELS = ["terminal", "browser", "phone", "api"] as const;
export type Channel = (typeof CHANNELS)[number];

/** The highest risk that a channel can approve. "none": it approves nothing. Default: "high", every risk. */
export const APPROVER_LIMITS = ["high", "medium", "low", "none"] as const;
export type Approvers = { readonly [C in Channel]?: Risk | "none" };

/**
 * Returns a sentence: why a question cannot be approved from a channel, and from where it can be. `undefined` if it
 * can. A refusal is accepted from everywhere: it lets nothing happen.
 */
export function whyNotFrom(channel: Channel, { risk, approvers = {} }: Asked): string | undefined {
  const may = (each: Channel) => APPROVER_LIMITS.indexOf(approvers[each] ?? "high") <= APPROVER_LIMITS.indexOf(risk);
  if (may(channel)) return undefined;
  const others = CHANNELS.filter(may).map((each) => WHERE[each]);
  const where = others.length === 0 ? "It can only be refused" : `Answer it ${others.join(" or ")}`;
  const limit = `approvers.${channel} is ${approvers[channel]}`;
  return `A question of ${risk} risk cannot be approved ${WHERE[channel]} (${limit}). ${where}.`;
}

interface Asked {
  readonly risk: Risk;
  readonly approvers?: Approvers;
}

const WHERE: { readonly [C in Channel]: string } = {
  terminal: "in a terminal",
  browser: "in a browser on a computer",
  phone: "on a phone",
  api: "over the API with the token",
};
