import { expect, test } from "vitest";
import { plainQuestion } from "../../src/cli/plain.ts";
import type { Decision } from "../../src/core/contract/decision.ts";
import type { Effect } from "../../src/core/contract/effect.ts";
import { unifiedDiff } from "../../src/core/files/diff.ts";
import { until } from "../support/until.ts";
import { commandLine } from "./program.ts";
import { SUM, repairingModel } from "./repairing.ts";

test.each<[what: string, effect: Effect, decision: Partial<Decision>, text: string]>([
  [
    "a command",
    { kind: "exec", command: "git push", cwd: "sub" },
    { risk: "high", reason: "It reaches a remote", scopes: [{ label: "git push", key: "a" }] },
    "Question, high risk: Run: git push, in sub\nReason: It reaches a remote.\n" +
      "Answer s for this session or a for always allows: git push.\nAnswer y, s, a, n, or n with a reason, and Enter: ",
  ],
  [
    "a change",
    {
      kind: "write",
      does: "edit",
      path: ".env",
      change: unifiedDiff(".env", ".env", "A=1\nB=2\n", "A=1\n-- B=\x1b3\n"),
    },
    { risk: "high", scopes: [] },
    "Question, high risk: Edit: .env\nremoved line 2: B=2\nadded line 2: -- B=\\x1b3\n" +
      "Answer y, n, or n with a reason, and Enter: ",
  ],
  [
    "a long new file",
    {
      kind: "write",
      does: "replace",
      isNew: true,
      path: "x",
      change: unifiedDiff(undefined, "x", "", "a\n".repeat(40)),
    },
    { risk: "low", scopes: [] },
    `Question, low risk: New file: x\n${Array.from({ length: 19 }, (_, at) => `added line ${at + 1}: a\n`).join("")}` +
      "21 more lines: v shows all\nAnswer y, v, n, or n with a reason, and Enter: ",
  ],
])("a question about %s is asked in words", (_, effect, decision, text) => {
  const call = { tool: { name: "x" }, effects: [effect] };
  expect(plainQuestion(call, { verdict: "ask", risk: "low", ...decision }).text).toBe(text);
});

test("run --plain tells each call and its end in a line, and prints no sequence", async () => {
  const { run } = await commandLine({ "a.txt": "a\n" });
  const { code, stdout, stderr } = await run(["run", "--plain", "--model", "demo", "--yes", "Look around"]);
  expect(code).toBe(0);
  expect(stderr).toMatch(/^call bash: ls\ncall bash ended: ok, \d\.\d seconds, \d+ lines?$/m);
  expect(stderr).toMatch(/^Turn ended: \d+ tokens in, \d+ out\. To continue: handrail /m);
  expect(stdout + stderr).not.toMatch(/[\x1b●◌>]/);
});

test.each([
  ["--plain", ["--plain"], {}],
  ["TERM=dumb", [], { TERM: "dumb" }],
])("with %s a chat at a terminal says what is expected, asks in words, and redraws nothing", async (_, flags, env) => {
  const { terminal } = await commandLine(SUM);
  const { shows, type, ended, raw } = terminal(
    `handrail chat ${[...(await repairingModel()), "--sandbox", "off", ...flags].join(" ")}`,
    env,
  );
  await shows("Message, or /help, and Enter: ");
  type("Repair it\n");
  await shows("Question, medium risk: Run: node --test");
  await shows("or n with a reason, and Enter: ");
  type("y\n");
  await shows("call bash ended: exit 1");
  await shows("call edit: sum.mjs");
  await until("it asks again", () => raw().split("and Enter: ").length === 4);
  type("n\n");
  await shows("Turn ended:");
  await shows("Message, or /help, and Enter: ");
  type("/exit\n");
  expect(await ended).toBe(0);
  expect(raw()).not.toMatch(/\x1b|\r(?!\n)/);
});
