import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client, ProtocolError } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, expect, test } from "vitest";
import type { Approver } from "../src/core/contract/policy.ts";
import type { Toolkit } from "../src/core/contract/toolkit.ts";
import { defineTool } from "../src/core/contract/tool.ts";
import { asText } from "../src/core/call/result.ts";
import { quoteWords } from "../src/core/util/quote.ts";
import { PROGRAM, commandLine } from "./cli/program.ts";
import { throwing } from "./fixtures/endings/tools.mjs";
import { until } from "./support/until.ts";
import { temporaryFolder, toolkitWith } from "./support/workspace.ts";

/** A program with its own tools in addition to those for coding. */
const FIXTURE = fileURLToPath(new URL("fixtures/endings/program.mjs", import.meta.url));

/** One way in which a call can go wrong, and how to cause it through each of the three entries. */
interface Ending {
  readonly ending: string;
  readonly name: string;
  /** The arguments as a model writes them. */
  readonly input: string;
  /** The text that a model reads, word for word. */
  readonly text: (folder: string) => string;
  readonly library: "a call" | "an approver that refuses" | "a tool of ours" | "a signal that fires";
  readonly commandLine: "handrail call" | "a person who types n" | "the fixture, which has the tool" | "SIGTERM";
  readonly mcp:
    | "handrail mcp"
    | "a client whose person declines"
    | "the fixture, which has the tool"
    // Arguments in MCP are JSON already, so broken ones come only from a tool that passes on what a model wrote.
    | "the fixture, whose tool makes the call"
    // A request that its client cancels gets no answer (MCP, cancellation), so the server's toolkit is closed here.
    | "the fixture, whose toolkit is closed";
}

const ENDINGS: readonly Ending[] = [
  {
    ending: "unknown",
    name: "raed",
    input: '{"path":"README.md"}',
    text: () => 'unknown tool "raed". Closest: "read"',
    library: "a call",
    commandLine: "handrail call",
    mcp: "handrail mcp",
  },
  {
    ending: "broken JSON",
    name: "read",
    input: '{"path": }',
    text: () =>
      `validation error: the arguments are not valid JSON: Unexpected token '}' at line 1 column 10, at "}". Send one JSON object.`,
    library: "a call",
    commandLine: "handrail call",
    mcp: "the fixture, whose tool makes the call",
  },
  {
    ending: "invalid",
    name: "read",
    input: '{"pth":"README.md","limit":"many"}',
    text: () =>
      [
        'validation error: missing required parameter "path"',
        'validation error: unknown parameter "pth"; did you mean "path"?',
        'validation error: parameter "limit": expected integer, got string "many"',
      ].join("\n"),
    library: "a call",
    commandLine: "handrail call",
    mcp: "handrail mcp",
  },
  {
    ending: "denied by policy",
    name: "read",
    input: '{"path":"/etc/passwd"}',
    text: () => "Path blocked by security policy: /etc/passwd (forbidden_paths has /etc)",
    library: "a call",
    commandLine: "handrail call",
    mcp: "handrail mcp",
  },
  {
    ending: "refused by a person",
    name: "bash",
    input: '{"command":"cat .env"}',
    text: () => "Command execution denied by user.",
    library: "an approver that refuses",
    commandLine: "a person who types n",
    mcp: "a client whose person declines",
  },
  {
    ending: "failing",
    name: "read",
    input: '{"path":"none.txt"}',
    text: (folder) => `Tool error: File not found: ${folder}/none.txt\nLook for it with bash.`,
    library: "a call",
    commandLine: "handrail call",
    mcp: "handrail mcp",
  },
  {
    ending: "throwing",
    name: "throwing",
    input: "{}",
    text: () => "Tool error: index 7 of 3",
    library: "a tool of ours",
    commandLine: "the fixture, which has the tool",
    mcp: "the fixture, which has the tool",
  },
  {
    ending: "aborted",
    name: "bash",
    input: '{"command":"printf before; touch running; exec sleep 600"}',
    text: () => "The call was stopped before it finished.\nbefore",
    library: "a signal that fires",
    commandLine: "SIGTERM",
    mcp: "the fixture, whose toolkit is closed",
  },
];

const line = await commandLine({ ".env": "TOKEN=abcdefgh12345678\n" });
const running = join(line.folder, "running");
const clients: Client[] = [];

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
});

test.for(ENDINGS)(
  "a call that ends as $ending reads the same in a program, on the command line and over MCP",
  async (ending) => {
    const text = ending.text(line.folder);
    expect(await inProgram(ending)).toEqual({ text, isError: true });
    expect(await onCommandLine(ending)).toEqual({ text, isError: true });
    expect(await overMcp(ending)).toEqual({ text, isError: ending.mcp !== "the fixture, whose tool makes the call" });
  },
);

