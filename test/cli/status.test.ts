import { describe, expect, test } from "vitest";
import { type Status, type StatusState, createStatus, statusLine, statusOf } from "../../src/cli/chat/status.ts";
import type { Backend } from "../../src/core/contract/backend.ts";
import { createApprovals } from "../../src/cli/chat/approvals.ts";
import { widthOf } from "../../src/cli/chat/wrap.ts";

const state: StatusState = {
  ...{ model: "sonnet-4-5", host: "this machine", autonomy: "asks", sandbox: "sandbox", isBusy: true },
  ...{ contextUsed: 62_000, contextSize: 200_000, costUsd: 0.42, tokens: 81_234 },
};
const { costUsd: _, ...unpriced } = state;
const remote: StatusState = {
  ...state,
  host: "deploy@web-3",
  sandbox: "no sandbox",
  autonomy: "approves all until 9:12",
};

describe("the status line", () => {
  test.each<[columns: number, state: StatusState, line: string]>([
    [80, state, " sonnet-4-5 · this machine · sandbox · asks · Esc stops     31% of 200k · $0.42 "],
    [
      80,
      { ...state, isBusy: false },
      " sonnet-4-5 · this machine · sandbox · asks                 31% of 200k · $0.42 ",
    ],
    [70, state, " sonnet-4-5 · this machine · sandbox · asks · Esc stops   31% · $0.42 "],
    [60, state, " this machine · sandbox · asks · Esc stops      31% · $0.42 "],
    [50, state, " this machine · sandbox · asks · Esc stops    31% "],
    [40, state, " this machine · sandbox · asks      31% "],
    [30, state, " this machine · asks      31% "],
    [20, state, " this machine · asks"],
    [80, unpriced, " sonnet-4-5 · this machine · sandbox · asks · Esc stops        31% · 81k tokens "],
    [80, remote, " deploy@web-3 · no sandbox · approves all until 9:12 · Esc stops    31% · $0.42 "],
    [60, remote, " deploy@web-3 · no sandbox · approves all until 9:12    31% "],
    [46, remote, " deplo… · no sandbox · approves all until 9:12"],
    [
      80,
      { ...state, costUsd: 0.001 },
      " sonnet-4-5 · this machine · sandbox · asks · Esc stops    31% of 200k · <$0.01 ",
    ],
    [
      80,
      { ...state, host: "a\x1b[2Jb" },
      " sonnet-4-5 · a\\x1b[2Jb · sandbox · asks · Esc stops        31% of 200k · $0.42 ",
    ],
  ])("%i columns, %o", (columns, given, line) => {
    const shown = statusLine(given, columns);
    expect(widthOf(shown)).toBeLessThanOrEqual(columns);
    expect(shown).toBe(line);
  });

  test("is read from the agent, its place and what was approved; a running approval has its end", () => {
    const approvals = createApprovals(async () => ({ answer: "refuse" }), false);
    const agent = {
      context: () => ({ instructions: 10, tools: 20, messages: 30, results: 40, size: 1_000 }),
      spent: { usage: { input: 5, cached: 0, output: 6 } },
    };
    const at = (name: string, autonomy: "supervised" | "readonly" | "full") => {
      const model = { provider: "anthropic", modelId: "claude" };
      return statusOf(agent, { backend: { name } as Backend }, { model, autonomy, approvals, isBusy: false });
    };
    expect(at("sandbox(local)", "supervised")).toEqual({
      ...{ model: "claude", host: "this machine", autonomy: "asks", sandbox: "no sandbox", isBusy: false },
      ...{ contextUsed: 100, contextSize: 1_000, tokens: 11 },
    });
    expect(at("ssh:deploy@web-3", "full")).toMatchObject({ host: "deploy@web-3", autonomy: "full autonomy" });
    approvals.set("10m");
    expect(at("docker:web", "supervised")).toMatchObject({ host: "docker:web" });
    expect(at("docker:web", "supervised").autonomy).toMatch(/^approves all until \d\d:\d\d$/);
    expect(at("local", "readonly").autonomy).toBe("read only");
    approvals.set("none");
    expect(at("local", "supervised").autonomy).toBe("refuses questions");
  });

  test("is read again when it has changed, and when a running approval ends", async () => {
    let read = 0;
    let untilMs = Infinity;
    let status: Status | undefined;
    await new Promise<void>((ended) => {
      status = createStatus({
        read: () => ({ ...state, tokens: ++read }),
        untilMs: () => untilMs,
        onChange: ended,
      });
      status.line(false, 80);
      status.line(true, 80);
      expect(read).toBe(1);
      untilMs = Date.now() + 10;
      status.changed();
      status.line(false, 80);
    });
    untilMs = Infinity;
    status?.line(false, 80);
    expect(read).toBe(3);
    status?.close();
  });
});
