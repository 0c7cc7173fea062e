// An agent of the AI SDK, version 7. Run: node ai-sdk-7.mjs
import { openai } from "@ai-sdk/openai";
import { stepCountIs, streamText } from "ai";
import { aiSdk } from "handrail/ai-sdk";
import { PROMPT, askPerson, close, toolkit } from "./shop.mjs";

const { tools, toolApproval, answer } = aiSdk(toolkit);
const messages = [{ role: "user", content: PROMPT }];
for (let isWaiting = true; isWaiting;) {
  const options = { model: openai("gpt-5"), tools, toolApproval, messages, stopWhen: stepCountIs(20) };
  const reply = streamText(options);
  const answers = [];
  for await (const part of reply.fullStream) {
    if (part.type === "text-delta") process.stdout.write(part.text);
    if (part.type !== "tool-approval-request") continue;
    const { toolName, toolCallId, input } = part.toolCall;
    const { approved, reason } = await answer(toolCallId, () => askPerson(toolName, input));
    answers.push({ type: "tool-approval-response", approvalId: part.approvalId, approved, reason });
  }
  messages.push(...(await reply.response).messages);
  if (answers.length > 0) messages.push({ role: "tool", content: answers });
  isWaiting = answers.length > 0;
}

await close();
