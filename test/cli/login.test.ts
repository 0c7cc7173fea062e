// The first minutes of a person who has no key: login, the model that is chosen then, and what a chat offers.
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ollamaUrl } from "../../src/agent/models/ollama.ts";
import { webServer } from "../support/web-server.ts";
import { type CommandLine, commandLine } from "./program.ts";

const KEY = "sk-test-0a1b2c3d4e5f";
const NO_KEYS = {
  OPENAI_API_KEY: "",
  ANTHROPIC_API_KEY: "",
  GOOGLE_GENERATIVE_AI_API_KEY: "",
  GEMINI_API_KEY: "",
  OPENAI_COMPATIBLE_API_KEY: "",
  OLLAMA_HOST: "127.0.0.1:9", // nothing answers there
};

/** The program for a person without a key in the environment. */
async function newcomer(variables: { readonly [name: string]: string } = {}) {
  const line = await commandLine();
  return {
    ...line,
    file: join(line.configHome, "handrail", "keys"),
    terminal: (script: string) => line.terminal(script, { ...NO_KEYS, ...variables }),
    here: (...args: readonly string[]) => line.here(args, { ...NO_KEYS, ...variables }),
    /** Runs it with this on stdin. */
    login: (input: string, ...args: readonly string[]) => line.here(args, { ...NO_KEYS, ...variables }, { input }),
  };
}

/** A server that answers like a provider: with this status and body, to the right key only. */
async function provider(status: number, body = "{}") {
  const asked: string[] = [];
  const host = await webServer(({ url, headers }, response) => {
    asked.push(`${url} ${String(headers.authorization ?? headers["x-api-key"] ?? headers["x-goog-api-key"])}`);
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  });
  return { url: `http://${host}/v1`, asked };
}

/** A server that speaks what Handrail uses of Ollama: its list of models, and chat completions as a stream. */
async function ollama(...models: readonly string[]) {
  const asked: string[] = [];
  const host = await webServer((request, response) => {
    asked.push(request.url ?? "");
    if (request.url === "/api/tags") return void response.end(JSON.stringify({ models: models.map(named) }));
    request.resume().once("end", () => streamed(response, "Hello from the llama."));
  });
  return { host, asked };
}

const named = (name: string) => ({ name, model: name, size: 1, digest: "d", modified_at: "2026-01-01T00:00:00Z" });

function streamed(response: ServerResponse, content: string) {
  const piece = (delta: object, finish_reason: string | null) =>
    `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(`${piece({ role: "assistant", content }, null)}${piece({}, "stop")}data: [DONE]\n\n`);
}

test("login keeps a key of stdin in a private file beside other lines, logout removes it", async () => {
  const { file, login, here } = await newcomer();
  const { url } = await provider(200);
  const kept = await login(` ${KEY} \n`, "login", "anthropic", "--base-url", url);
  expect(kept).toMatchObject({ code: 0, stderr: "" });
  expect(kept.stdout).toMatch(
    /^anthropic accepts the key\. It is kept in .*\/keys as ANTHROPIC_API_KEY\.\nNext: handrail/,
  );
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(join(file, ".."))).mode & 0o777).toBe(0o700);

  await writeFile(file, `# mine\nMINE=other-key-1234\nexport ANTHROPIC_API_KEY="old"\n`);
  await login(KEY, "login", "anthropic", "--base-url", url);
  expect(await readFile(file, "utf8")).toBe(`# mine\nMINE=other-key-1234\nANTHROPIC_API_KEY=${KEY}\n`);
  const { stdout: list } = await here("login", "--list");
  expect(list).toMatch(/^anthropic +ANTHROPIC_API_KEY in .*\/keys$/m);
  expect(list).toMatch(/^google +none \(GOOGLE_GENERATIVE_AI_API_KEY, GEMINI_API_KEY\)$/m);
  expect(list).toMatch(/^ +MINE in .*, for key_variable$/m);
  expect(list).toMatch(/^ollama +none answers at http:\/\/127\.0\.0\.1:9$/m);
  expect(list).not.toContain(KEY);

  expect((await here("logout", "anthropic")).stdout).toBe("The key of anthropic is removed.\n");
  expect(await readFile(file, "utf8")).toBe("# mine\nMINE=other-key-1234\n");
});

test("a key of the environment is used instead of the kept one, and login says so", async () => {
  const { login, here } = await newcomer({ OPENAI_API_KEY: "sk-environment-1234" });
  const { url } = await provider(200);
  const { stdout } = await login(KEY, "login", "openai", "--base-url", url);
  expect(stdout).toContain("OPENAI_API_KEY of the environment is used instead while it is set.");
  expect((await here("login", "--list")).stdout).toMatch(/^openai +OPENAI_API_KEY in the environment$/m);
});

