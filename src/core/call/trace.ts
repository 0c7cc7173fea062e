import type { ToolCall } from "../contract/call.ts";
import type { Decision } from "../contract/decision.ts";
import type { QuestionId } from "../contract/question.ts";
import type { ToolResult } from "../contract/result.ts";
import { type Traced, beginSpan, isTraced } from "../util/trace.ts";
import { clip } from "../util/text.ts";

/** The longest name of a tool in a span, in characters: a model may call tools that do not exist. */
const LONGEST_NAME = 100;

/** The spans of one call. They have names and numbers, never arguments, results or texts for people. */
export interface CallTrace extends Pick<Traced, "traceparent" | "within"> {
  decided(decision: Decision): void;
  /** Begins the span of a question: how long people are waited for. */
  asked(question: QuestionId): void;
  answered(question: QuestionId, answer: string): void;
  ended(status: ToolResult["status"]): void;
}

const NOT_TRACED: CallTrace = {
  traceparent: undefined,
  within: (work) => work(),
  decided: () => {},
  asked: () => {},
  answered: () => {},
  ended: () => {},
};

/**
 * Begins the span `execute_tool NAME` of a call, with the attributes of the GenAI conventions
 * (https://opentelemetry.io/docs/specs/semconv/gen-ai/), and `handrail.*`.
 */
export function traceCall({ id, name: given, thread, agent, trace }: ToolCall): CallTrace {
  if (!isTraced()) return NOT_TRACED;
  const name = clip(given, LONGEST_NAME);
  const span = beginSpan(`execute_tool ${name}`, () => ({
    above: trace,
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": name,
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": id,
      "gen_ai.conversation.id": thread,
      ...(agent !== undefined && { "gen_ai.agent.name": agent }),
    },
  }));
  const { traceparent, within } = span;
  const waits = new Map<QuestionId, Traced>();
  const answered = (question: QuestionId, answer: string) => {
    const wait = waits.get(question);
    waits.delete(question);
    wait?.set({ "handrail.approval.answer": answer });
    wait?.end();
  };
  return {
    traceparent,
    within,
    decided: ({ verdict, risk }) => span.set({ "handrail.verdict": verdict, "handrail.risk": risk }),
    asked(question) {
      const attributes = { "handrail.question": question };
      waits.set(
        question,
        within(() => beginSpan("handrail.approval", () => ({ attributes }))),
      );
    },
    answered,
    ended(status) {
      for (const question of waits.keys()) answered(question, "none");
      span.set({ "handrail.status": status });
      span.end(status === "ok" || status === "parked" ? undefined : status);
    },
  };
}
