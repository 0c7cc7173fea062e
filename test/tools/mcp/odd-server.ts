import type { ServerResponse } from "node:http";
import { json, served } from "./authority.ts";
import { withServers } from "./servers.ts";

export interface Odd {
  /** The result of tools/list, with the cursor. Default: one tool "work". */
  readonly list?: (cursor: string | undefined) => object;
  readonly result?: unknown;
  /** The whole answer to tools/call, without its id. */
  readonly answer?: object;
  /** Answers tools/call in place of all others. */
  readonly onCall?: (response: ServerResponse, id: number) => unknown;
  /** The status of a request in a session that the server does not know, and its words. */
  readonly lost?: readonly [status: number, words: string];
}

/** A tool as a server lists it. */
export const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: "object" }, ...more });

/** A server over HTTP with sessions, and what it was asked. */
export async function odd(given: Odd) {
  let [opened, oldest, calls] = [0, 0, 0];
  const url = await served((request, response, body) => {
    if (request.method !== "POST") return response.writeHead(request.method === "DELETE" ? 200 : 405).end();
    const { id, method, params } = JSON.parse(body) as { id?: number; method: string; params?: { cursor?: string } };
    if (method === "initialize") {
      const serverInfo = { name: "odd", version: "1" };
      const result = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
      return json(response, 200, { jsonrpc: "2.0", id, result }, { "mcp-session-id": `s${++opened}` });
    }
    const session = Number(String(request.headers["mcp-session-id"] ?? "").slice(1));
    if (session <= oldest) {
      const [status, message] = given.lost ?? [404, "Session not found"];
      return json(response, session === 0 ? 400 : status, {
        jsonrpc: "2.0",
        id: null,
        error: { code: -32_000, message },
      });
    }
    if (id === undefined) return response.writeHead(202).end();
    if (method === "tools/list") {
      const result = given.list?.(params?.cursor) ?? { tools: [tool("work")] };
      return json(response, 200, { jsonrpc: "2.0", id, ...("error" in result ? result : { result }) });
    }
    calls++;
    if (given.onCall !== undefined) return given.onCall(response, id);
    return json(response, 200, given.answer ?? { jsonrpc: "2.0", id, result: given.result });
  });
  const { toolkit, notices } = await withServers({ odd: { url: `${url}/mcp`, timeoutMs: 30_000 } });
  return {
    ...{ toolkit, notices, opened: () => opened, calls: () => calls },
    names: () => [...toolkit.tools.keys()].map((name) => name.slice("mcp__odd__".length)),
    forget: () => void (oldest = opened),
    call: () => toolkit.call({ name: "mcp__odd__work", input: {} }),
  };
}