describe("a key is tried with its provider", () => {
  const INVALID = JSON.stringify({ error: { status: "INVALID_ARGUMENT", details: [{ reason: "API_KEY_INVALID" }] } });
  test.each([
    { name: "openai", status: 200, sent: `/v1/models Bearer ${KEY}`, says: "openai accepts the key." },
    { name: "anthropic", status: 200, sent: `/v1/models ${KEY}`, says: "anthropic accepts the key." },
    { name: "openai-compatible", status: 200, sent: `/v1/models Bearer ${KEY}`, says: "accepts the key." },
    { name: "openai", status: 503, says: /The key was not tried: 127\.0\.0\.1:\d+ answered 503\. It is kept/ },
    { name: "openai", status: 401, refused: true },
    { name: "google", status: 400, body: INVALID, sent: `/v1/models ${KEY}`, refused: true },
  ])("$name answers $status", async ({ name, status, body, sent, says, refused = false }) => {
    const { file, login } = await newcomer();
    const { url, asked } = await provider(status, body);
    const run = await login(KEY, "login", name, "--base-url", url);
    if (sent !== undefined) expect(asked).toEqual([sent]);
    if (says !== undefined) expect(run.stdout).toEqual(expect.stringMatching(says));
    expect(run.stdout + run.stderr).not.toContain(KEY);
    expect(run.code).toBe(refused ? 2 : 0);
    if (refused) expect(run.stderr).toBe(`handrail: ${name} does not accept this key; it is not kept\n`);
    await expect(stat(file))
      .resolves.toBeDefined()
      .catch(() => expect(refused).toBe(true));
  });

  test("one that cannot be reached leaves the key kept", async () => {
    const { login } = await newcomer();
    const { stdout } = await login(KEY, "login", "openai", "--base-url", "http://127.0.0.1:2/v1");
    expect(stdout).toMatch(/^The key was not tried: 127\.0\.0\.1:2 cannot be reached \(ECONNREFUSED\)\. It is kept in/);
  });
});

test.each([
  { input: "\n", message: "no key was given" },
  { input: "two words\n", message: "expected a key: one word" },
])("stdin with %j is not kept", async ({ input, message }) => {
  const { login } = await newcomer();
  const { code, stderr } = await login(input, "login", "openai");
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
});

test("at a terminal the provider is asked for, and the key is not shown", async () => {
  const { file, terminal } = await newcomer();
  const { url } = await provider(200);
  const { shows, type, screen, ended } = terminal(`handrail login --base-url ${url}`);
  await shows("Provider (openai, anthropic, google, openai-compatible): ");
  type("openai\r");
  await shows("Key of openai (it is not shown): ");
  type(`${KEY}\r`);
  expect(await ended).toBe(0);
  expect(screen()).toContain("openai accepts the key.");
  expect(screen()).not.toContain(KEY);
  expect(await readFile(file, "utf8")).toBe(`OPENAI_API_KEY=${KEY}\n`);
});

test("a kept key is out of reach of tools, and masked where it turns up", async () => {
  const { file, here, folder } = await newcomer();
  await keep(file);
  const call = async (tool: string, input: object) => (await here("call", tool, JSON.stringify(input), "--yes")).stdout;
  expect(await call("read", { path: file })).toMatch(/^Path blocked by security policy/);
  expect(await call("bash", { command: `cat ${file}` })).toMatch(/^Path blocked by security policy/);
  expect(await call("bash", { command: "env" })).not.toContain(KEY);
  await writeFile(join(folder, "notes.txt"), `the key: ${KEY}\n`);
  expect(await call("read", { path: "notes.txt" })).toMatch(/^the key: (?!sk-test)/);
});

async function keep(file: string, name = "OPENAI_API_KEY") {
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, `${name}=${KEY}\n`, { mode: 0o600 });
}

