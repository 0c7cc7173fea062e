import { openai } from "@ai-sdk/openai";
import { generateText, stepCountIs, streamText } from "ai";
import { aiSdk } from "handrail/ai-sdk";
import { check, toolkit } from "./bench.mjs";

const { tools, toolApproval, answer } = aiSdk(toolkit);
const common = { model: openai("gpt-5"), tools, toolApproval, stopWhen: stepCountIs(20) };
let turns = 0;

await check(async (prompt, ask) => {
  if (turns++ % 2 === 1 && prompt.startsWith("Write")) return generateText({ ...common, prompt });
  const messages = [{ role: "user", content: prompt }];
  const parts = [];
  for (let isWaiting = true; isWaiting;) {
    const reply = streamText({ ...common, messages });
    const answers = [];
    for await (const part of reply.fullStream) {
      parts.push(part.type === "tool-result" ? part.output : part.type);
      if (part.type !== "tool-approval-request") continue;
      const { approved, reason } = await answer(part.toolCall.toolCallId, ask);
      answers.push({ type: "tool-approval-response", approvalId: part.approvalId, approved, reason });
    }
    messages.push(...(await reply.response).messages);
    if (answers.length > 0) messages.push({ role: "tool", content: answers });
    isWaiting = answers.length > 0;
  }
  return parts;
});