test("the table has the eight ways a call can go wrong, each once", () => {
  expect(new Set(ENDINGS.map(({ ending }) => ending)).size).toBe(8);
});

interface Answer {
  readonly text: string;
  readonly isError: boolean;
}

async function inProgram({ name, input, library }: Ending): Promise<Answer> {
  const refuse: Approver = async () => ({ answer: "refuse" });
  const toolkit: Toolkit = await toolkitWith({
    preset: "coding",
    tools: [defineTool(throwing)],
    workDir: line.folder,
    ...(library === "an approver that refuses" && { approver: refuse }),
    ...(library === "a signal that fires" && { policy: { autonomy: "full" } }),
  });
  const controller = new AbortController();
  if (library === "a signal that fires") void whenItRuns(() => controller.abort());
  const result = await toolkit.call({ name, input }, { signal: controller.signal });
  return { text: asText(result), isError: result.status !== "ok" };
}

async function onCommandLine({ name, input, commandLine: how }: Ending): Promise<Answer> {
  switch (how) {
    case "handrail call":
      return answerOf(await line.run(["call", name, input]));
    case "the fixture, which has the tool":
      return answerOf(await line.shell(quoteWords([process.execPath, FIXTURE, "call", name, input])));
    case "SIGTERM": {
      const call = line.start(["call", name, input, "--yes"]);
      await whenItRuns(() => call.kill("SIGTERM"));
      return answerOf(await call.ended);
    }
    case "a person who types n": {
      const terminal = line.terminal(`handrail call ${name} '${input}' > result.txt`);
      await terminal.shows("[y/N");
      terminal.type("n\r");
      const code = await terminal.ended;
      const { stdout } = await line.shell("cat result.txt");
      return answerOf({ code, stdout });
    }
  }
}

/** The program ends its output with one line break. */
function answerOf({ code, stdout }: { readonly code: number | null; readonly stdout: string }): Answer {
  expect(stdout.at(-1)).toBe("\n");
  return { text: stdout.slice(0, -1), isError: code === 1 };
}

async function overMcp({ name, input, mcp }: Ending): Promise<Answer> {
  switch (mcp) {
    case "handrail mcp":
    case "a client whose person declines":
      return callOver(await connect([PROGRAM, "mcp"]), name, JSON.parse(input));
    case "the fixture, which has the tool":
      return callOver(await connect([FIXTURE, "mcp"]), name, JSON.parse(input));
    case "the fixture, whose tool makes the call":
      return callOver(await connect([FIXTURE, "mcp"]), "relay", { name, text: input });
    case "the fixture, whose toolkit is closed": {
      const connection = await connect([FIXTURE, "mcp"], "accept");
      const [answer] = await Promise.all([
        callOver(connection, name, JSON.parse(input)),
        whenItRuns(() => process.kill(connection.pid, "SIGUSR1")),
      ]);
      return answer;
    }
  }
}

interface Connection {
  readonly client: Client;
  readonly pid: number;
}

/** The SDK's client with its own server, and a person who answers every question alike. */
async function connect(args: string[], answer: "accept" | "decline" = "decline"): Promise<Connection> {
  const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: { form: {} } } });
  client.setRequestHandler("elicitation/create", async () =>
    answer === "accept" ? { action: "accept", content: { answer: "once" } } : { action: "decline" },
  );
  const transport = new StdioClientTransport({
    command: process.execPath,
    args,
    cwd: line.folder,
    env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", XDG_STATE_HOME: temporaryFolder() },
    stderr: "ignore",
  });
  await client.connect(transport);
  clients.push(client);
  return { client, pid: transport.pid ?? 0 };
}

async function callOver({ client }: Connection, name: string, input: { [name: string]: unknown }): Promise<Answer> {
  const { content, isError = false } = await client.callTool({ name, arguments: input }).catch((error: unknown) => {
    if (!(error instanceof ProtocolError)) throw error; // an unknown tool is an error of the protocol
    return { content: [{ type: "text", text: error.message }], isError: true };
  });
  expect(content).toEqual([{ type: "text", text: expect.any(String) }]);
  const [part] = content as readonly { readonly text: string }[];
  return { text: part?.text ?? "", isError };
}

/** Acts as soon as the command runs, and makes room for the next. */
async function whenItRuns(act: () => void): Promise<void> {
  await until("the command runs", () => existsSync(running));
  await rm(running);
  act();
}