describe("without a model", () => {
  test("the usual model of the only provider with a key is used, and named", async () => {
    const { url } = await provider(500);
    const line = await newcomer();
    await keep(line.file);
    const { stderr } = await line.here("run", "--base-url", url, "hello");
    expect(stderr).toMatch(
      /^handrail: No model is chosen; uses openai:\S+, because the only key found is OPENAI_API_KEY/,
    );
  });

  test("with keys of several providers one has to be chosen", async () => {
    const { here } = await newcomer({ OPENAI_API_KEY: KEY, GEMINI_API_KEY: KEY });
    const { code, stderr } = await here("run", "hello");
    expect(code).toBe(2);
    expect(stderr).toMatch(/there are keys of openai and google\. Pass --model openai:\S+ or google:\S+, or set model/);
  });

  test("without any key, run names where was looked and what helps, also an Ollama that answers", async () => {
    const none = await (await newcomer()).here("run", "hello");
    expect(none).toMatchObject({ code: 2, stdout: "" });
    expect(none.stderr).toMatch(
      /none in OPENAI_API_KEY, ANTHROPIC_API_KEY,.*none in .*\/keys; no Ollama answers at http:\/\/127\.0\.0\.1:9\. Keep/,
    );
    const { host } = await ollama("qwen3:8b", "llama3.2");
    const { stderr } = await (await newcomer({ OLLAMA_HOST: host })).here("run", "hello");
    expect(stderr).toMatch(/Ollama at http:\/\/\S+ has qwen3:8b, llama3\.2\. Keep .* pass --model ollama:qwen3:8b;/);
  });

  test("Ollama is not looked for when there is a key", async () => {
    const { host, asked } = await ollama("qwen3:8b");
    const { url } = await provider(500);
    await (await newcomer({ OLLAMA_HOST: host, OPENAI_API_KEY: KEY })).here("run", "hello", "--base-url", url);
    expect(asked).toEqual([]);
  });
});

test("ollama:NAME is a model of the Ollama at OLLAMA_HOST", async () => {
  const { host } = await ollama("qwen3:8b");
  const { here } = await newcomer({ OLLAMA_HOST: host });
  expect((await here("run", "hello", "--model", "ollama:qwen3:8b")).stdout).toBe("Hello from the llama.\n");
});

test.each([
  [undefined, "http://127.0.0.1:11434"],
  ["0.0.0.0", "http://127.0.0.1:11434"],
  ["0.0.0.0:8080", "http://127.0.0.1:8080"],
  [":8080", "http://127.0.0.1:8080"],
  ["box", "http://box:11434"],
  ["[::1]:99", "http://[::1]:99"],
  ["[::]", "http://127.0.0.1:11434"],
  ["http://box:8080/", "http://box:8080"],
  ["https://box.example.org", "https://box.example.org"],
  ["not a host", "http://127.0.0.1:11434"],
])("OLLAMA_HOST=%s is %s", (host, url) => {
  expect(ollamaUrl(host === undefined ? {} : { OLLAMA_HOST: host })).toBe(url);
});

describe("a chat at a terminal without a model", () => {
  /** Answers the offer with these lines, each when its question is shown; then leaves the chat. */
  async function offered(line: Pick<CommandLine, "terminal">, answers: readonly (readonly [string, string])[]) {
    const { shows, type, screen, ended } = line.terminal("handrail chat");
    for (const [question, answer] of answers) {
      await shows(question);
      type(`${answer}\r`);
    }
    return { shows, type, screen, ended };
  }

  test("offers the Ollama that answers, and uses it", async () => {
    const { host } = await ollama("qwen3:8b");
    const { shows, type, screen, ended } = await offered(await newcomer({ OLLAMA_HOST: host }), [
      ["k, o, d, q? ", "o"],
    ]);
    await shows(" on this machine · ollama:qwen3:8b");
    type("hello\r");
    await shows("Hello from the llama.");
    type("/exit\r");
    expect(await ended).toBe(0);
    expect(screen()).toContain("  o  use ollama:qwen3:8b");
  });

  test("takes a key and keeps it; a provider that does not exist is asked for again", async () => {
    const line = await newcomer();
    const { shows, type, screen, ended } = await offered(line, [
      ["k, d, q? ", "k"],
      ["Of openai, anthropic, google? ", "opnai"],
      ['got "opnai".', "k"],
    ]);
    await shows('got "opnai".\nk, d, q? k\nOf openai, anthropic, google? ');
    type("anthropic\r");
    await shows("Key of anthropic (it is not shown): ");
    type(`${KEY}\r`);
    await shows(" on this machine · anthropic:");
    type("/exit\r");
    expect(await ended).toBe(0);
    expect(screen()).not.toContain(KEY);
    expect(await readFile(line.file, "utf8")).toBe(`ANTHROPIC_API_KEY=${KEY}\n`);
  });

  test("ends when none of it is wanted", async () => {
    const { screen, ended } = await offered(await newcomer(), [["k, d, q? ", "q"]]);
    expect(await ended).toBe(0);
    expect(screen()).toContain("No model is chosen, and there is no key: none in OPENAI_API_KEY");
  });
});
