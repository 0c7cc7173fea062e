import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { join } from "node:path";
import { PassThrough, type Readable, type Writable } from "node:stream";
import {
  Client,
  type ClientCapabilities,
  type ElicitResult,
  ReadBuffer,
  type Transport,
  serializeMessage,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterFile } from "../../support/after-file.ts";
import { projectRoot } from "../../../scripts/lib/project.mjs";
import { ToolFailure } from "../../../src/core/contract/failure.ts";
import { defineTool } from "../../../src/core/contract/tool.ts";
import { type ServeStdioOptions, serveStdio } from "../../../src/connect/mcp/serve.ts";
import type { ToolkitOptions } from "../../../src/app/toolkit-options.ts";
import { fixtureTools } from "../../fixtures/mcp/tools.mjs";
import { temporaryFolder, toolkitWith } from "../../support/workspace.ts";

/** The two ways in which a client can open a connection. */
export const ERAS = ["2025-11-25", "2026-07-28"] as const;
export type Era = (typeof ERAS)[number];

/** Options of a server. For one in another process, only what JSON can hold. */
export interface ServerSettings {
  readonly toolkit: Pick<ToolkitOptions, "preset" | "workDir" | "policy" | "sources" | "park" | "store">;
  readonly service?: ServeStdioOptions;
}

/** A question that the client was asked. */
export type Question = { readonly message: string; readonly requestedSchema: object };

/** Answers questions. A rejection is the client's failure. */
export type Person = (question: Question, signal: AbortSignal) => Promise<ElicitResult>;

export interface Connection {
  readonly client: Client;
  /** The questions to the person, in order. */
  readonly asked: readonly Question[];
}

export interface ProcessConnection extends Connection {
  /** Process id of the server. */
  readonly pid: number;
  readonly stderr: () => string;
}

const open: { close(): Promise<void> }[] = [];

afterFile(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

/** The SDK's client with a server in this process. It can ask if there is a person. */
export async function connect(era: Era, settings: ServerSettings, person?: Person): Promise<Connection> {
  const { stdin, stdout } = await serve(settings);
  const { client, asked } = clientOf(era, person);
  await client.connect(streamTransport(stdin, stdout));
  open.push(client);
  return { client, asked };
}

/** The same with the fixture program, a separate process with the built package. */
export async function connectToProcess(era: Era, settings: ServerSettings): Promise<ProcessConnection> {
  const { client, asked } = clientOf(era);
  const transport = new StdioClientTransport({ ...programOf(settings), stderr: "pipe" });
  let stderr = "";
  transport.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  await client.connect(transport);
  open.push(client);
  return { client, pid: transport.pid ?? 0, asked, stderr: () => stderr };
}

/** A client of an era that is not connected yet. */
export function clientOf(era: Era, person?: Person): Connection {
  const asked: Question[] = [];
  const capabilities: ClientCapabilities = person === undefined ? {} : { elicitation: { form: {} } };
  const mode = era === "2026-07-28" ? { pin: era } : "legacy";
  const client = new Client({ name: "test", version: "1" }, { capabilities, versionNegotiation: { mode } });
  if (person !== undefined) {
    client.setRequestHandler("elicitation/create", (request, { mcpReq }) => {
      const question = request.params as Question;
      asked.push(question);
      return person(question, mcpReq.signal);
    });
  }
  return { client, asked };
}

/** Serves the same as the fixture program, from this process, until the end of the test file. */
async function serve({ toolkit: { preset = "coding", ...options }, service }: ServerSettings) {
  const tools = preset === "none" ? [] : fixtureTools({ defineTool, ToolFailure });
  const toolkit = await toolkitWith({ ...options, preset, tools });
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const { closed } = serveStdio(toolkit, { ...service, stdin, stdout });
  const ended = closed.then(() => void stdout.end());
  open.push({
    async close() {
      stdin.end();
      await ended;
    },
  });
  return { stdin, stdout };
}

/** JSON lines over two streams, for the SDK's client. */
function streamTransport(input: Writable, output: Readable): Transport {
  const buffer = new ReadBuffer();
  const transport: Transport = {
    async start() {
      output.on("data", (chunk: Buffer) => {
        buffer.append(chunk);
        for (let message = buffer.readMessage(); message !== null; message = buffer.readMessage())
          transport.onmessage?.(message);
      });
      output.once("end", () => transport.onclose?.());
    },
    async send(message) {
      input.write(serializeMessage(message));
    },
    async close() {
      input.end();
    },
  };
  return transport;
}

/** A connection to a server without an SDK. */
export interface RawConnection {
  /** Sends a message, or a line as it is. */
  send(message: object | string): void;
  /** Resolves to the first message not taken yet that matches. */
  take(what: string, fits: (message: Message) => boolean): Promise<Message>;
  /** Sends a request and returns its answer. */
  request(method: string, params?: object): Promise<Message>;
  /** Every line so far. */
  readonly lines: readonly string[];
}

export interface Message {
  readonly id?: number | null;
  readonly method?: string;
  readonly params?: { readonly [name: string]: unknown };
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of any form
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A server in this process, with a line-based connection. */
export async function speak(settings: ServerSettings): Promise<RawConnection> {
  const { stdin, stdout } = await serve(settings);
  return converse(stdin, stdout);
}

/** The fixture program, with a line-based connection. */
export function speakToProcess(settings: ServerSettings): RawConnection & {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<number | null>;
  readonly stderr: () => string;
} {
  const { command, args } = programOf(settings);
  const child = spawn(command, args);
  const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  open.push({
    async close() {
      child.stdin.end();
      await ended;
    },
  });
  return { ...converse(child.stdin, child.stdout), child, ended, stderr: () => stderr };
}

/** JSON lines over two streams. */
export function converse(input: Writable, output: Readable): RawConnection {
  const lines: string[] = [];
  const untaken: Message[] = [];
  const takers = new Set<() => void>();
  let rest = "";
  let over = false;
  let nextId = 100;
  output.setEncoding("utf8");
  output.on("data", (chunk: string) => {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop() ?? "";
    for (const line of parts) {
      lines.push(line);
      untaken.push(JSON.parse(line) as Message);
    }
    for (const look of takers) look();
  });
  output.on("end", () => {
    over = true;
    for (const look of takers) look();
  });

  const send = (message: object | string) => {
    input.write(typeof message === "string" ? message : `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  };
  const take = (what: string, fits: (message: Message) => boolean) =>
    new Promise<Message>((resolve, reject) => {
      const look = () => {
        const at = untaken.findIndex(fits);
        const [found] = at < 0 ? [] : untaken.splice(at, 1);
        if (found === undefined && !over) return;
        takers.delete(look);
        if (found === undefined) reject(new Error(`the server went away before ${what}`));
        else resolve(found);
      };
      takers.add(look);
      look();
    });
  return {
    send,
    take,
    request(method, params) {
      const id = nextId++;
      send({ id, method, ...(params !== undefined && { params }) });
      return take(`the answer to ${method}`, (message) => message.id === id && message.method === undefined);
    },
    lines,
  };
}

/** The fields of every request of revision 2026-07-28. */
export function envelope(capabilities: object = {}): { readonly [key: string]: unknown } {
  return {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
}

function programOf({ toolkit, service }: ServerSettings): { command: string; args: string[] } {
  const settings = { toolkit: { stateDir: temporaryFolder(), ...toolkit }, service };
  return {
    command: process.execPath,
    args: [join(projectRoot, "test", "fixtures", "mcp", "server.mjs"), JSON.stringify(settings)],
  };
}
