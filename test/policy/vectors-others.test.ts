// The cases of test/fixtures/security.json that are neither paths, URLs nor shell scripts to be judged: what people are
// shown, runaway processes, patterns, and the environment of commands. (Shell, path and url have their own files.)
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import type { ToolResult } from "../../src/core/contract/result.ts";
import { asText } from "../../src/core/call/result.ts";
import { oneLine, terminalSafe } from "../../src/core/output/terminal-text.ts";
import { truncateHead } from "../../src/core/output/truncate.ts";
import { layout } from "../support/layout.ts";
import { toolkitWith, workspace } from "../support/workspace.ts";

interface Vector {
  readonly id: string;
  readonly area: string;
  readonly input: string;
  readonly expect: "block" | "approve" | "allow" | "neutralise" | "survive";
  readonly why: string;
  readonly kind: "literal" | "scenario";
  readonly repeat?: number;
}

const all = JSON.parse(
  readFileSync(new URL("../fixtures/security.json", import.meta.url), "utf8"),
) as readonly Vector[];
const of = (area: string) => all.filter((vector) => vector.area === area);
const titleOf = ({ id, why }: Vector) => `${id}: ${why}`;

test("every literal case of the file is in one of the test files", () => {
  const areas = new Set(all.filter(({ kind }) => kind === "literal").map(({ area }) => area));
  expect([...areas].toSorted()).toEqual(["output", "path", "process", "regex", "shell", "url"]);
});

describe("security vectors: output", () => {
  for (const vector of of("output")) {
    test(titleOf(vector), async () => {
      const input = vector.repeat === undefined ? vector.input : vector.input.repeat(vector.repeat);
      if (vector.expect === "survive") {
        const cut = truncateHead(input, { bytes: 100 });
        expect(Buffer.byteLength(cut.text)).toBeLessThanOrEqual(100);
        return;
      }
      const colourless = (text: string) => text.replaceAll(/\u001b\[[0-9;]*m/g, ""); // colours may stay
      const shown = colourless(terminalSafe(input));
      // Nothing that moves the cursor, queries the terminal or hides text; in one line, not even a line break.
      expect(shown).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
      expect(oneLine(input, 1_000)).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
      // Without control characters it is plain text: a terminal opens no links, loads no images, runs no templates.
      const plain = colourless(input);
      if (!/[\u0000-\u001f\u007f]/.test(plain)) expect(shown).toBe(plain);
    });
  }

  test("a character that is split between two chunks is complete again", async () => {
    const workDir = await workspace();
    const toolkit = await toolkitWith({ workDir, policy: { autonomy: "full" } });
    const shown: string[] = [];
    const command = String.raw`printf 'emoji \xf0\x9f'; sleep 0.3; printf '\x98\x80 split'`;
    const result = await toolkit.call(
      { name: "bash", input: { command } },
      { onEvent: (event) => event.type === "call.updated" && shown.push(event.update.output ?? "") },
    );
    expect(asText(result)).toBe("emoji 😀 split");
    expect(shown.join("")).toBe("emoji 😀 split");
  });
});

describe("security vectors: process", () => {
  for (const vector of of("process")) {
    test(titleOf(vector), async () => {
      const toolkit = await toolkitWith({ workDir: await workspace(), policy: { autonomy: "full" } });
      if (vector.expect === "approve") {
        const careful = await toolkitWith({ workDir: await workspace() });
        const { verdict } = await careful.judge([{ kind: "exec", command: vector.input }]);
        expect(["ask", "deny"]).toContain(verdict);
        return;
      }
      const result = await toolkit.call({ name: "bash", input: { command: vector.input, timeout: 0.5 } });
      expect(["ok", "failed", "denied"]).toContain(result.status);
      expect(asText(result).length).toBeLessThan(60_000);
    });
  }
});

describe("security vectors: patterns", () => {
  for (const vector of of("regex").filter(({ kind }) => kind === "literal" || kind === "scenario")) {
    test(titleOf(vector), async () => {
      const world = await layout();
      await world.file("a.txt", `${"a".repeat(5_000)}\nxxxx\n`);
      await world.link("link", world.outside);
      const { forbiddenPaths } = world;
      const toolkit = await world.toolkit({ preset: "all", policy: { autonomy: "full", forbiddenPaths } });
      const input = vector.repeat === undefined ? vector.input : vector.input.repeat(vector.repeat);
      const results: ToolResult[] = [
        await toolkit.call({ name: "find", input: { pattern: input } }),
        await toolkit.call({ name: "grep", input: { pattern: "secret", glob: input } }),
        ...(vector.id.startsWith("regex-redos")
          ? [await toolkit.call({ name: "grep", input: { pattern: input } })]
          : []),
      ];
      for (const result of results) {
        expect(["ok", "failed", "denied", "invalid-input"]).toContain(result.status);
        expect(asText(result)).not.toMatch(/secret\.txt|passwd|^\s+at .*:\d+:\d+/m);
      }
    });
  }
});

describe("security vectors: environment", () => {
  for (const vector of of("env")) {
    test(titleOf(vector), async () => {
      vi.stubEnv(vector.input, vector.input === "TZ" ? "UTC" : vector.input === "PATH" ? process.env["PATH"] : "");
      const toolkit = await toolkitWith({ workDir: await workspace(), policy: { autonomy: "full" } });
      const names = asText(
        await toolkit.call({ name: "bash", input: { command: "env -0 | cut -z -d= -f1 | tr '\\0' '\\n'" } }),
      );
      expect(names.split("\n").includes(vector.input)).toBe(vector.expect === "allow");
      vi.unstubAllEnvs();
    });
  }
});

test("rate-limits-010: a forbidden path stays forbidden in full autonomy", async () => {
  const world = await layout();
  await mkdir(join(world.home, ".ssh"));
  await writeFile(join(world.home, ".ssh", "id_rsa"), "key");
  const toolkit = await world.toolkit({ policy: { autonomy: "full", forbiddenPaths: [...world.forbiddenPaths] } });
  expect((await toolkit.judge([{ kind: "exec", command: "cat ~/.ssh/id_rsa" }])).verdict).toBe("deny");
});
