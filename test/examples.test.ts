import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../", import.meta.url));
const folder = `${root}examples/`;
const examples = readdirSync(folder).filter((file) => file.endsWith(".mjs"));

/** A replacement for the providers: calls a tool once, then answers. */
const mock = new LLMock({ port: 0 });
beforeAll(async () => {
  await mock.start();
  const calls = {
    "gpt-5": [{ name: "read", arguments: '{"path":"notes.txt"}' }],
    "claude-sonnet-4-5": [{ name: "write", arguments: '{"path":"hello.txt","content":"hello\\n"}' }],
    "gpt-5-mini": [
      { name: "read", arguments: '{"path":"logo.png"}' },
      { name: "bash", arguments: '{"command":"./release.sh"}' },
    ],
  };
  for (const [model, toolCalls] of Object.entries(calls)) {
    mock.addFixture({
      match: { model, predicate: ({ messages }) => messages.at(-1)?.role === "user" },
      response: { toolCalls },
    });
    mock.addFixture({ match: { model }, response: { content: "That is done." } });
  }
});
afterAll(() => mock.stop());

describe("every example runs and its assertions hold", { timeout: 150_000 }, () => {
  test.each(examples)("%s", async (name) => {
    const env = {
      ...process.env,
      ...{ OPENAI_API_KEY: "test", OPENAI_BASE_URL: `${mock.url}/v1` },
      ...{ ANTHROPIC_API_KEY: "test", ANTHROPIC_BASE_URL: mock.url },
    };
    const options = { cwd: folder, timeout: 120_000, env };
    const { stdout } = await promisify(execFile)(process.execPath, [folder + name], options);
    expect(stdout).not.toBe("");
  });
});
