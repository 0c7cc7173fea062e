import { readFileSync, readdirSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { memoryStore } from "../../src/record/activity/memory-store.ts";
import { askClient } from "../../src/cli/acp/permission.ts";
import { questionOf } from "../../src/cli/approver.ts";
import { questionBox } from "../../src/cli/chat/draw/question.ts";
import { exportThread } from "../../src/cli/export.ts";
import type { Io } from "../../src/cli/io.ts";
import { plainQuestion } from "../../src/cli/plain.ts";
import { note, say, stream, warn } from "../../src/cli/say.ts";
import { questionBody } from "../../src/serve/routes/approvals.ts";
import { agUiWriter } from "../../src/serve/turn-protocols.ts";
import { BUILT_IN_NAMES } from "../../src/core/contract/built-in-names.ts";
import type { CheckedCall } from "../../src/core/contract/call.ts";
import type { Effect } from "../../src/core/contract/effect.ts";
import { approvalForm } from "../../src/connect/mcp/question.ts";
import { describeCall } from "../../src/policy/describe.ts";
import { ioHere } from "./program.ts";
import { BUILT_IN } from "../../src/tools/presets/built-in.ts";
import { cases } from "../support/cases.ts";
import { lineOf } from "../../src/cli/commands/threads.ts";
import { readThread } from "../../src/record/activity/messages.ts";

/** What nobody may be shown: escapes but plain colours, controls, directions, and characters without a width. */
const UNSEEN =
  /\x1b(?!\[[0-9;]*m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/;

const hostile = fc
  .array(
    fc.constantFrom(
      ...["\x1b]0;title\x07", "\x1b[2J", "\x1b[1A", "\x1b[8m", "\r", "\b", "\x9b2J", "\u202e", "\u2066", "\u200b"],
      ...["\ufeff", "\x00", "word", "\n", " ", "`", "**", "<b>"],
    ),
    { minLength: 1, maxLength: 8 },
  )
  .map((parts) => `x${parts.join("")}`);

const effectsOf = (text: string): readonly Effect[] => [
  { kind: "read", path: text },
  { kind: "write", path: text, does: "edit", change: text },
  { kind: "exec", command: text, cwd: text, env: { [text]: text } },
  { kind: "terminal", pane: text, types: text, keys: [text] },
  { kind: "request", url: text, method: text, headers: { [text]: text }, body: text },
  { kind: "search", engine: text, query: text },
  { kind: "state", store: "memory", change: true, about: text, soon: text },
  { kind: "delegate", agent: text, task: text },
  { kind: "page", act: "script", url: text, detail: text },
  { kind: "foreign", from: text, tool: text, input: text },
  { kind: "foreign", from: text, asks: text, form: { type: "object", properties: { [text]: { type: "string" } } } },
];

function callOf(text: string, effects: readonly Effect[]): CheckedCall {
  const request = { id: text, thread: text, name: text, input: { [text]: text }, agent: text };
  return { request, tool: { name: text }, input: request.input, effects } as unknown as CheckedCall;
}

test("every view of a question shows hostile text as what it is, in every field of every effect", async () => {
  await fc.assert(
    fc.asyncProperty(hostile, async (text) => {
      for (const effects of [[], ...effectsOf(text).map((effect) => [effect])]) {
        const call = callOf(text, effects);
        const decision = { verdict: "ask", risk: "high", reason: text, scopes: [{ label: text, key: text }] } as const;
        const [line, plain] = [questionOf(call, decision), plainQuestion(call, decision)];
        const box = questionBox({ call, decision, workDir: "/w", waiting: 0 }, { rows: 40, columns: 80 });
        const sent: unknown[] = [];
        const request = async (_: string, asked: unknown) => {
          sent.push(asked);
          return { outcome: { outcome: "cancelled" }, action: "cancel" };
        };
        const asking = { client: { request }, sessionId: "s", hasForms: true, signal: new AbortController().signal };
        await askClient(call, decision, { content: [] } as never, asking as never);
        const [asked] = sent as { message?: string; toolCall?: { content: { content: { text: string } }[] } }[];
        const body = { question: "q", call: "c", thread: "t", name: text, input: { [text]: text }, askedMs: 1 };
        const waiting = [questionBody({ ...body, agent: text, effects, decision }, "api")];
        const run = agUiWriter("t", "r").of({ type: "end", turn: { reason: "parked" }, waiting } as never);
        const [{ outcome }] = run as [{ outcome: { interrupts: { message: string }[] } }];
        const views = {
          ...{ line: line.text, whole: line.whole, plain: plain.text, plainWhole: plain.whole },
          box: [...box.long, ...box.box].join("\n"),
          acp: asked?.message ?? asked?.toolCall?.content[0]?.content.text,
          agUi: outcome.interrupts[0]?.message,
          mcp: approvalForm(callOf("tool", effects), decision, "2025-11-25").message,
          mcpWhole: approvalForm(callOf("tool", effects), decision, "2025-11-25", "whole").message,
        };
        for (const [view, shown = ""] of Object.entries(views))
          expect([view, UNSEEN.exec(shown)]).toEqual([view, null]);
      }
    }),
    { numRuns: cases(40) },
  );
});

test("every view of a thread shows hostile text as what it is, in the fields of its events", async () => {
  await fc.assert(
    fc.asyncProperty(hostile, async (text) => {
      const store = memoryStore();
      const [thread, at] = ["t", Date.now()];
      const content = [{ type: "text", text }] as const;
      const of = { thread, at, call: "c" } as const;
      store.append({ type: "thread.created", thread, at, target: text, workDir: text });
      store.append({ type: "message.added", thread, at, message: { role: "user", from: "person", content } });
      store.append({ type: "call.started", ...of, name: text, input: { [text]: text }, agent: text } as never);
      store.append({ type: "call.updated", ...of, update: { displayMessage: text } } as never);
      const decision = { verdict: "ask", risk: "high", reason: text, rule: text, scopes: [{ label: text, key: text }] };
      const effects = effectsOf(text);
      const aside = [{ kind: "start-up", path: text, what: text, isAside: true }];
      const more: readonly { readonly type: string; readonly [field: string]: unknown }[] = [
        { type: "turn.ended", reason: "failed", message: text },
        { type: "call.approved", decision, effects, input: { [text]: text } },
        { type: "call.hooked", event: text, program: text, did: text, reason: text },
        { type: "approval.requested", question: "q", decision, effects },
        { type: "approval.decided", question: "q", by: text, approval: { answer: "refuse", reason: text } },
        { type: "call.updated", update: { output: { text, stream: "stdout" } } },
        { type: "job.started", job: text, command: text, lifetime: "toolkit" },
        { type: "job.output", job: text, text },
        { type: "port.opened", job: text, port: 1, by: text, url: text },
        { type: "sandbox.refused", refusals: aside },
        { type: "job.ended", job: text, exit: { how: "failed", message: text } },
        { type: "stop.requested", by: text },
      ];
      for (const event of more) store.append({ ...of, ...event } as never);
      const spoken = [
        { type: "text", text },
        { type: "reasoning", text },
        { type: "call", id: "c", name: text, input: text },
      ];
      store.append({ type: "message.added", thread, at, message: { role: "assistant", content: spoken } } as never);
      store.append({ type: "call.finished", ...of, status: "failed", error: text, content } as never);
      const messages = await readThread(store, thread);
      const [summary] = await store.threads();
      const views = {
        show: messages.map(lineOf).join("\n"),
        md: await exportThread(store, summary!, "md"),
      };
      for (const [view, shown] of Object.entries(views)) expect([view, UNSEEN.exec(shown)]).toEqual([view, null]);
      expect(views.show.split("\n")).toHaveLength(messages.length);
    }),
    { numRuns: cases(60) },
  );
});

describe("what is printed for people", () => {
  test("cannot act on the terminal, whoever prints it", () => {
    for (const print of [say, note, stream, (to: Io, text: string) => warn(to, [text])]) {
      const { io, stdout, stderr } = ioHere();
      print({ ...io, stdout: Object.assign(io.stdout, { isTTY: true }) }, "a\x1b]0;x\x07\u202e\u200bb");
      expect((stdout() + stderr()).trimEnd()).toContain("a\\x1b]0;x\\x07\\u202e\\u200bb");
    }
  });

  /** Files that write to the streams themselves: the owner, machines' protocols, and faces that draw on the terminal. */
  const WRITERS = new Set([
    ...["src/cli/say.ts", "src/cli/main.ts", "src/cli/guard/hook-client.ts"],
    ...["src/cli/chat/input.ts", "src/cli/chat/terminal-face.ts", "src/cli/commands/store.ts", "src/cli/progress.ts"],
  ]);

  test("is printed by one module: no other file of the command line writes to stdout or stderr", () => {
    const files = readdirSync("src/cli", { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => `src/cli/${name}`);
    const writers = files.filter((file) =>
      /\bstd(out|err)\.write\(|console\.(log|error)\(/.test(readFileSync(file, "utf8")),
    );
    expect(writers.filter((file) => !WRITERS.has(file))).toEqual([]);
  });
});

const LONG = "y".repeat(9_000);

test.each<[string, readonly Effect[]]>([
  ["a body", [{ kind: "request", url: "https://x.example", method: "POST", body: `${LONG}END` }]],
  ["a header", [{ kind: "fetch", url: "https://x.example", method: "GET", headers: { "X-To": `${LONG}END` } }]],
  ["a script for a page", [{ kind: "page", act: "script", detail: `${LONG}END` }]],
  ["a task", [{ kind: "delegate", agent: "helper", task: `${LONG}END` }]],
  ["arguments of another program", [{ kind: "foreign", from: "mcp:x", tool: "t", input: `{"a":"${LONG}END"}` }]],
  ["arguments of an own tool", []],
])("a question shows the whole of %s: folded where it is long, whole when it is unfolded", (_, effects) => {
  const call = { ...callOf("tool", effects), request: { input: { a: `${LONG}END` } } } as unknown as CheckedCall;
  const decision = { verdict: "ask", risk: "low" } as const;
  expect(describeCall(call)).toContain("END");
  const [line, form] = [questionOf(call, decision), approvalForm(call, decision, "2025-11-25")];
  expect(line.text.length).toBeLessThan(3_000);
  expect(line.whole).toContain(`${LONG}END`);
  expect(plainQuestion(call, decision).text + (plainQuestion(call, decision).whole ?? "")).toContain(`${LONG}END`);
  expect(form.message.length).toBeLessThan(3_000);
  expect(JSON.stringify(form)).toContain("Show all of it first");
  expect(approvalForm(call, decision, "2025-11-25", "whole").message).toContain(`${LONG}END`);
});

test("Handrail's own tools are all known by name, so that only other tools show their arguments twice", () => {
  expect(Object.keys(BUILT_IN).filter((name) => !BUILT_IN_NAMES.includes(name))).toEqual([]);
});

test("an own tool's arguments are shown besides its effects, unless these show them", () => {
  const request = { input: { order: "A-17", amount: 500 } };
  const of = (effects: readonly Effect[], name = "refund_order") => describeCall({ tool: { name }, effects, request });
  expect(of([])).toBe('Call: refund_order with {"order":"A-17","amount":500}');
  const post = { kind: "request", url: "https://shop.example/A-17", method: "POST" } as const;
  expect(of([post])).toBe('POST: https://shop.example/A-17\nArguments of refund_order: {"order":"A-17","amount":500}');
  const run = { kind: "exec", command: "refund A-17" } as const;
  expect(describeCall({ tool: { name: "x" }, effects: [run], request: { input: { command: "refund A-17" } } })).toBe(
    "Run: refund A-17",
  );
});
