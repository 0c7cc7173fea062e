import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isAlive, until } from "../../support/until.ts";
import { workspace } from "../../support/workspace.ts";
import { type RawConnection, envelope, speak, speakToProcess } from "./connection.ts";

const FORMS = { elicitation: { form: {} } };

async function initialize(server: RawConnection, protocolVersion: string, capabilities: object = {}): Promise<void> {
  const params = { protocolVersion, capabilities, clientInfo: { name: "raw", version: "1" } };
  expect((await server.request("initialize", params)).result).toMatchObject({ protocolVersion });
  server.send({ method: "notifications/initialized" });
}

describe("without any SDK", () => {
  test("a client of 2025 gets what it requests, as JSON lines and nothing else", async () => {
    const workDir = await workspace({ "a.txt": "alpha\n" });
    const server = speakToProcess({ toolkit: { workDir } });
    await initialize(server, "2025-11-25");
    const { result: list } = await server.request("tools/list");
    expect(list.tools[0]).toMatchObject({ name: "read", inputSchema: { type: "object", required: ["path"] } });
    const { result } = await server.request("tools/call", { name: "read", arguments: { path: "a.txt" } });
    expect(result).toMatchObject({ isError: false, content: [{ type: "text", text: "alpha\n" }] });
    for (const line of server.lines) expect(JSON.parse(line)).toHaveProperty("jsonrpc", "2.0");
    server.child.stdin.end();
    expect(await server.ended).toBe(0);
  });

  test("a client of 2026 gets the same, without a handshake", async () => {
    const workDir = await workspace({ "a.txt": "alpha\n" });
    const server = speakToProcess({ toolkit: { workDir } });
    const { result: found } = await server.request("server/discover", { _meta: envelope() });
    expect(found).toMatchObject({ supportedVersions: ["2026-07-28"], capabilities: { tools: {} } });
    const { result: list } = await server.request("tools/list", { _meta: envelope() });
    expect(list.resultType).toBe("complete");
    expect(list.tools[0]).toMatchObject({ name: "read", inputSchema: { type: "object", required: ["path"] } });
    const call = { name: "read", arguments: { path: "a.txt" }, _meta: envelope() };
    const { result } = await server.request("tools/call", call);
    expect(result).toMatchObject({ resultType: "complete", isError: false, content: [{ text: "alpha\n" }] });
    const waiting = { name: "bash", arguments: { command: "touch mark" }, _meta: envelope(FORMS) };
    expect((await server.request("tools/call", waiting)).result).toMatchObject({ resultType: "input_required" });
    server.child.stdin.end();
    expect(await server.ended).toBe(0);
  });

  test("schemas are transmitted exactly as the tools have them", async () => {
    const server = await speak({ toolkit: { workDir: await workspace() } });
    await initialize(server, "2025-11-25");
    const { result } = await server.request("tools/list");
    const reporting = result.tools.find(({ name }: { name: string }) => name === "reporting");
    expect(reporting).toEqual({
      name: "reporting",
      title: "Report",
      description: expect.any(String) as string,
      inputSchema: {
        type: "object",
        properties: { updates: { type: "array", items: { type: "object" } } },
        required: ["updates"],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: true, openWorldHint: false },
    });
  });

  test("progress is sent before the result, and none after it", async () => {
    const server = await speak({ toolkit: { workDir: await workspace(), policy: { autonomy: "full" } } });
    await initialize(server, "2025-11-25");
    const call = { name: "bash", arguments: { command: "echo working" }, _meta: { progressToken: "mine" } };
    const { result } = await server.request("tools/call", call);
    expect(result.isError).toBe(false);
    await server.request("tools/list"); // nothing arrives late
    const messages = server.lines.map((line) => JSON.parse(line) as { method?: string; params?: object });
    expect(messages.map(({ method }) => method)).toEqual([undefined, "notifications/progress", undefined, undefined]);
    expect(messages[1]?.params).toEqual({ progressToken: "mine", progress: 1, message: "working" });
  });

  test("a client of 2025-06-18 is asked in the form that it supports", async () => {
    const server = await speak({ toolkit: { workDir: await workspace() } });
    await initialize(server, "2025-06-18", { elicitation: {} });
    const answer = server.request("tools/call", { name: "bash", arguments: { command: "touch mark; echo asked" } });
    const question = await server.take("the question", ({ method }) => method === "elicitation/create");
    expect(question.params).toMatchObject({
      requestedSchema: {
        properties: {
          answer: {
            type: "string",
            enum: ["once", "session", "refuse"],
            enumNames: ["Allow once", "Allow for this session", "Refuse"],
          },
        },
      },
    });
    server.send({ id: question.id, result: { action: "accept", content: { answer: "once" } } });
    expect((await answer).result).toMatchObject({ isError: false, content: [{ text: "asked\n" }] });
  });

  test("answers of a client of 2025 that come before the question approve nothing", async () => {
    const workDir = await workspace();
    const server = await speak({ toolkit: { workDir, policy: { shellConfirm: true } } });
    await initialize(server, "2025-11-25", FORMS);
    const accepted = { action: "accept", content: { answer: "always" } };
    for (let id = 0; id < 50; id++) server.send({ id, result: accepted });
    const inputs = { inputResponses: { approval: accepted }, approved: true };
    const params = { name: "bash", arguments: { command: "touch mark" }, ...inputs, _meta: { ...inputs } };
    server.send({ id: 60, method: "tools/call", params });
    const asked = await server.take("the question", ({ method }) => method === "elicitation/create");
    expect(existsSync(join(workDir, "mark"))).toBe(false);
    server.send({ id: asked.id ?? 0, result: { action: "decline" } });
    const { result } = await server.take("the result", ({ id }) => id === 60);
    expect(result).toMatchObject({ isError: true });
    expect(existsSync(join(workDir, "mark"))).toBe(false);
  });

  test("a client that can only open links is not asked", async () => {
    const server = await speak({ toolkit: { workDir: await workspace() } });
    await initialize(server, "2025-11-25", { elicitation: { url: {} } });
    const { result } = await server.request("tools/call", {
      name: "bash",
      arguments: { command: "touch mark; echo asked" },
    });
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("nobody to ask") as string }],
    });
  });

  test("a line that is not a message is answered with the protocol's error, and has no other effect", async () => {
    const server = await speak({ toolkit: { workDir: await workspace() } });
    const ping = '{"jsonrpc":"2.0","id":5,"method":"ping"}';
    const garbage = [
      ["garbage", -32_700, null],
      ["{", -32_700, null],
      ["\u0000\ufffd", -32_700, null],
      ["[]", -32_600, null],
      [`[${ping},{"id":"b","method":"ping"}]`, -32_600, 5, "b"],
      ["null", -32_600, null],
      ['"text"', -32_600, null],
      ["{}", -32_600, null],
      ['{"jsonrpc":"1.0","id":6}', -32_600, 6],
      ['{"jsonrpc":"2.0","id":6,"method":"ping","params":"none"}', -32_600, 6],
      ['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32_600, null],
    ] as const;
    const expectAnswers = async () => {
      for (const [line, code, ...ids] of garbage) {
        server.send(`${line}\n`);
        for (const id of ids) {
          const answer = await server.take(`the answer to ${line}`, (message) => message.id === id);
          expect(answer, line).toEqual({ jsonrpc: "2.0", id, error: { code, message: answer.error?.message } });
        }
      }
    };
    await expectAnswers();
    await initialize(server, "2025-03-26");
    await expectAnswers();
    // Blank lines and messages that look like answers are not answered, or they might be answered in turn.
    for (const line of [
      "",
      "\r",
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}',
      '{"result":1}',
    ]) {
      server.send(`${line}\n`);
    }
    server.send({ id: 7, result: { answer: "to nothing" } });
    server.send({ id: 8, method: "no/such/method" });
    server.send({ method: "notifications/cancelled", params: { requestId: { of: "no kind" } } });
    expect((await server.take("an error", ({ id }) => id === 8)).error).toMatchObject({ code: -32_601 });
    expect((await server.request("tools/call", { name: 3 })).error).toMatchObject({ code: -32_602 });
    expect((await server.request("tools/list")).result.tools).not.toEqual([]);
    const nameless = garbage.filter(([, , id]) => id === null);
    expect(server.lines.filter((line) => line.includes('"id":null'))).toHaveLength(2 * nameless.length);
  });

  test("null counts as absent, but for values of arguments; a line may begin with a byte order mark", async () => {
    const server = await speak({ toolkit: { preset: "readonly", workDir: await workspace({ "a.txt": "" }) } });
    const clientInfo = { name: "raw", version: "1", title: null };
    const capabilities = { roots: null, elicitation: null };
    const params = { protocolVersion: "2025-06-18", capabilities, clientInfo, _meta: null };
    const first = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    server.send(`\uFEFF${first}\n`);
    expect(await server.take("the answer", ({ id }) => id === 1)).toHaveProperty(
      "result.protocolVersion",
      "2025-06-18",
    );
    server.send({ id: null, method: "notifications/initialized", params: null });
    for (const given of [null, { cursor: null }, { _meta: null }, { _meta: { progressToken: null } }]) {
      const list = await server.request("tools/list", given as unknown as object);
      expect(list.result.tools).not.toEqual([]);
    }
    const ls = await server.request("tools/call", { name: "ls", arguments: null, _meta: { progressToken: null } });
    expect(ls.result).toMatchObject({
      isError: false,
      content: [{ text: expect.stringContaining("a.txt") as string }],
    });
    const read = await server.request("tools/call", { name: "read", arguments: { path: null } });
    expect(read.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("null") as string }],
    });
    expect(server.lines.filter((line) => line.includes('"id":null'))).toEqual([]);
  });

  test("a request that names an unknown revision gets an error that lists the served ones", async () => {
    const server = await speak({ toolkit: { workDir: await workspace() } });
    const unknown = { ...envelope(), "io.modelcontextprotocol/protocolVersion": "2099-01-01" };
    const expectRefused = async () => {
      for (const method of ["tools/list", "tools/call", "server/discover"]) {
        expect((await server.request(method, { name: "ls", arguments: {}, _meta: unknown })).error).toEqual({
          code: -32_022,
          message: "Unsupported protocol version: 2099-01-01",
          data: { supported: ["2026-07-28"], requested: "2099-01-01" },
        });
      }
    };
    await expectRefused();
    const { result } = await server.request("server/discover", { _meta: envelope() });
    expect(result).toMatchObject({ supportedVersions: ["2026-07-28"] }); // the same list
    expect((await server.request("tools/list", { _meta: envelope() })).result.tools).not.toEqual([]);
    await expectRefused();
  });

  test("a handshake with an unknown revision is answered with the newest one that has a handshake", async () => {
    const server = await speak({ toolkit: { workDir: await workspace() } });
    const params = { protocolVersion: "2099-01-01", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
    expect((await server.request("initialize", params)).result).toMatchObject({ protocolVersion: "2025-11-25" });
  });

  test("an endless line is not kept: the connection is closed", async () => {
    const server = speakToProcess({ toolkit: { workDir: await workspace() } });
    server.child.stdin.on("error", () => undefined); // it may close before it has read everything
    const piece = "x".repeat(1024 * 1024);
    for (let count = 0; count <= 64; count += 1) server.send(piece);
    expect(await server.ended).toBe(0);
    expect(server.lines).toEqual([]);
  });

  test("a message of many megabytes arrives complete", async () => {
    const workDir = await workspace();
    const server = await speak({ toolkit: { workDir, policy: { autonomy: "full" } } });
    await initialize(server, "2025-11-25");
    const content = "x".repeat(12 * 1024 * 1024);
    const { result } = await server.request("tools/call", { name: "write", arguments: { path: "big", content } });
    expect(result.isError).toBe(false);
    expect(readFileSync(join(workDir, "big"), "utf8") === content).toBe(true);
  });

  test.each([
    ["a command", "echo $$ > pid; exec sleep 1000"],
    ["a command that does not end when it is asked to", "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done"],
    ["a child that left the command's session", "setsid bash -c 'echo $$ > pid; exec sleep 1000' & wait"],
  ])("the end of stdin ends %s, and then the process", async (_, command) => {
    const workDir = await workspace();
    const server = speakToProcess({
      toolkit: { workDir, policy: { autonomy: "full" } },
      service: { closeToolkit: true, finishMs: 200 },
    });
    await initialize(server, "2025-11-25");
    server.send({ id: 1, method: "tools/call", params: { name: "bash", arguments: { command } } });
    const pidFile = join(workDir, "pid");
    await until("the command has started", () => existsSync(pidFile) && readFileSync(pidFile, "utf8") !== "");
    const running = Number(readFileSync(pidFile, "utf8"));
    expect(await isAlive(running)).toBe(true);
    server.child.stdin.end();
    expect(await server.ended).toBe(0);
    expect(await isAlive(running)).toBe(false);
    expect(server.stderr()).toBe("closed\n");
  });

  test("a client that stops reading and disconnects leaves nothing running", async () => {
    const workDir = await workspace();
    const server = speakToProcess({ toolkit: { workDir, policy: { autonomy: "full" } } });
    await initialize(server, "2025-11-25");
    server.child.stdout.destroy();
    server.send({ id: 1, method: "tools/list" });
    expect(await server.ended).toBe(0);
    expect(server.stderr()).toBe("closed\n");
  });
});

