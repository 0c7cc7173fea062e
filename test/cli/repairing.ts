import { type ChatMessage, LLMock } from "@copilotkit/aimock";
import { afterFile } from "../support/after-file.ts";

/** A project whose test fails, with the mistake that `repairingModel` repairs. */
export const SUM = {
  "sum.mjs": "export function add(a, b) {\n  return a - b;\n}\n",
  "sum.test.mjs":
    'import assert from "node:assert/strict";\nimport { test } from "node:test";\nimport { add } from "./sum.mjs";\n\n' +
    'test("adds", () => {\n  assert.equal(add(2, 3), 5);\n});\n',
};

/** The calls of a turn, in order. */
const CALLS = [
  { name: "bash", input: { command: "node --test" } },
  { name: "read", input: { path: "sum.mjs" } },
  { name: "edit", input: { path: "sum.mjs", old_text: "a - b", new_text: "a + b" } },
  { name: "bash", input: { command: "node --test" } },
] as const;

const running = new Set<LLMock>();
afterFile(async () => {
  for (const mock of running) await mock.stop();
  running.clear();
});

/**
 * Serves a model that repairs `SUM`, one call a reply, in each turn whose message says "repair" or "go on"; it greets in
 * others. Returns the options that choose it. It stops when its tests are denied, pass, or a limit is reached, and says so.
 */
export async function repairingModel(): Promise<readonly string[]> {
  const mock = new LLMock({ port: 0 });
  await mock.start();
  running.add(mock);
  mock.addFixture({ match: {}, response: ({ messages }) => replyTo(messages) });
  return ["--model", "openai-compatible:mock", "--base-url", `${mock.url}/v1`];
}

function replyTo(messages: readonly ChatMessage[]) {
  const turn = messages.slice(messages.findLastIndex((each) => each.role === "user" && !isNotice(each)));
  const [words] = turn;
  const results = turn.filter(({ role }) => role === "tool").map(textOf);
  const last = results.at(-1) ?? "";
  if (words === undefined || !/repair|go on/i.test(textOf(words))) return { content: "Hello!" };
  if (textOf(messages.at(-1)).includes("Call no more tools.")) return { content: "I stop here. My work is not done." };
  const hasRun = results.length === 1 || results.length === CALLS.length;
  if (hasRun && last.includes("denied")) return { content: `The tests could not be run: ${last}` };
  const call = CALLS[results.length];
  if (call === undefined || (results.length === 1 && !/exit code: [1-9]/i.test(last)))
    return { content: "All tests pass now." };
  const { name, input } = call;
  return { content: `I call ${name}.`, toolCalls: [{ name, arguments: JSON.stringify(input) }] };
}

/** Handrail's own messages are in brackets. */
const isNotice = (message: ChatMessage) => textOf(message).startsWith("[");

function textOf(message: ChatMessage | undefined): string {
  const content = message?.content ?? "";
  return typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");
}
