// Secrets in what models and people see: real commands, files, jobs and stores. `LEDGER_TOKEN` is an environment
// variable that is passed to commands on purpose.
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { Type } from "typebox";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { memoryStore } from "../../../src/record/activity/memory-store.ts";
import type { ActivityEvent } from "../../../src/core/contract/activity.ts";
import { ToolFailure } from "../../../src/core/contract/failure.ts";
import type { Approver } from "../../../src/core/contract/policy.ts";
import { defineTool } from "../../../src/core/contract/tool.ts";
import type { Toolkit } from "../../../src/core/contract/toolkit.ts";
import { asText } from "../../../src/core/call/result.ts";
import { createOutputLog } from "../../../src/core/output/log.ts";
import { createMask } from "../../../src/core/output/mask.ts";
import { maskedOutput } from "../../../src/core/output/masked-output.ts";
import { createOutputs } from "../../../src/core/output/outputs.ts";
import { until } from "../../support/until.ts";
import { temporaryFolder, toolkitWith } from "../../support/workspace.ts";
import { type Tools, toolsOn } from "../../tools/tools.ts";

const SECRET = "lt_7Qw93kdLz0Pm44vXcY81bN6s";
const MARK = "[masked: LEDGER_TOKEN]";
/** A key of a known format, in two parts, so that this file contains none. */
const KEY = `ghp_${"aB3dE6gH9".repeat(4)}`;

const before = process.env["LEDGER_TOKEN"];
beforeAll(() => void (process.env["LEDGER_TOKEN"] = SECRET));
afterAll(() => {
  if (before === undefined) delete process.env["LEDGER_TOKEN"];
  else process.env["LEDGER_TOKEN"] = before;
});

const passing = { passEnv: ["LEDGER_TOKEN"] };

async function recorded({ store }: Toolkit): Promise<readonly ActivityEvent[]> {
  const events: ActivityEvent[] = [];
  for await (const event of store.events()) events.push(event);
  return events;
}

/** Everything that was shown to anybody. */
async function shown({ toolkit }: Tools, result: unknown): Promise<string> {
  return JSON.stringify([result, await recorded(toolkit)]);
}

