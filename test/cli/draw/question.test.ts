import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { type BoxedQuestion, questionBox } from "../../../src/cli/chat/draw/question.ts";
import { widthOf } from "../../../src/cli/chat/draw/text.ts";
import type { Decision, Scope } from "../../../src/core/contract/decision.ts";
import type { Effect } from "../../../src/core/contract/effect.ts";
import { unifiedDiff } from "../../../src/core/files/diff.ts";

const about = (effect: Effect, decision: Partial<Decision> = {}, more: Partial<BoxedQuestion> = {}): BoxedQuestion => ({
  call: { tool: { name: "tool" }, effects: [effect] },
  decision: { verdict: "ask", risk: "medium", ...decision },
  ...{ workDir: "/srv/shop", waiting: 0 },
  ...more,
});
const push = (scope: Partial<Scope> = {}) =>
  about(
    { kind: "exec", command: "git push --force origin fix/clock", within: "none", real: "/srv/shop" },
    {
      ...{ risk: "high", rule: "outside", reason: "It replaces the branch on origin" },
      scopes: [{ label: "git push --force origin fix/clock", key: "k", ...scope }],
    },
    { host: "deploy@web-3", waiting: 2, canEdit: true },
  );
const drawn = (question: BoxedQuestion, columns = 80, rows = 24) => {
  const { box, long, keys } = questionBox(question, { rows, columns });
  for (const line of [...box, ...long]) expect(widthOf(line)).toBeLessThanOrEqual(columns);
  return { box: box.map(stripVTControlCharacters), long: long.map(stripVTControlCharacters), keys };
};

test("a question about a command shows all that is decided on, and what each key does", () => {
  const { box, keys, long } = drawn(push({ upTo: "session" }));
  expect(box).toEqual([
    "╭ ? Run, outside the sandbox · high risk ·  deploy@web-3  ─────────────────────╮",
    "│ git push --force origin fix/clock                                            │",
    "│                                                                              │",
    "│ It replaces the branch on origin.                                            │",
    "│ Folder /srv/shop                                                             │",
    "│                                                                              │",
    "│ y  once                               n  refuse, with a reason if you like   │",
    "│ s  this session: exactly this         e  edit the command                    │",
    "│ a  always: not for this one           ?  how this was judged                 │",
    "╰──────────────────────────────────────────────────────────────────────────────╯",
    " 2 more questions wait (Tab)",
  ]);
  expect(keys).toEqual({ y: "once", n: "refuse", s: "session", e: "edit", "?": "explain" });
  expect(long).toEqual([]);
});

test("in 60 columns the host is below the title, and each answer has a row", () => {
  const { box } = drawn(push({ upTo: "session" }), 44);
  expect(box.slice(0, 4)).toEqual([
    "╭ ? Run, outside the sandbox · high risk ──╮",
    "│ On  deploy@web-3                         │",
    "│ git push --force origin fix/clock        │",
    "│                                          │",
  ]);
  expect(box).toContain("│ s  this session: exactly this            │");
});

test("the change of a file is the question, with the changed words", () => {
  const change = "-DATABASE_URL=postgres://localhost/orchard\n+DATABASE_URL=postgres://db.internal/orchard";
  const question = about(
    { kind: "write", does: "edit", path: ".env", change },
    { risk: "high", rule: "sensitive_files", reason: "Writing .env requires approval", scopes: [] },
  );
  const { box, keys } = drawn(question, 60);
  expect(box.slice(0, 4)).toEqual([
    "╭ ? Edit .env · high risk ─────────────────────────────────╮",
    "│   - DATABASE_URL=postgres://localhost/orchard            │",
    "│   + DATABASE_URL=postgres://db.internal/orchard          │",
    "│                                                          │",
  ]);
  expect(box).toContain("│ y  this change, once                                     │");
  expect(keys).toEqual({ y: "once", n: "refuse", "?": "explain" });
  expect(questionBox(question, { rows: 24, columns: 80 }).box.join("")).toContain("\x1b[1;4;32mdb.internal\x1b[0m");
});

test("a change that is longer than the window is printed first, whole, and the box refers to it", () => {
  const change = unifiedDiff(undefined, "x.ts", "", "a line\n".repeat(100));
  const question = about({ kind: "write", does: "replace", isNew: true, path: "x.ts", change });
  const { box, long, keys } = drawn(question, 60, 20);
  expect(long).toHaveLength(100);
  expect(box.length).toBeLessThanOrEqual(14);
  expect(box[0]).toMatch(/^╭ \? New file x\.ts · medium risk ─/);
  expect(box[4]).toMatch(/^│ … all of it is above: \+100 /);
  expect(keys).toMatchObject({ v: "view" });
});

test("a long command is wrapped, whole; several parts of it are listed; a sub-agent is named", () => {
  const command = `npm ci && npm test -- ${"--option ".repeat(9)}`.trim();
  const question = about(
    { kind: "exec", command, env: { A: "b" }, within: { network: ["registry.npmjs.org"] } },
    {
      rule: "autonomy",
      reason: "Command requires approval",
      scopes: [
        { label: "npm ci", key: "a" },
        { label: "npm test", key: "b" },
      ],
    },
    { call: { tool: { name: "bash" }, request: { agent: "reviewer" }, effects: [] } },
  );
  const { box } = drawn(
    {
      ...question,
      call: {
        ...question.call,
        effects: about({ kind: "exec", command, env: { A: "b" }, within: { network: ["registry.npmjs.org"] } }).call
          .effects,
      },
    },
    60,
  );
  expect(box[0]).toMatch(/^╭ \? Agent reviewer asks: Run · medium risk ─/);
  const text = box.map((row) => row.slice(2, -2)).join("\n");
  expect(text.replaceAll(/ *\n⤷ /g, "")).toContain(command);
  expect(text).toMatch(
    /^with A=b *\nreaching registry\.npmjs\.org *\n *\nFolder \/srv\/shop *\nFor longer, this is approved: *\n {2}npm ci *\n {2}npm test/m,
  );
  expect(text).toMatch(/^a {2}always, in this workspace/m);
});

test.each(["\x1b[2J\x07", "a\u202eb", "x".repeat(500), "日本語".repeat(30), "a\nb\n".repeat(30)])(
  "nothing of %j leaves the box",
  (command) => {
    const { box, long } = drawn(
      about({ kind: "exec", command }, { reason: command, scopes: [{ label: command, key: "k" }] }),
      60,
    );
    for (const row of [...box, ...long]) expect(row).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202e]/);
    for (const row of box.slice(1, -1)) expect(widthOf(row)).toBe(60);
  },
);
