import { spawnSync } from "node:child_process";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import type { LanguageModelV3 } from "@ai-sdk/provider";
import { sqliteStore } from "../../src/record/activity/sqlite-store.ts";
import { createAgent } from "../../src/agent/agent.ts";
import { type BrowserSessions, browserSessions } from "../../src/serve/browser-sessions.ts";
import { type RunningServer, type ServerOptions, serveApi } from "../../src/serve/server.ts";
import type { Store, StoredEvent } from "../../src/core/contract/activity.ts";
import type { Outputs } from "../../src/core/contract/tool.ts";
import type { Toolkit } from "../../src/core/contract/toolkit.ts";
import { type ScriptedReply, scriptedModel } from "../suites/scripted-model.ts";
import type { ToolkitOptions } from "../../src/app/toolkit-options.ts";
import { afterFile } from "../support/after-file.ts";
import { temporaryFolder, toolkitWith, workspace } from "../support/workspace.ts";

export const TOKEN = "a-token-for-tests-0123456789";

const servers: RunningServer[] = [];

afterFile(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

/** A server on a toolkit with a SQLite store. */
export interface Served {
  readonly url: string;
  readonly toolkit: Toolkit;
  readonly store: Store;
  /** The database, for other processes and stores. */
  readonly file: string;
  readonly browsers: BrowserSessions;
  /** Errors inside the server. */
  readonly errors: readonly Error[];
  /** A request with the token. A `body` is sent as JSON. */
  ask(method: string, path: string, body?: unknown, init?: RequestInit): Promise<Response>;
  /** The JSON of a successful answer. */
  json<T>(method: string, path: string, body?: unknown): Promise<T>;
  pair(): string | undefined;
  close(): Promise<void>;
}

export async function served(
  options: ToolkitOptions = {},
  {
    script = [],
    model = scriptedModel(script),
    ...more
  }: { readonly script?: readonly ScriptedReply[]; readonly model?: LanguageModelV3 } & Pick<
    ServerOptions,
    "grants" | "host" | "tls" | "users" | "origins"
  > = {},
): Promise<Served> {
  if (options.terminal !== undefined) useOwnTmux();
  const file = join(temporaryFolder(), "handrail.db");
  const browsers = browserSessions(join(file, "..", "browsers"));
  const store = sqliteStore({ file });
  const toolkit = await toolkitWith({ workDir: await workspace(), policy: { autonomy: "full" }, ...options, store });
  const errors: Error[] = [];
  const server = await serveApi({
    ...{ toolkit, token: TOKEN, browsers, ...more, onError: (error) => errors.push(error) },
    openAgent: (thread) => createAgent({ model, toolkit, thread }),
  });
  servers.push(server);
  const ask: Served["ask"] = (method, path, body, init = {}) =>
    fetch(server.url + path, {
      ...{ method, redirect: "manual", ...init },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      headers: {
        authorization: `Bearer ${TOKEN}`,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(init.headers as { readonly [name: string]: string } | undefined),
      },
    });
  return {
    ...{ url: server.url, toolkit, store, file, browsers, errors, ask, pair: server.pair, close: server.close },
    async json<T>(method: string, path: string, body?: unknown) {
      const response = await ask(method, path, body);
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
      return (await response.json()) as T;
    },
  };
}

/** Until the end of the test file tmux uses a separate server: a person may have a session named handrail. */
function useOwnTmux(): void {
  const env = { ...process.env, TMUX_TMPDIR: temporaryFolder() };
  process.env["TMUX_TMPDIR"] = env.TMUX_TMPDIR;
  afterFile(() => void spawnSync("tmux", ["kill-server"], { env }));
}

/** The recorded events of a call. */
export async function eventsOf({ store }: Served, call: string): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const event of store.events({ call })) events.push(event);
  return events;
}

/** Saves an output, as a tool does. Resolves to its id. */
export async function saveOutput({ toolkit }: Served, content: string | Uint8Array): Promise<string> {
  return await (toolkit.outputs as Toolkit["outputs"] & Outputs).save(content);
}

export interface Received {
  /** "" if the event has none. */
  readonly id: string;
  /** "message" if the event has none. */
  readonly event: string;
  readonly data: { readonly [name: string]: unknown };
}

/** Reads server-sent events until `enough` returns true or the stream ends. */
export async function receive(response: Response, enough: (event: Received) => boolean): Promise<Received[]> {
  const events: Received[] = [];
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
      const head = text.slice(0, end);
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(head)?.[1];
      const data = field("data");
      text = text.slice(end + 2);
      if (data === undefined) continue; // a comment, or the time until reconnecting
      const event = {
        ...{ id: field("id") ?? "", event: field("event") ?? "message" },
        data: JSON.parse(data) as Received["data"],
      };
      events.push(event);
      if (enough(event)) return events; // leaving the loop cancels the stream
    }
  }
  return events;
}

/** A request with headers that `fetch` sets itself. Resolves to status and body. */
export async function rawRequest(url: string, headers: { readonly [name: string]: string }, method = "GET") {
  return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const sent = httpRequest(url, { method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString() }));
    });
    sent.on("error", reject);
    sent.end();
  });
}
