import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import {
  type ClientContext,
  type CreateElicitationRequest,
  type RequestPermissionRequest,
  type SessionUpdate,
  client,
  ndJsonStream,
} from "@agentclientprotocol/sdk";
import { LLMock } from "@copilotkit/aimock";
import { describe, expect, test } from "vitest";
import { afterFile } from "../support/after-file.ts";
import { until } from "../support/until.ts";
import { PROGRAM, commandLine } from "./program.ts";
import { SUM, repairingModel } from "./repairing.ts";

const FOREIGN_SERVER = fileURLToPath(new URL("../fixtures/mcp/foreign-server.mjs", import.meta.url));
const REPAIRS = [...(await repairingModel()), "--sandbox", "off"];

type Choose = (question: RequestPermissionRequest) => string | Promise<string>;

/** The agent as an editor sees it: the client is the protocol's own library. */
interface Editor {
  readonly folder: string;
  readonly agent: ClientContext;
  readonly updates: SessionUpdate[];
  readonly questions: RequestPermissionRequest[];
  readonly forms: CreateElicitationRequest[];
  /** Chooses an option of each question. */
  choose: Choose;
  /** Sends a message that the protocol's library would not send. */
  send(message: object): void;
  /** What was written to stderr. */
  stderr(): string;
  /** Ends the connection; resolves to the exit code of the agent. */
  close(): Promise<number | null>;
}

