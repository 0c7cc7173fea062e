import type { LanguageModelV3, LanguageModelV3StreamPart } from "@ai-sdk/provider";
import { pause } from "../../core/util/abort.ts";
import { type Conversation, type Step, conversationOf, firstLine } from "./demo-conversation.ts";
import { canPractise, practiceStep } from "./demo-practice.ts";
import { lookStep } from "./demo-look.ts";

export interface DemoOptions {
  /**
   * How long a word of the practice project takes, in milliseconds; the first takes twenty times as long. Default 10.
   */
  readonly wordMs?: number;
}

const INTRODUCTION =
  "I am the demo model: a short script that comes with Handrail, not a language model. The tools are real.";
const OFFER = 'I can make a practice project in a new folder here: write "practice".';

const GREETING = /^\W*(hi|hello|hey|hallo|good (morning|afternoon|evening)|help|who are you|what can you do)\W*$/i;
const PRACTICE = /^\W*((make|start|show|try) )?(me )?(the |a )?practi[cs]e( project)?\W*$/i;
const AGREED = /^\W*(y|yes|ok|okay|sure|please|yes,? please|go on)\W*$/i;

/**
 * A scripted model that needs no key. It makes a practice project in a new folder and repairs it, when that is what it
 * is told; otherwise it looks at the folder and offers that.
 */
export function demoModel({ wordMs = 10 }: DemoOptions = {}): LanguageModelV3 {
  return {
    specificationVersion: "v3",
    provider: "demo",
    modelId: "demo",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("the demo model only streams")),
    async doStream(options) {
      const conversation = conversationOf(options);
      const parts = partsOf(nextStep(conversation), JSON.stringify(options.prompt).length);
      const paceMs = isPractice(conversation) ? wordMs : 0;
      const left = parts.values();
      let isFirst = true;
      return {
        stream: new ReadableStream({
          async pull(controller) {
            const { value: part } = left.next();
            if (part === undefined) return controller.close();
            if (part.type === "text-delta" && paceMs > 0) {
              await pause(isFirst ? 20 * paceMs : paceMs, options.abortSignal);
              isFirst = false;
            }
            controller.enqueue(part);
          },
        }),
      };
    },
  };
}

function partsOf({ say, calls = [] }: Step, promptLength: number): readonly LanguageModelV3StreamPart[] {
  const called = calls.map(({ name, input }, index): LanguageModelV3StreamPart & { readonly type: "tool-call" } => ({
    ...{ type: "tool-call", toolCallId: `demo-${promptLength}-${index}`, toolName: name },
    input: JSON.stringify(input),
  }));
  const tokens = (length: number) => Math.ceil(length / 4);
  const output = tokens(say.length + called.reduce((sum, { input }) => sum + input.length, 0));
  return [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "text" },
    ...(say.match(/\S+\s*/g) ?? []).map((delta) => ({ type: "text-delta", id: "text", delta }) as const),
    { type: "text-end", id: "text" },
    ...called,
    {
      type: "finish",
      finishReason: { unified: called.length === 0 ? "stop" : "tool-calls", raw: undefined },
      usage: {
        inputTokens: { total: tokens(promptLength), noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: output, text: output, reasoning: undefined },
      },
    },
  ];
}

function isPractice({ words, saidBefore }: Conversation): boolean {
  return PRACTICE.test(words) || (AGREED.test(words) && saidBefore.endsWith(OFFER));
}

function nextStep(conversation: Conversation): Step {
  const { words, saidBefore, rounds, can } = conversation;
  const offer = canPractise(can) ? ` ${OFFER}` : "";
  const isBeginning = rounds.length === 0 && saidBefore === "";
  if (GREETING.test(words)) return { say: `Hello! ${INTRODUCTION}${offer}` };
  const { say, calls } = stepFor(conversation, offer);
  return { say: isBeginning ? `${INTRODUCTION}\n\n${say}` : say, ...(calls !== undefined && { calls }) };
}

function stepFor(conversation: Conversation, offer: string): Step {
  const { words, rounds, can, mustEnd } = conversation;
  if (isPractice(conversation) && offer !== "") {
    return mustEnd ? { say: "I stop here, at the limit of this turn." } : practiceStep(conversation);
  }
  if (can.list() !== undefined) return lookStep(conversation, offer);
  const tools = can.names.length === 0 ? "no tools" : `only ${can.names.join(", ")}`;
  const fetched = rounds[0]?.[0];
  if (fetched !== undefined) return { say: `It ${fetched.failed ? "failed" : "begins"}: ${firstLine(fetched.output)}` };
  const [url] = /https?:\/\/\S+/.exec(words) ?? [];
  const call = url === undefined || mustEnd ? undefined : can.fetch(url);
  if (call !== undefined) return { say: `I fetch ${url}.`, calls: [call] };
  const next = can.fetch("") === undefined ? "" : " Write an address (https://…), and I fetch it.";
  return { say: `I have ${tools} here, and no tool that looks at files. --preset coding has them.${next}` };
}
