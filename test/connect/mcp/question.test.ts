import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CheckedCall } from "../../../src/core/contract/call.ts";
import { bash } from "../../../src/tools/bash.ts";
import { approvalForm, approvalOf, offeredBy } from "../../../src/connect/mcp/question.ts";

const decision = { verdict: "ask", risk: "high", reason: "It deletes files" } as const;

function running(command: string): CheckedCall {
  const request = { id: "1", name: "bash", input: { command }, thread: "main" };
  return { request, tool: bash(), input: { command }, effects: [{ kind: "exec", command }] };
}

describe("the question", () => {
  test("names the tool, the risk and the reason first, and what would be done last", () => {
    expect(approvalForm(running("rm -r build\nmake"), decision, "2025-11-25").message).toBe(
      "Allow this call of bash? Risk: high.\nIt deletes files\n\nRun: rm -r build\nmake",
    );
  });

  test("shows both ends of a long command and how much is omitted", () => {
    const { message } = approvalForm(running(`begin ${"x".repeat(9_000)} end`), decision, "2025-11-25");
    expect(message).toMatch(/Run: begin x+\[…\d+ characters…\]x+ end$/);
  });

  test("leaves no room for blank lines that push text out of sight", () => {
    const { message } = approvalForm(running(`ls${"\n".repeat(100)}rm -r ~`), decision, "2025-11-25");
    expect(message.split("\n")).toHaveLength(4);
    expect(message).toMatch(/Run: ls\\n.*rm -r ~$/);
  });

  test("lists exactly what a longer approval allows, and offers none if that cannot be shown in full", () => {
    const scopes = [
      { label: "npm test", key: "1" },
      { label: "git push \u202eorigin", key: "2" },
    ];
    const { message, requestedSchema } = approvalForm(
      running("npm test && git push"),
      { ...decision, scopes },
      "2025-11-25",
    );
    expect(message.split("\n").slice(-4)).toEqual([
      "",
      "For the session or always, this is allowed:",
      "- npm test",
      "- git push \\u202eorigin",
    ]);
    expect(JSON.stringify(requestedSchema)).toContain("always");
    const long = [{ label: "x".repeat(3_000), key: "1" }];
    const form = approvalForm(running("make"), { ...decision, scopes: long }, "2025-11-25");
    expect(JSON.stringify(form.requestedSchema)).not.toMatch(/"(always|session)"/);
    expect(form.message).not.toContain("For the session");
  });

  test("has at most 2,000 characters, our lines first and no control characters, for any command", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 4_000 }), fc.string({ unit: "binary" }), (command, reason) => {
        const { message } = approvalForm(running(command), { ...decision, reason }, "2025-11-25");
        expect(message.length).toBeLessThanOrEqual(4_000); // UTF-16 units
        expect(Array.from(message).length).toBeLessThanOrEqual(2_000);
        expect(message.split("\n")[0]).toBe("Allow this call of bash? Risk: high.");
        expect(message.split("\n")[2]).toBe("");
        expect(message).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
      }),
    );
  });
});

describe("the answer", () => {
  test("allows once or for the session", () => {
    expect(approvalOf({ action: "accept", content: { answer: "once" } })).toEqual({ answer: "once" });
    expect(approvalOf({ action: "accept", content: { answer: "session", reason: "fine" } })).toEqual({
      answer: "session",
    });
  });

  test("allows nothing unless it is exactly an approval, and never throws", () => {
    const action = fc.oneof(fc.constantFrom("accept", "decline", "cancel", "Accept"), fc.anything());
    const answer = fc.oneof(fc.constantFrom("once", "session", "refuse", "always", "Once"), fc.anything());
    const response = fc.oneof(
      fc.record({ action, content: fc.record({ answer, reason: fc.anything() }) }),
      fc.anything(),
    );
    fc.assert(
      fc.property(response, (value) => {
        const approval = approvalOf(value);
        if (approval.answer === "refuse") return;
        const { action: said, content } = value as { action: unknown; content?: { answer?: unknown } };
        expect(said).toBe("accept");
        expect(content?.answer).toBe(approval.answer);
      }),
    );
  });

  test("that accepts without a choice is a refusal, which says so", () => {
    const reason = 'The client accepted the question, but sent no "answer" with it.';
    for (const content of [undefined, null, {}, { approved: true }, "once", ["once"]]) {
      expect(approvalOf({ action: "accept", content })).toEqual({ answer: "refuse", reason });
    }
    expect(approvalOf({ action: "accept" })).toEqual({ answer: "refuse", reason });
    expect(approvalOf({ action: "accept", content: { reason: "later" } })).toEqual({
      answer: "refuse",
      reason: "later",
    });
    expect(approvalOf({ action: "decline" })).toEqual({ answer: "refuse" });
  });

  test("for longer than was offered is a refusal", () => {
    const offered = (upTo?: "session") =>
      approvalForm(
        running("make"),
        { ...decision, scopes: [{ label: "make", key: "k", ...(upTo !== undefined && { upTo }) }] },
        "2025-06-18",
      );
    expect(offeredBy(offered(), { answer: "always" })).toEqual({ answer: "always" });
    expect(offeredBy(offered("session"), { answer: "session" })).toEqual({ answer: "session" });
    expect(offeredBy(offered("session"), { answer: "always" })).toMatchObject({ answer: "refuse" });
    expect(offeredBy(approvalForm(running("make"), decision, "2025-11-25"), { answer: "session" })).toMatchObject({
      answer: "refuse",
    });
  });

  test("keeps a person's reason, up to a length", () => {
    const answer = approvalOf({ action: "accept", content: { answer: "refuse", reason: "no ".repeat(9_000) } });
    expect(answer).toEqual({ answer: "refuse", reason: expect.stringMatching(/^no no .*…$/) as string });
    expect(JSON.stringify(answer).length).toBeLessThan(1_100);
  });
});