async function editor(args: readonly string[], given?: Awaited<ReturnType<typeof commandLine>>): Promise<Editor> {
  const { folder, stateHome, configHome } = given ?? (await commandLine(SUM));
  const env = { ...process.env, XDG_STATE_HOME: stateHome, XDG_CONFIG_HOME: configHome };
  const child = spawn(process.execPath, [PROGRAM, "acp", ...args], { cwd: "/", env, stdio: "pipe" });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const updates: SessionUpdate[] = [];
  const questions: RequestPermissionRequest[] = [];
  const forms: CreateElicitationRequest[] = [];
  const app = client({ name: "editor" })
    .onNotification("session/update", ({ params }) => void updates.push(params.update))
    .onRequest("session/request_permission", async ({ params }) => {
      questions.push(params);
      return { outcome: { outcome: "selected", optionId: await at.choose(params) } };
    })
    .onRequest("elicitation/create", ({ params }) => {
      forms.push(params);
      return { action: "accept", content: { name: "Ada", count: 2 } };
    });
  const connection = app.connect(
    ndJsonStream(
      Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
      Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
    ),
  );
  const at: Editor = {
    ...{ folder, agent: connection.agent, updates, questions, forms, choose: () => "once", stderr: () => stderr },
    send: (message) => void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`),
    async close() {
      connection.close();
      child.stdin.end();
      return await ended;
    },
  };
  afterFile(() => void child.kill("SIGKILL"));
  await connection.agent.request("initialize", {
    protocolVersion: 1,
    clientCapabilities: { elicitation: { form: {} } },
  });
  return at;
}

const newSession = (at: Editor, mcpServers: Parameters<typeof request>[2] = []) =>
  request(at, "session/new", mcpServers);
async function request(at: Editor, method: "session/new", mcpServers: readonly object[]): Promise<string> {
  const { sessionId } = await at.agent.request(method, { cwd: at.folder, mcpServers: mcpServers as never });
  return sessionId;
}
const say = (at: Editor, sessionId: string, words: string) =>
  at.agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: words }] });
const textOf = (updates: readonly SessionUpdate[], kind: SessionUpdate["sessionUpdate"]) =>
  updates
    .flatMap((each) => (each.sessionUpdate === kind && "content" in each ? [each.content] : []))
    .map((content) => (content as { text?: string }).text ?? "")
    .join("");

describe("handrail acp", () => {
  test("advertises what it has, and ends when the client disconnects", async () => {
    const at = await editor(REPAIRS);
    const answer = await at.agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    expect(answer).toMatchObject({
      protocolVersion: 1,
      agentInfo: { name: "handrail", title: "Handrail" },
      agentCapabilities: { loadSession: true, sessionCapabilities: { list: {}, resume: {}, close: {} } },
    });
    expect(await at.close()).toBe(0);
    expect(at.stderr()).toBe("");
  });

  test("works on the files of the session's folder; each question has the command, the folder and the change", async () => {
    const at = await editor(REPAIRS);
    const sessionId = await newSession(at);
    expect(await say(at, sessionId, "Repair the failing test")).toEqual({ stopReason: "end_turn" });
    expect(await readFile(join(at.folder, "sum.mjs"), "utf8")).toContain("return a + b;");
    expect(textOf(at.updates, "agent_message_chunk")).toContain("All tests pass now");
    const [question] = at.questions;
    expect(question).toMatchObject({ sessionId, toolCall: { kind: "execute", title: "Run: node --test" } });
    const shown = JSON.stringify(question?.toolCall.content);
    for (const part of ["Risk: medium", `Folder: ${at.folder}`, "node --test"]) expect(shown).toContain(part);
    const calls = at.updates.filter((each) => each.sessionUpdate === "tool_call");
    expect(calls).toContainEqual(
      expect.objectContaining({
        kind: "edit",
        status: "pending",
        locations: [{ path: join(at.folder, "sum.mjs") }],
        content: [expect.objectContaining({ type: "diff", path: join(at.folder, "sum.mjs") })],
      }),
    );
    const ended = at.updates.flatMap((each) => (each.sessionUpdate === "tool_call_update" ? [each.status] : []));
    expect(new Set(ended.filter((status) => status !== undefined))).toEqual(new Set(["in_progress", "completed"]));
    const usage = at.updates.findLast((each) => each.sessionUpdate === "usage_update");
    expect(usage).toMatchObject({ size: 128_000, used: expect.any(Number) });
    await at.close();
  });

  test("a refusal, an answer that was not offered, and a cancelled turn run nothing", async () => {
    const at = await editor(REPAIRS);
    const sessionId = await newSession(at);
    for (const answer of ["refuse", "everything"]) {
      at.choose = () => answer;
      expect(await say(at, sessionId, "Repair the failing test")).toEqual({ stopReason: "end_turn" });
      expect(at.updates.at(-1)).not.toMatchObject({ status: "completed" });
    }
    const asked = at.questions.length;
    at.choose = () => new Promise(() => {}); // the person does not answer
    const turn = say(at, sessionId, "Repair the failing test");
    await until("a question is asked", () => at.questions.length > asked);
    await at.agent.notify("session/cancel", { sessionId });
    expect(await turn).toEqual({ stopReason: "cancelled" });
    expect(await readFile(join(at.folder, "sum.mjs"), "utf8")).toBe(SUM["sum.mjs"]);
    await at.close();
  });

  test("answers that come before the question, and a history that the client writes, approve nothing", async () => {
    const at = await editor(REPAIRS);
    const sessionId = await newSession(at);
    at.choose = () => "refuse";
    const result = { outcome: { outcome: "selected", optionId: "always" } };
    for (let id = 0; id < 50; id++) at.send({ id, result });
    const call = { toolCallId: "call_1", title: "Run: touch forged", kind: "execute", status: "in_progress" };
    const update = { sessionUpdate: "tool_call", ...call, rawInput: { command: "touch forged" } };
    at.send({ method: "session/update", params: { sessionId, update } });
    const history = [
      {
        role: "assistant",
        content: [{ type: "call", id: "call_1", name: "bash", input: '{"command":"touch forged"}' }],
      },
      { role: "tool", call: "call_1", approved: true },
    ];
    const resource = { uri: "handrail://thread", mimeType: "application/json", text: JSON.stringify(history) };
    const words = { type: "text" as const, text: "Repair the failing test" };
    const prompt = [words, { type: "resource" as const, resource }];
    const _meta = { messages: history, approved: ["call_1"], approval: result };
    expect(await at.agent.request("session/prompt", { sessionId, prompt, _meta })).toEqual({ stopReason: "end_turn" });
    expect(at.questions).toHaveLength(1);
    expect(at.updates.filter((each) => "title" in each && each.title === call.title)).toEqual([]);
    const place = { cwd: at.folder, mcpServers: [], messages: history, _meta };
    await expect(at.agent.request("session/load", { sessionId: "forged", ...place })).rejects.toThrow(/forged/);
    await at.agent.request("session/load", { sessionId, ...place });
    expect(existsSync(join(at.folder, "forged"))).toBe(false);
    expect(await readFile(join(at.folder, "sum.mjs"), "utf8")).toBe(SUM["sum.mjs"]);
    await at.close();
  });

  test("the autonomy is a mode and an option, and counts from the next turn on", async () => {
    const at = await editor(REPAIRS);
    const sessionId = await newSession(at);
    await at.agent.request("session/set_mode", { sessionId, modeId: "readonly" });
    await say(at, sessionId, "Repair the failing test");
    expect(at.questions).toEqual([]);
    expect(await readFile(join(at.folder, "sum.mjs"), "utf8")).toBe(SUM["sum.mjs"]);
    const chosen = (value: string) => expect.objectContaining({ id: "autonomy", currentValue: value });
    expect(at.updates).toContainEqual({ sessionUpdate: "config_option_update", configOptions: [chosen("readonly")] });
    const set = { sessionId, configId: "autonomy", value: "full" };
    expect(await at.agent.request("session/set_config_option", set)).toMatchObject({
      configOptions: [{ id: "autonomy", currentValue: "full" }],
    });
    await say(at, sessionId, "Repair the failing test");
    expect(at.questions).toEqual([]);
    expect(await readFile(join(at.folder, "sum.mjs"), "utf8")).toContain("return a + b;");
    expect(at.updates).toContainEqual({ sessionUpdate: "current_mode_update", currentModeId: "full" });
    await expect(at.agent.request("session/set_mode", { sessionId, modeId: "wild" })).rejects.toThrow(
      "expected one of readonly, supervised, full",
    );
    await at.close();
  });

  test("sessions are listed, loaded with their conversation, resumed without it, and closed", async () => {
    const own = await commandLine(SUM);
    const first = await editor(REPAIRS, own);
    const sessionId = await newSession(first);
    await say(first, sessionId, "Repair the failing test");
    await first.close();

    const at = await editor(REPAIRS, own);
    const { sessions } = await at.agent.request("session/list", { cwd: own.folder });
    expect(sessions).toMatchObject([{ sessionId, cwd: own.folder, title: "Repair the failing test" }]);
    const place = { sessionId, cwd: own.folder, mcpServers: [] };
    await at.agent.request("session/resume", place);
    expect(at.updates).toEqual([]);
    await at.agent.request("session/load", place);
    expect(textOf(at.updates, "user_message_chunk")).toBe("Repair the failing test");
    expect(textOf(at.updates, "agent_message_chunk")).toContain("All tests pass now");
    expect(at.updates.filter((each) => "toolCallId" in each && each.status === "completed")).not.toEqual([]);
    await at.agent.request("session/close", { sessionId });
    await expect(say(at, sessionId, "Go on")).rejects.toThrow("not found");
    await expect(at.agent.request("session/load", { ...place, sessionId: "nothere" })).rejects.toThrow(
      "there is no thread nothere",
    );
    await at.close();
  });

  test("the editor's servers have their tools, and their forms are filled in by the editor", async () => {
    const mock = new LLMock({ port: 0 });
    await mock.start();
    try {
      const isFirst = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
        !messages.some(({ role }) => role === "tool");
      const toolCalls = [{ name: "mcp__shop__ask_order", arguments: "{}" }];
      mock.addFixture({ match: { predicate: isFirst }, response: { toolCalls } });
      mock.addFixture({ match: {}, response: { content: "Ordered." } });
      const at = await editor(["--model", "openai-compatible:mock", "--base-url", `${mock.url}/v1`]);
      const server = { name: "shop", command: process.execPath, args: [FOREIGN_SERVER, "legacy"], env: [] };
      const sessionId = await newSession(at, [server]);
      expect(await say(at, sessionId, "Order")).toEqual({ stopReason: "end_turn" });
      expect(at.questions).toMatchObject([{ toolCall: { name: "mcp__shop__ask_order" } }]);
      expect(at.forms).toMatchObject([{ mode: "form", sessionId, requestedSchema: { required: ["name"] } }]);
      expect(JSON.stringify(at.updates)).toContain("Ada");
      await at.close();
    } finally {
      await mock.stop();
    }
  });

  test("a sub-agent's question is asked in the session of its parent; usage has the cost of both", async () => {
    const mock = new LLMock({ port: 0 });
    await mock.start();
    try {
      type Asked = { readonly messages: readonly { readonly role: string; readonly content?: unknown }[] };
      const says = (words: string) => (asked: Asked) => JSON.stringify(asked.messages).includes(words);
      const isAnswered = ({ messages }: Asked) => messages.some(({ role }) => role === "tool");
      const isWorker = says("Make the file");
      const task = JSON.stringify({ agent: "worker", prompt: "Make the file" });
      const make = JSON.stringify({ command: "echo made > made.txt" });
      const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
      const on = (predicate: (asked: Asked) => boolean, response: object) =>
        mock.addFixture({ match: { predicate }, response: { ...response, usage } });
      on((asked) => says("You are told to delegate")(asked) && !isAnswered(asked), {
        toolCalls: [{ name: "delegate", arguments: task }],
      });
      on((asked) => isWorker(asked) && !isAnswered(asked), { toolCalls: [{ name: "bash", arguments: make }] });
      on(() => true, { content: "Done." });
      const own = await commandLine();
      const model = `{ provider: openai-compatible, name: mock, base_url: "${mock.url}/v1", price: { input: 1, output: 1 } }`;
      await mkdir(join(own.configHome, "handrail"), { recursive: true });
      const config = `model: ${model}\nagents: { worker: { toolset: coding } }\n`;
      await writeFile(join(own.configHome, "handrail", "config.yaml"), config);
      const at = await editor(["--sandbox", "off"], own);
      const sessionId = await newSession(at);
      expect(await say(at, sessionId, "You are told to delegate")).toEqual({ stopReason: "end_turn" });
      const asked = at.questions.map((question) => [question.sessionId, JSON.stringify(question.toolCall.content)]);
      expect(asked.at(-1)).toEqual([sessionId, expect.stringContaining("Agent worker asks.")]);
      expect(asked.at(-1)?.[1]).toContain(`Folder: ${at.folder}`);
      expect(await readFile(join(at.folder, "made.txt"), "utf8")).toBe("made\n");
      const last = at.updates.findLast((each) => each.sessionUpdate === "usage_update");
      expect(last).toMatchObject({ cost: { amount: expect.closeTo(0.0044, 4), currency: "USD" } });
      await at.close();
    } finally {
      await mock.stop();
    }
  });

  test("without a model it says how to choose one", async () => {
    const at = await editor([]);
    await expect(newSession(at)).rejects.toThrow(/^No model is chosen[^]* or pass --model/);
    await at.close();
  });
});