describe("a command's output", () => {
  test("is masked in the result, data, live output and record, also for a variable passed on purpose", async () => {
    const tools = await toolsOn({}, passing);
    const live: ActivityEvent[] = [];
    const result = await tools.toolkit.call(
      {
        name: "bash",
        input: {
          command:
            'echo "token: $LEDGER_TOKEN."; sleep 0.3; printf "%s" "${LEDGER_TOKEN:0:9}"; sleep 0.3; echo "${LEDGER_TOKEN:9}"',
        },
      },
      { onEvent: (event) => live.push(event) },
    );
    expect(asText(result)).toBe(`token: ${MARK}.\n${MARK}\n`);
    expect(result).toMatchObject({ status: "ok", data: { output: `token: ${MARK}.\n${MARK}\n` } });
    const output = live.map((event) => (event.type === "call.updated" ? (event.update.output ?? "") : "")).join("");
    expect(output).toBe(`token: ${MARK}.\n${MARK}\n`);
    expect(await shown(tools, live)).not.toContain(SECRET.slice(0, 9));
  });

  test("keeps no part of a secret where the output is truncated", async () => {
    const tools = await toolsOn({}, passing);
    for (const kept of [3, 10, 20]) {
      const result = await tools.text("bash", {
        command: `printf 'x%.0s' $(seq 60000); printf '%s' "$LEDGER_TOKEN"; printf 'y%.0s' $(seq ${51_200 - kept})`,
      });
      expect(result).toContain("[Output truncated");
      expect(result).not.toContain(SECRET.slice(-6));
    }
  });

  test("is masked in its file too, and whenever it is read", async () => {
    const stateDir = temporaryFolder();
    const tools = await toolsOn({}, { ...passing, stateDir, outputOwner: "me" });
    const cut = await tools.text("bash", { command: 'for i in $(seq 3000); do echo "$i $LEDGER_TOKEN"; done' });
    const [, uri = "", id = ""] = /(output:\/\/(\w+))/.exec(cut) ?? [];
    expect(cut).not.toContain(SECRET);
    expect(await readFile(join(stateDir, "outputs/me", id), "utf8")).toContain(`1 ${MARK}\n`);
    expect(await tools.text("read", { path: uri, limit: 2 })).toContain(`1 ${MARK}\n2 ${MARK}\n`);
    expect(await tools.text("grep", { path: uri, pattern: "^2999 " })).toContain(`2999 ${MARK}`);
  });

  test("of a job is masked when it is shown, in the notice of its end and in the record", async () => {
    const tools = await toolsOn({}, passing);
    await tools.call("bash", { command: `echo $LEDGER_TOKEN ${KEY}`, background: true });
    expect(await tools.text("jobs", { action: "wait", id: "1" })).toContain(`${MARK} [masked: GitHub token]`);
    expect(await tools.text("read", { path: "output://job-1" })).toContain(`${MARK} [masked: GitHub token]`);
    // A notice cuts a command after 80 characters, in the middle of this key.
    let text = await tools.text("bash", { command: `echo ${"a".repeat(60)} ${KEY}`, background: true });
    await until("the notice of the second job comes", async () => {
      if (!text.includes("Job 2 has ended")) text = await tools.text("bash", { command: "true" });
      return text.includes("Job 2 has ended");
    });
    expect(text).toContain(`Job 2 has ended: echo ${"a".repeat(60)} [masked: GitH…`);
    const events = await recorded(tools.toolkit);
    expect(events.some(({ type }) => type === "job.started")).toBe(true);
    expect(await shown(tools, text)).not.toMatch(new RegExp(`${KEY.slice(0, 8)}|${SECRET}`));
    expect(JSON.stringify((await tools.toolkit.jobs.list()).map(({ command }) => command))).not.toContain(KEY);
  });
});

describe("a result that masking makes longer than its limit", () => {
  const SHORT = "lt7Qw93k"; // 8 characters; its mark has 16
  const lines = Array.from({ length: 4_000 }, (_, index) => `${index + 1} ${SHORT} and more\n`).join("");
  const NOTICE = /^\[(?:Output truncated|Full output|Showing lines|Lines \d).*\]$|\.\.\.\[truncated\]/gm;

  test.for([
    ["bash", { command: "cat a.txt" }, "[Output truncated at 50KB. Full output saved to: output://ID]", 1],
    ["bash", { command: "cat a.txt; exit 3" }, "[Output truncated at 50KB. Full output saved to: output://ID]", 1],
    [
      "grep",
      { pattern: "and", max_results: 5_000 },
      "[Output truncated at 50KB. Full output saved to: output://ID]",
      1,
    ],
    ["find", { pattern: "*.md" }, "[Output truncated at 50KB. Full output saved to: output://ID]", 1],
    ["read", { path: "a.txt" }, "[Showing lines 1-1687 of 4000. Use offset=1688 to continue.]", 0],
    ["run_shell", { command: "cat a.txt" }, "...[truncated]", 0],
    ["read_file", { path: "a.txt" }, "...[truncated]", 0],
  ] as const)("carries one notice and is saved once: %s", async ([name, input, notice, saved]) => {
    const stateDir = temporaryFolder();
    const names = name === "find" ? Array.from({ length: 200 }, (_, index) => `${index}${SHORT.repeat(30)}.md`) : [];
    const files = Object.fromEntries(names.map((each) => [each, ""]));
    const preset = name === "read_file" || name === "run_shell" ? "operator" : "all";
    const options = { preset, mask: { values: [SHORT] }, stateDir, outputOwner: "me" };
    const tools = await toolsOn({ "a.txt": lines, ...files }, options);
    const result = await tools.text(name, input);
    expect(result.replace(/output:\/\/\w{16}/, "output://ID").match(NOTICE)).toEqual([notice]);
    expect(Buffer.byteLength(result)).toBeLessThan(51_200 + 500);
    expect(result).not.toContain(SHORT);
    expect(await readdir(join(stateDir, "outputs/me")).catch(() => [])).toHaveLength(saved);
  });

  test("continues where it was truncated, with read and with jobs", async () => {
    const tools = await toolsOn({ "a.txt": lines }, { mask: { values: [SHORT] } });
    await tools.call("bash", { command: "cat a.txt", background: true });
    await tools.call("jobs", { action: "wait", id: "1" });
    for (const [name, input] of [
      ["read", { path: "a.txt" }],
      ["jobs", { action: "output", id: "1" }],
    ] as const) {
      const seen: string[] = [];
      for (let offset: number | undefined = 1; offset !== undefined;) {
        const part = await tools.text(name, { ...input, offset });
        expect(part).not.toContain("[Output truncated");
        seen.push(...(part.match(/^\d+(?= )/gm) ?? []));
        offset = Number(/Use offset=(\d+)/.exec(part)?.[1] ?? 0) || undefined;
      }
      expect(seen).toEqual(Array.from({ length: 4_000 }, (_, index) => String(index + 1)));
    }
  });
});

