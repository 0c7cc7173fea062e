import type { TurnReason } from "../core/contract/activity.ts";
import { terminalSafe } from "../core/output/terminal-text.ts";
import type { TurnPart } from "./turn-parts.ts";

/** Writes the parts of a turn as the events of a protocol. */
export interface TurnWriter {
  /** The events before the first part. */
  readonly begin: readonly object[];
  of(part: TurnPart): readonly object[];
}

/**
 * The data stream of AI SDK UI (https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol): the chunks of one assistant
 * message, a step for each reply. Cells are parts `data-tool-activity`. The id of an approval request is that of the
 * question.
 */
export function aiSdkWriter(messageId: string): TurnWriter {
  let step: string | undefined;
  const inStep = (reply: string): readonly object[] => {
    if (step === reply) return [];
    const before = step === undefined ? [] : [{ type: "finish-step" }];
    step = reply;
    return [...before, { type: "start-step" }];
  };
  return {
    begin: [{ type: "start", messageId }],
    of(part) {
      switch (part.type) {
        case "text":
        case "reasoning": {
          const { type, id, at, reply } = part;
          return [...inStep(reply), { type: `${type}-${at}`, id, ...(at === "delta" && { delta: part.delta }) }];
        }
        case "call": {
          const { id: toolCallId, name: toolName, input } = part.cell;
          const available = { type: "tool-input-available", toolCallId, toolName, input, dynamic: true };
          return [...inStep(part.reply ?? step ?? ""), available];
        }
        case "cell":
          return [{ type: "data-tool-activity", id: part.cell.id, data: part.cell }];
        case "question":
          return [{ type: "tool-approval-request", approvalId: part.question.question, toolCallId: part.call }];
        case "result": {
          const { cell, how, text } = part;
          const of = { toolCallId: cell.id };
          if (how === "refused") return [{ type: "tool-output-denied", ...of }];
          if (how === "failed") return [{ type: "tool-output-error", ...of, errorText: text, dynamic: true }];
          return [{ type: "tool-output-available", ...of, output: { text, data: cell.data }, dynamic: true }];
        }
        case "end": {
          const { reason, message } = part.turn;
          const finish = { type: "finish", finishReason: FINISH[reason] ?? "other" };
          const error = reason === "failed" ? [{ type: "error", errorText: message ?? "The turn failed." }] : [];
          return [...(step === undefined ? [] : [{ type: "finish-step" }]), ...error, finish];
        }
      }
    },
  };
}

const FINISH: { readonly [reason in TurnReason]?: string } = {
  done: "stop",
  cut_off: "length",
  failed: "error",
  parked: "tool-calls",
};

/**
 * The events of AG-UI 1.0 (https://docs.ag-ui.com/concepts/events): one run. Cells are activities of the type
 * `tool_activity`, and open questions custom events `handrail.question`. A run whose calls are parked ends with an
 * interrupt for each question.
 */
export function agUiWriter(threadId: string, runId: string): TurnWriter {
  const run = { threadId, runId };
  const reasoning = (messageId: string, at: "start" | "delta" | "end", delta: string) => {
    if (at === "delta") return [{ type: "REASONING_MESSAGE_CONTENT", messageId, delta }];
    if (at === "end") return ["REASONING_MESSAGE_END", "REASONING_END"].map((type) => ({ type, messageId }));
    return [
      { type: "REASONING_START", messageId },
      { type: "REASONING_MESSAGE_START", messageId, role: "reasoning" },
    ];
  };
  return {
    begin: [{ type: "RUN_STARTED", ...run, protocolVersion: "1.0" }],
    of(part) {
      switch (part.type) {
        case "reasoning":
          return reasoning(part.id, part.at, part.at === "delta" ? part.delta : "");
        case "text": {
          const { id: messageId, at } = part;
          if (at === "delta") return [{ type: "TEXT_MESSAGE_CONTENT", messageId, delta: part.delta }];
          if (at === "end") return [{ type: "TEXT_MESSAGE_END", messageId }];
          return [{ type: "TEXT_MESSAGE_START", messageId, role: "assistant" }];
        }
        case "call": {
          const { id: toolCallId, name: toolCallName, input } = part.cell;
          const parent = part.reply !== undefined && { parentMessageId: part.reply };
          return [
            { type: "TOOL_CALL_START", toolCallId, toolCallName, ...parent },
            { type: "TOOL_CALL_ARGS", toolCallId, delta: typeof input === "string" ? input : JSON.stringify(input) },
            { type: "TOOL_CALL_END", toolCallId },
          ];
        }
        case "cell": {
          const { cell: content } = part;
          const messageId = `cell-${content.id}`;
          return [{ type: "ACTIVITY_SNAPSHOT", messageId, activityType: "tool_activity", content, replace: true }];
        }
        case "question":
          return [{ type: "CUSTOM", name: "handrail.question", value: part.question }];
        case "result": {
          const { cell, text: content } = part;
          const messageId = `result-${cell.id}`;
          return [{ type: "TOOL_CALL_RESULT", messageId, toolCallId: cell.id, content, role: "tool" }];
        }
        case "end": {
          const { reason, message } = part.turn;
          if (reason === "failed") return [{ type: "RUN_ERROR", message: message ?? "The turn failed." }];
          const interrupts = part.waiting.map(({ question: id, call: toolCallId, ask }) => {
            // The app of somebody else shows it: it need not know what terminals and browsers hide.
            return { id, reason: "tool_call", message: terminalSafe(ask), toolCallId };
          });
          const outcome =
            reason === "stopped"
              ? { type: "cancelled" }
              : reason === "parked" && interrupts.length > 0
                ? { type: "interrupt", interrupts }
                : { type: "success" };
          return [
            { type: "RUN_FINISHED", ...run, outcome, result: { reason, ...(message !== undefined && { message }) } },
          ];
        }
      }
    },
  };
}
