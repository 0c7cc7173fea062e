import { AsyncLocalStorage } from "node:async_hooks";
import type { JSONRPCMessage, RequestId, StandardSchemaV1, Transport } from "@modelcontextprotocol/client";
import { mendedAnswer, noAnswer } from "./answer.ts";
import { type Checks, LISTS, type Mending, mendedResult } from "./mended-result.ts";

/** The most pages of a list that are requested. */
const MOST_PAGES = 500;

/** The pages of a list that have come. */
interface Walk {
  count: number;
  readonly cursors: Set<unknown>;
  readonly pages: Set<string>;
}

const walks = new AsyncLocalStorage<Map<string, Walk>>();

/** Does work that may request lists. Each list ends with the page that it repeats. */
export function walkingLists<T>(work: () => T): T {
  return walks.run(new Map(), work);
}

interface Sent {
  readonly method: string;
  readonly cursor: unknown;
  readonly walk: Walk;
  readonly isModern: boolean;
}

/**
 * Makes a transport tolerant: what is odd in an answer is mended before the SDK reads it, which refuses an answer as a
 * whole. A request whose response ends without an answer gets an error. `leftOut` is called with the end of a sentence
 * about what cannot be used. Call it before the transport is used.
 */
export async function makeTolerant(transport: Transport, leftOut: (words: string) => void): Promise<void> {
  const { PROTOCOL_VERSION_META_KEY } = await import("@modelcontextprotocol/client");
  const checks = await sdkChecks();
  const pending = new Map<RequestId, Sent>();
  type Handler = NonNullable<Transport["onmessage"]>;
  let handler: Handler | undefined;

  const take: Handler = (given, extra) => {
    const answer = mendedAnswer(given) as JSONRPCMessage;
    if ("method" in answer || answer.id === undefined) return handler?.(answer, extra);
    const id = pending.has(answer.id) ? answer.id : Number(answer.id);
    const sent = pending.get(id);
    if (sent === undefined) return handler?.(answer, extra);
    pending.delete(id);
    handler?.({ ...answerOf(sent, answer, { checks, leftOut }), id } as JSONRPCMessage, extra);
  };

  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    if ("method" in message && message.method === "notifications/cancelled")
      pending.delete(message.params?.["requestId"] as RequestId);
    if (!("method" in message && "id" in message)) return send(message, options);
    const { id, method, params } = message;
    const isModern = params?._meta?.[PROTOCOL_VERSION_META_KEY] !== undefined;
    pending.set(id, { method, cursor: params?.["cursor"], walk: walkOf(method), isModern });
    options?.requestSignal?.addEventListener("abort", () => pending.delete(id), { once: true });
    const onRequestStreamEnd = () => (pending.has(id) ? take(noAnswer(id)) : undefined);
    try {
      await send(message, { onRequestStreamEnd, ...options });
    } catch (error) {
      pending.delete(id);
      throw error;
    }
  };
  Object.defineProperty(transport, "onmessage", {
    get: () => (handler === undefined ? undefined : take),
    set(given: Handler | undefined) {
      handler = given;
    },
  });
}

function walkOf(method: string): Walk {
  const walk = walks.getStore()?.get(method) ?? { count: 0, cursors: new Set(), pages: new Set() };
  if (LISTS.has(method)) walks.getStore()?.set(method, walk);
  return walk;
}

function answerOf(sent: Sent, answer: JSONRPCMessage, mending: Omit<Mending, "isModern">): object {
  const { method, cursor, isModern } = sent;
  const [field = "", , what] = LISTS.get(method) ?? [];
  if ("result" in answer) {
    const result = mendedResult(method, answer.result, { ...mending, isModern });
    return { ...answer, result: LISTS.has(method) ? pageOf(sent, result, field, mending.leftOut) : result };
  }
  if (!LISTS.has(method) || cursor === undefined || !("error" in answer)) return answer;
  mending.leftOut(`the list of ${what}s has no page after the last that came: ${answer.error.message}.`);
  return { jsonrpc: "2.0", result: mendedResult(method, { [field]: [] }, { ...mending, isModern }) };
}

type Fields = { readonly [key: string]: unknown };

/** Returns a page of a list. The last one has no cursor: also one that leads to where the walk has been. */
function pageOf({ cursor, walk }: Sent, result: Fields, field: string, leftOut: Mending["leftOut"]): Fields {
  const { nextCursor, ...last } = result;
  walk.cursors.add(cursor);
  walk.count++;
  const items = result[field];
  const page = JSON.stringify(items);
  const isRepeated = Array.isArray(items) && items.length > 0 && walk.pages.has(page);
  if (isRepeated) return { ...last, [field]: [] };
  walk.pages.add(page);
  const next = typeof nextCursor === "number" ? String(nextCursor) : nextCursor;
  if (typeof next !== "string" || walk.cursors.has(next)) return last;
  if (walk.count < MOST_PAGES) return { ...last, nextCursor: next };
  leftOut(`its ${field} have more than ${MOST_PAGES} pages; the others are left out.`);
  return last;
}

async function sdkChecks(): Promise<Checks> {
  const { specTypeSchemas } = await import("@modelcontextprotocol/client");
  const { ContentBlock, Tool, Prompt, Resource, ResourceTemplate } = specTypeSchemas;
  const checkOf =
    <T>(schema: StandardSchemaV1<T>) =>
    (value: unknown): ReturnType<Checks["tool"]> => {
      const checked = schema["~standard"].validate(value);
      if (checked instanceof Promise || checked.issues === undefined) return undefined;
      const [issue] = checked.issues;
      const path = (issue?.path ?? []).map(String);
      const words = issue?.message ?? "it is not valid";
      return { field: path[0] ?? "", words: path.length === 0 ? words : `${path.join(".")}: ${words}` };
    };
  return {
    block: checkOf(ContentBlock),
    tool: checkOf(Tool),
    prompt: checkOf(Prompt),
    resource: checkOf(Resource),
    template: checkOf(ResourceTemplate),
  };
}