describe("what a call is given and how it ends", () => {
  test("arguments, effects and refusals are masked in question and record; the command runs as it was written", async () => {
    const asked: string[] = [];
    const tools = await toolsOn(
      {},
      {
        policy: { autonomy: "supervised", shellConfirm: true },
        approver: async ({ effects: [effect] }) => {
          asked.push(effect?.kind === "exec" ? effect.command : "");
          return asked.length === 1 ? { answer: "once" } : { answer: "refuse", reason: `not with ${KEY}` };
        },
      },
    );
    const length = await tools.text("bash", { command: `printf %s ${KEY} | wc -c` });
    expect(length.trim()).toBe(String(KEY.length));
    expect(await tools.text("bash", { command: `echo ${KEY}` })).toBe(
      "Command execution denied by user. not with [masked: GitHub token]",
    );
    expect(asked).toContain("printf %s [masked: GitHub token] | wc -c");
    const record = await shown(tools, length);
    expect(record).not.toContain(KEY);
    expect(record).toContain("printf %s [masked: GitHub token] | wc -c");
  });

  test("a failure is masked in its message, hint, content and data, and so is an unexpected error", async () => {
    const fails = defineTool({
      name: "fails",
      description: "Fails.",
      input: Type.Object({ how: Type.String() }),
      touches: [],
      effects: () => [],
      async run({ how }) {
        if (how === "badly") throw new Error(`no access with ${KEY}`);
        throw new ToolFailure(`no ${SECRET}`, {
          hint: `use ${SECRET}`,
          content: [{ type: "text", text: `was ${SECRET}` }],
          data: { at: SECRET },
        });
      },
    });
    const tools = await toolsOn({}, { tools: [fails] });
    expect(await tools.call("fails", { how: "well" })).toEqual({
      id: expect.any(String) as string,
      status: "failed",
      message: `no ${MARK}`,
      hint: `use ${MARK}`,
      content: [{ type: "text", text: `was ${MARK}` }],
      data: { at: MARK },
    });
    expect(await tools.text("fails", { how: "badly" })).toBe("Tool error: no access with [masked: GitHub token]");
    expect(await tools.call("fails", { who: KEY })).toMatchObject({ status: "invalid-input" });
    expect(await shown(tools, null)).not.toMatch(new RegExp(`${KEY}|${SECRET}`));
  });

  test("a nested call's result is masked too, and what a tool reports", async () => {
    const nests = defineTool({
      name: "nests",
      description: "Calls read.",
      input: Type.Object({}),
      touches: ["read"],
      effects: () => [],
      async run(_, { call, report }) {
        report({ displayMessage: `reading ${SECRET}`, data: { token: SECRET } });
        return asText(await call("read", { path: "a.txt" }));
      },
    });
    const { read } = await import("../../../src/tools/read.ts");
    const tools = await toolsOn({ "a.txt": `t ${SECRET}\n` }, { tools: [nests, read()] });
    expect(await tools.text("nests", {})).toContain(`t ${MARK}`);
    expect(await shown(tools, null)).not.toContain(SECRET);
  });

  test("an image is not changed", async () => {
    const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const data = Buffer.concat([Buffer.from(pixel, "base64"), Buffer.from(KEY)]).toString("base64");
    const paints = defineTool({
      name: "paints",
      description: "Attaches a picture.",
      input: Type.Object({}),
      touches: [],
      effects: () => [],
      async run(_, { attach }) {
        attach({ type: "image", data, mimeType: "image/png" });
        return `painted ${KEY}`;
      },
    });
    const tools = await toolsOn({}, { tools: [paints] });
    expect(await tools.call("paints", {})).toMatchObject({
      content: [
        { type: "text", text: "painted [masked: GitHub token]" },
        { type: "image", data },
      ],
    });
  });

  test("the values of a command's environment are masked from then on", async () => {
    const runs = defineTool({
      name: "runs",
      description: "Runs a command with a variable.",
      input: Type.Object({ env: Type.Object({ VAULT_TOKEN: Type.String() }) }),
      touches: ["exec"],
      effects: ({ env }) => [{ kind: "exec", command: "echo $VAULT_TOKEN", env }],
      async run({ env }, { backend }) {
        const process = await backend.spawn({ argv: ["sh", "-c", "echo $VAULT_TOKEN"], env });
        await process.exit;
        return Buffer.from(await process.output.tail(100)).toString();
      },
    });
    const tools = await toolsOn({}, { tools: [runs] });
    const value = "vault-5578-of-the-call";
    expect(await tools.text("runs", { env: { VAULT_TOKEN: value } })).toBe("[masked: VAULT_TOKEN]\n");
    expect(await shown(tools, null)).not.toContain(value);
  });
});

