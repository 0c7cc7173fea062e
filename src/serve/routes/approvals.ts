import { Type } from "typebox";
import { APPROVER_LIMITS, type Channel, type Risk, whyNotFrom } from "../../core/contract/approvers.ts";
import type { OpenQuestion } from "../../core/contract/question.ts";
import type { Approval, EditedInput, FormInput } from "../../core/contract/decision.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { describeCall, describedQuestion } from "../../policy/describe.ts";
import { longestGrant } from "../../policy/scopes.ts";
import { type Caller, userOf } from "../access.ts";
import { Problem } from "../problem.ts";
import { type Route, route } from "../route.ts";
import type { Question } from "../api-types.ts";
import { list, named } from "../schemas.ts";

/** Routes for the open questions of all processes, and their answers. */
export function approvalRoutes({ store, mask }: Pick<Toolkit, "store" | "mask">): readonly Route[] {
  const isMasked = (values: object = {}) => mask(JSON.stringify(values)) !== JSON.stringify(values);
  return [
    route("GET /api/approvals", {
      summary: "The open questions, the oldest first.",
      answer: { status: 200, description: "The questions.", schema: list("approvals", named("Question")) },
      async handle({ caller }) {
        const channel = channelOf(caller);
        return { approvals: (await store.questions()).map((question) => questionBody(question, channel)) };
      },
    }),
    route("POST /api/approvals/{question}", {
      needs: "answer",
      summary: "Answer a question. The first answer counts.",
      body: Type.Object({
        answer: Type.Enum(["once", "session", "always", "refuse"]),
        until: Type.Optional(
          Type.Integer({
            minimum: 1,
            description: "For session and always: when the approval ends. Milliseconds since 1970.",
          }),
        ),
        input: Type.Optional(
          Type.Object({}, { additionalProperties: true, description: "For once: the values of the form." }),
        ),
        edited: Type.Optional(
          Type.Object(
            {},
            {
              additionalProperties: true,
              description: "For once: all arguments of the call, changed. It is checked and judged again.",
            },
          ),
        ),
        reason: Type.Optional(Type.String({ maxLength: 2_000, description: "For refuse: the model reads it." })),
      }),
      answer: { status: 200, description: "The answer counts.", schema: Type.Object({ question: Type.String() }) },
      problems: {
        403: "A command answers, or this risk cannot be approved from here: `approvers` of the configuration.",
        404: "There is no such question.",
        409: "It was answered before, or its call has ended.",
      },
      people: true,
      async handle({ path: { question = "" }, body, caller }) {
        const open = (await store.questions()).find((each) => each.question === question);
        const whyNot = open && body.answer !== "refuse" ? whyNotFrom(channelOf(caller), open.decision) : undefined;
        if (whyNot !== undefined) throw new Problem(403, whyNot);
        const user = userOf(caller);
        if (
          open !== undefined &&
          body.answer !== "refuse" &&
          user !== undefined &&
          isAbove(open.decision.risk, user.risk)
        )
          throw new Problem(403, `${user.name} may approve up to ${user.risk} risk; this is ${open.decision.risk}.`);
        if (isMasked(body.input))
          throw new Problem(409, "The form's values contain a secret, which would be recorded.");
        if (isMasked(body.edited))
          throw new Problem(409, "The changed arguments contain a secret, which would be recorded.");
        const answer = approvalOf({ ...body, ...(body.reason !== undefined && { reason: mask(body.reason) }) });
        const outcome = await store.answer(question, answer, nameOf(caller));
        if (outcome.status === "answered") return { question };
        if (outcome.status === "unknown") throw new Problem(404, `There is no question ${question}.`);
        const { first, reason } = outcome;
        throw new Problem(409, `The question is closed: ${reason}.`, { ...(first !== undefined && { first }) });
      },
    }),
  ];
}

/** From where a caller answers, for `approvers`. */
export function channelOf({ kind }: Caller): Channel {
  return kind === "browser" || kind === "phone" ? kind : "api";
}

const isAbove = (risk: Risk, limit: Risk) => APPROVER_LIMITS.indexOf(risk) < APPROVER_LIMITS.indexOf(limit);

/** Names a caller in the record: "phone session Pixel 8", "user ann", "ann in browser session Firefox". */
function nameOf(caller: Caller): string {
  if (caller.kind === "user") return `user ${caller.user.name}`;
  if (!("session" in caller)) return "API";
  return `${caller.user === undefined ? "" : `${caller.user.name} in `}${caller.kind} session ${caller.name}`;
}

/** A question with its text, the longest approval, and why it cannot be given from where the caller is. */
export function questionBody(question: OpenQuestion, channel: Channel): Question {
  const { agent } = question;
  const by = agent === undefined ? "" : `Agent ${agent}: `;
  const ask = `${by}${describeCall(describedQuestion(question))}`;
  const whyNot = whyNotFrom(channel, question.decision);
  return { ...question, ask, longest: longestGrant(question.decision), ...(whyNot !== undefined && { whyNot }) };
}

interface AnswerBody {
  readonly answer: string;
  readonly until?: number;
  readonly input?: object;
  readonly edited?: object;
  readonly reason?: string;
}

function approvalOf({ answer, until, input, edited, reason }: AnswerBody): Approval {
  if (answer === "refuse") return { answer, ...(reason !== undefined && { reason }) };
  if (answer === "session" || answer === "always") return { answer, ...(until !== undefined && { until }) };
  return {
    answer: "once",
    ...(input !== undefined && { input: input as FormInput }),
    ...(edited !== undefined && { edited: edited as EditedInput }),
  };
}
