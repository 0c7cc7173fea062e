import fc from "fast-check";
import { expect, test } from "vitest";
import { createConversation, charactersOf } from "../../src/agent/conversation.ts";
import { createPrompts } from "../../src/agent/prompt.ts";
import { text } from "../../src/core/contract/content.ts";
import type { Message } from "../../src/core/contract/message.ts";
import { cases } from "../support/cases.ts";

/** Messages whose results are of any earlier call, also of one that has a result, and whose providers repeat ids. */
const conversations = () => fc.array(message, { maxLength: 20 }).map((messages) => messages.map(numbered()));

const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ role: fc.constant("user"), from: fc.constant("person"), content: fc.constantFrom([text("Hi")], []) }),
  fc.record({
    role: fc.constant("assistant"),
    content: fc.array(
      fc.record({
        ...{ type: fc.constant("call"), id: fc.constant(""), name: fc.constantFrom("ls", "9 b") },
        ...{ providerId: fc.constantFrom("1", "2", "call3"), input: fc.constantFrom("{}", "not JSON") },
      }),
      { maxLength: 2 },
    ),
  }),
  fc.record({
    ...{
      role: fc.constant("tool"),
      call: fc.constantFrom("0", "1", "2", "7"),
      status: fc.constantFrom("ok", "failed"),
    },
    content: fc.constantFrom([text("one")], [text("two")]),
  }),
  fc.record({
    ...{ role: fc.constant("user"), from: fc.constant("handrail"), content: fc.constant([text("Summary")]) },
    summary: fc.record({ kept: fc.integer({ min: 0, max: 3 }) }),
  }),
) as fc.Arbitrary<Message>;

/** Gives each call an id of its own, and each result the call that is so many calls ago. */
function numbered() {
  let calls = 0;
  return (each: Message): Message => {
    if (each.role === "tool") return { ...each, call: `call${Math.max(0, calls - Number(each.call))}` };
    if (each.role !== "assistant") return each;
    return {
      ...each,
      content: each.content.map((part) => (part.type === "call" ? { ...part, id: `call${++calls}` } : part)),
    };
  };
}

test("a prompt that is made of the last one is the prompt of all its messages", () => {
  fc.assert(
    fc.property(conversations(), (messages) => {
      const conversation = createConversation();
      const promptOf = createPrompts();
      for (const each of messages) {
        conversation.add(each);
        expect(promptOf("Be brief.", conversation.messages)).toEqual(
          createPrompts()("Be brief.", [...conversation.messages]),
        );
      }
    }),
    { numRuns: cases(300) },
  );
});

test("the length and the open calls of a conversation are those of its messages", () => {
  fc.assert(
    fc.property(conversations(), (messages) => {
      const conversation = createConversation();
      for (const each of messages) conversation.add(each);
      const all = conversation.messages;
      const lengthOf = (some: readonly Message[]) => some.reduce((sum, each) => sum + charactersOf(each), 0);
      expect(conversation.characters).toEqual({
        all: lengthOf(all),
        results: lengthOf(all.filter(({ role }) => role === "tool")),
      });
      const again = createConversation();
      again.replace(all);
      expect(again.unanswered()).toEqual(conversation.unanswered());
    }),
    { numRuns: cases(300) },
  );
});