describe("files", () => {
  const content = `# config\nTOKEN=${SECRET}\nname = one\n`;

  test("are shown masked, and keep their secrets when the text next to them is edited", async () => {
    const tools = await toolsOn({ "a.conf": content });
    expect(await tools.text("read", { path: "a.conf" })).toContain(`TOKEN=${MARK}\nname = one`);
    const edited = await tools.call("edit", { path: "a.conf", old_text: "name = one", new_text: "name = two" });
    expect(edited.status).toBe("ok");
    expect(JSON.stringify(edited)).not.toContain(SECRET);
    expect(await readFile(join(tools.folder, "a.conf"), "utf8")).toBe(content.replace("one", "two"));
  });

  test.for([
    ["edit", { path: "a.conf", old_text: `TOKEN=${MARK}`, new_text: "TOKEN=x" }, "old_text"],
    ["edit", { path: "a.conf", edits: [{ old_text: "name = one", new_text: `name = ${MARK}` }] }, "edits[0].new_text"],
    ["write", { path: "a.conf", content: content.replace(SECRET, MARK) }, "content"],
    ["bash", { command: `echo 'TOKEN=${MARK}' > a.conf` }, "command"],
  ] as const)("are not written by %s with a mask in place of the secret", async ([name, input, parameter]) => {
    const tools = await toolsOn({ "a.conf": content });
    await tools.call("read", { path: "a.conf" });
    const result = await tools.call(name, input);
    expect(result.status).toBe("invalid-input");
    expect(asText(result)).toBe(
      `validation error: parameter "${parameter}" contains ${MARK}, which stands for a secret that you cannot see ` +
        "and would be used literally. Omit it: edit only the text around it, and in a command use the variable that " +
        "holds the secret.",
    );
    expect(await readFile(join(tools.folder, "a.conf"), "utf8")).toBe(content);
    expect(await readdir(tools.folder)).toEqual(["a.conf"]);
  });

  test("may contain text that only looks like a mask, and a mask may be searched for", async () => {
    const tools = await toolsOn();
    expect(await tools.call("write", { path: "b.md", content: "shown as [masked: NAME]\n" })).toMatchObject({
      status: "ok",
    });
    expect((await tools.call("grep", { pattern: "masked: LEDGER_TOKEN" })).status).toBe("ok");
    expect((await tools.call("grep", { pattern: MARK, literal: true })).status).toBe("ok");
  });
});