describe("the state of a call that waits for an approval (2026-07-28)", () => {
  const command = "touch mark; echo run >> ran"; // of medium risk, so a person is asked
  const call = { name: "bash", arguments: { command }, _meta: envelope(FORMS) };
  const answered = (requestState: string, answer = "once") => ({
    ...call,
    requestState,
    inputResponses: { approval: { action: "accept", content: { answer } } },
  });

  async function waiting(service = {}) {
    const workDir = await workspace();
    const server = await speak({ toolkit: { workDir }, service });
    const { result } = await server.request("tools/call", call);
    expect(result).toMatchObject({
      resultType: "input_required",
      inputRequests: { approval: { method: "elicitation/create", params: { message: expect.any(String) as string } } },
      requestState: expect.stringMatching(/^[0-9a-z]{32}$/) as string,
    });
    const ran = () => (existsSync(join(workDir, "ran")) ? readFileSync(join(workDir, "ran"), "utf8") : "");
    return { server, state: result.requestState as string, ran };
  }

  test("continues the call with an answer", async () => {
    const { server, state, ran } = await waiting();
    expect(ran()).toBe("");
    const { result } = await server.request("tools/call", answered(state));
    expect(result).toMatchObject({ resultType: "complete", isError: false });
    expect(ran()).toBe("run\n");
  });

  test("is valid for one request: the second runs nothing", async () => {
    const { server, state, ran } = await waiting();
    await server.request("tools/call", answered(state));
    const { error } = await server.request("tools/call", answered(state));
    expect(error).toMatchObject({ code: -32_602, message: expect.stringContaining("was used before") as string });
    expect(ran()).toBe("run\n");
  });

  test("is valid for one of two simultaneous requests", async () => {
    const { server, state, ran } = await waiting();
    const both = await Promise.all(
      [answered(state), answered(state)].map((params) => server.request("tools/call", params)),
    );
    expect(new Set(both.map(({ result, error }) => result?.isError ?? error?.code))).toEqual(new Set([false, -32_602]));
    expect(ran()).toBe("run\n");
  });

  test("cannot be forged", async () => {
    const { server, ran } = await waiting();
    for (const state of ["", "0".repeat(32), "__proto__"]) {
      const { error } = await server.request("tools/call", answered(state));
      const message = expect.stringContaining("no call is waiting with this") as string;
      expect(error).toMatchObject({ code: -32_602, message });
    }
    expect(ran()).toBe("");
  });

  test.each([
    ["other arguments", { arguments: { command: "touch mark; echo moved >> ran" } }],
    ["more arguments", { arguments: { command, timeout: 5 } }],
    ["no arguments", { arguments: undefined }],
    ["another tool", { name: "write" }],
    ["another name of the tool", { name: "run_command" }],
  ])("cannot be moved to a call with %s, and is lost by trying", async (_, moved) => {
    const { server, state, ran } = await waiting();
    const { error } = await server.request("tools/call", { ...answered(state), ...moved });
    const message = expect.stringContaining("belongs to a call with another name") as string;
    expect(error).toMatchObject({ code: -32_602, message });
    const { error: late } = await server.request("tools/call", answered(state));
    expect(late).toMatchObject({ code: -32_602 });
    expect(ran()).toBe("");
  });

  test("without an answer leads to the same question with a new state", async () => {
    const { server, state, ran } = await waiting();
    const { inputResponses: _, ...unanswered } = answered(state);
    const { result } = await server.request("tools/call", unanswered);
    expect(result).toMatchObject({ resultType: "input_required" });
    expect(result.requestState).not.toBe(state);
    expect(ran()).toBe("");
    const { result: done } = await server.request("tools/call", answered(result.requestState));
    expect(done).toMatchObject({ isError: false });
    expect(ran()).toBe("run\n");
  });

  test.each([
    ["no fields", {}],
    ["an unknown action", { action: "approve", content: { answer: "once" } }],
    ["a text as content", { action: "accept", content: "once" }],
    ["a list as content", { action: "accept", content: ["once"] }],
    ["empty content", { action: "accept", content: {} }],
    ["no content", { action: "accept" }],
  ])("with an answer of %s leads to a refusal", async (_, response) => {
    const { server, state, ran } = await waiting();
    const { result } = await server.request("tools/call", {
      ...answered(state),
      inputResponses: { approval: response },
    });
    const text = expect.stringMatching(/^Command execution denied by user\./) as string;
    expect(result).toMatchObject({ isError: true, content: [{ text }] });
    expect(ran()).toBe("");
  });

  test("is refused if the client can no longer ask: a second question is not answered", async () => {
    const { server } = await waiting();
    const twice = { name: "twice", _meta: envelope(FORMS) };
    const { result } = await server.request("tools/call", twice);
    const { result: last } = await server.request("tools/call", {
      ...answered(result.requestState),
      name: "twice",
      arguments: {},
      _meta: envelope(),
    });
    expect(last).toMatchObject({
      isError: true,
      content: [{ text: "Command execution denied by user. The client can no longer ask anyone." }],
    });
  });

  test("is required: answers without one approve nothing", async () => {
    const { server, state, ran } = await waiting();
    const { requestState: _, ...stateless } = answered(state);
    const { result } = await server.request("tools/call", stateless);
    expect(result).toMatchObject({ resultType: "input_required" });
    expect(ran()).toBe("");
  });
});