describe("the option mask", () => {
  test("adds values and names of variables", async () => {
    const tools = await toolsOn(
      { "a.txt": `one-of-mine-2 ${process.env["PATH"]}\n` },
      { mask: { values: ["one-of-mine-2"], names: ["PATH"] } },
    );
    expect(await tools.text("read", { path: "a.txt" })).toContain("[masked: secret] [masked: PATH]");
  });

  test("false masks nothing, and then a mask is text like any other", async () => {
    const tools = await toolsOn({ "a.txt": `${SECRET}\n` }, { mask: false });
    expect(await tools.text("read", { path: "a.txt" })).toContain(SECRET);
    expect(await tools.call("write", { path: "b.txt", content: MARK })).toMatchObject({ status: "ok" });
  });
});

test("a saved output has no secret on disk either, whether a command or a tool wrote it", async () => {
  const stateDir = temporaryFolder();
  const writes = defineTool({
    name: "writes",
    description: "For a test.",
    input: Type.Object({}),
    run: async (_, { outputs }) => outputs.save(`before ${KEY} after`),
  });
  const toolkit = await toolkitWith({ toolsets: { both: ["bash"] }, preset: "both", tools: [writes], stateDir });
  const command = `yes 'line with ${KEY}' | head -n 5000`;
  expect(asText(await toolkit.call({ name: "bash", input: { command } }, { approver: approving }))).toContain(
    "output://",
  );
  expect(await toolkit.call({ name: "writes", input: {} })).toMatchObject({ status: "ok" });
  const entries = await readdir(join(stateDir, "outputs"), { recursive: true, withFileTypes: true });
  const files = entries.filter((each) => each.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const saved = await Promise.all(files.map((file) => readFile(file, "utf8")));
  expect(saved.filter((text) => text.includes("[masked: "))).toHaveLength(2);
  expect(saved.filter((text) => text.includes(KEY))).toEqual([]);
});

const approving: Approver = async () => ({ answer: "once" });

test("a large output has no secret on disk either, wherever it is cut into pieces", async () => {
  const folder = temporaryFolder();
  const outputs = createOutputs({ folder, owner: "me" });
  const log = createOutputLog({ folder: outputs.folder });
  const block = `-----BEGIN PRIVATE KEY-----\n${"QUJD".repeat(400)}\n-----END PRIVATE KEY-----\n`;
  const line = `line with ${KEY} and more\n`;
  for (let size = 0; size < 20_000_000; size += 1_000_000) {
    log.write(Buffer.from("x".repeat(70).concat("\n").repeat(13_500)));
    log.write(Buffer.from(line.repeat(700) + block));
  }
  await log.end();
  const mask = createMask(process.env);
  const id = await outputs.save(await maskedOutput(log, mask));
  const saved = await readFile(join(outputs.folder, id), "latin1");
  expect(saved.length).toBeGreaterThan(17_000_000);
  expect([saved.includes(KEY), saved.includes("QUJDQUJD")]).toEqual([false, false]);
  expect(mask.text(saved) === saved).toBe(true);
  const plain = createOutputLog({ folder: outputs.folder });
  plain.write(Buffer.alloc(17_000_000, "harmless\n"));
  await plain.end();
  expect(await maskedOutput(plain, mask)).toBe(plain);
  await Promise.all([log.dispose(), plain.dispose(), outputs.close()]);
});

test("the password of the store's server is a secret", async () => {
  const store = { ...memoryStore(), url: "postgres://ann:Xk29dLq8vTzz@db.example.org/handrail" };
  const toolkit = await toolkitWith({ store });
  const result = await toolkit.call({ name: "bash", input: { command: "echo Xk29dLq8vTzz" } });
  expect(asText(result)).toContain("[masked: STORE]");
});
