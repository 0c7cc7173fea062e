import { Type } from "typebox";
import { type Content, text } from "../../core/contract/content.ts";
import type { ThreadId } from "../../core/contract/identity.ts";
import type { Store } from "../../core/contract/activity.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { pictureOf } from "../../core/files/picture.ts";
import { randomName } from "../../core/util/identifier.ts";
import { isRecord } from "../../core/util/record.ts";
import type { Agents } from "../agents.ts";
import type { Drafts } from "../drafts.ts";
import { eventStream } from "../event-stream.ts";
import { Problem } from "../problem.ts";
import { type Asked, type Route, type Success, route } from "../route.ts";
import { streamThread } from "../thread-stream.ts";
import { turnParts } from "../turn-parts.ts";
import { type TurnWriter, agUiWriter, aiSdkWriter } from "../turn-protocols.ts";
import { channelOf, questionBody } from "./approvals.ts";

/** What the routes for turns work with. */
interface TurnContext {
  readonly toolkit: Toolkit;
  readonly agents: Agents;
  readonly drafts: Drafts;
}

/** A message of an app: AI SDK UI has `parts`, AG-UI has `content`. */
const MESSAGE = Type.Object(
  { role: Type.String(), parts: Type.Optional(Type.Unknown()), content: Type.Optional(Type.Unknown()) },
  { additionalProperties: true },
);
const AI_SDK: Success = {
  ...{ status: 200, description: "The data stream of AI SDK UI.", types: ["text/event-stream"] },
};
const AG_UI: Success = { status: 200, description: "The events of AG-UI 1.0.", types: ["text/event-stream"] };
/** The maximum size of the messages of a chat, in bytes: 16 MiB, for pictures. */
const MAX_MESSAGES = 16_777_216;
const NO_AGENT = { 409: "There is no agent, for example because no model is chosen." };

/** Routes that answer a prompt with its turn, in the protocols of libraries for chat interfaces. */
export function turnRoutes(context: TurnContext): readonly Route[] {
  const { store } = context.toolkit;

  const stream = (
    asked: Pick<Asked<unknown, unknown>, "caller" | "signal">,
    { thread, after, writer, last }: { thread: ThreadId; after: number; writer: TurnWriter; last?: string },
  ): Response => {
    const channel = channelOf(asked.caller);
    const describe = (question: Parameters<typeof questionBody>[0]) => questionBody(question, channel);
    const events = async function* (signal: AbortSignal) {
      const items = streamThread(
        { store, drafts: context.drafts },
        { thread, after, collapseRetries: false, describe, signal },
      );
      for (const data of writer.begin) yield { data };
      for await (const part of turnParts(items)) for (const data of writer.of(part)) yield { data };
    };
    const response = eventStream(events, { signal: asked.signal, ...(last !== undefined && { last }) });
    if (last !== undefined) response.headers.set("x-vercel-ai-ui-message-stream", "v1");
    return response;
  };

  const prompt = async (thread: ThreadId, messages: readonly { readonly role: string }[]): Promise<number> => {
    const content = promptOf(messages.at(-1));
    const after = await newestOf(store, thread);
    await context.agents.prompt(thread, content);
    return after;
  };
  const aiSdk = () => ({ writer: aiSdkWriter(randomName(16)), last: "[DONE]" });

  return [
    route("POST /api/ai-sdk", {
      maxBody: MAX_MESSAGES,
      summary: "Give the agent of a thread a message, as `useChat` sends it; its turn as AI SDK UI reads it.",
      body: Type.Object(
        {
          id: Type.String({ minLength: 1, maxLength: 200, description: "The thread. It may be new." }),
          messages: Type.Array(MESSAGE, { minItems: 1, description: "The last one is the prompt." }),
          trigger: Type.Optional(Type.String()),
        },
        { additionalProperties: true },
      ),
      answer: AI_SDK,
      problems: NO_AGENT,
      async handle({ body: { id, messages, trigger }, ...asked }) {
        if (trigger === "regenerate-message") throw new Problem(409, "A recorded turn is not made again: ask again.");
        return stream(asked, { thread: id, after: await prompt(id, messages), ...aiSdk() });
      },
    }),
    route("GET /api/ai-sdk/{thread}/stream", {
      summary: "The running turn of a thread, as `useChat` reads it when it reconnects.",
      answer: { ...AI_SDK, empty: "No turn is running." },
      async handle({ path: { thread = "" }, ...asked }) {
        const after = await runningSince(store, thread);
        if (after === undefined) return new Response(undefined, { status: 204 });
        return stream(asked, { thread, after, ...aiSdk() });
      },
    }),
    route("POST /api/ag-ui", {
      maxBody: MAX_MESSAGES,
      summary: "Give the agent of a thread a message, as an AG-UI client sends it; its turn as a run.",
      body: Type.Object(
        {
          threadId: Type.String({ minLength: 1, maxLength: 200, description: "The thread. It may be new." }),
          runId: Type.String({ minLength: 1, maxLength: 200 }),
          messages: Type.Array(MESSAGE, { minItems: 1, description: "The last one is the prompt." }),
        },
        { additionalProperties: true },
      ),
      answer: AG_UI,
      problems: NO_AGENT,
      async handle({ body: { threadId: thread, runId, messages }, ...asked }) {
        return stream(asked, { thread, after: await prompt(thread, messages), writer: agUiWriter(thread, runId) });
      },
    }),
  ];
}

/**
 * The texts and pictures of a message. @throws Problem unless it is the user's and has one, and for a file that is no
 * picture, or only named by its address.
 */
function promptOf(
  message: { readonly role?: unknown; readonly parts?: unknown; readonly content?: unknown } = {},
): readonly Content[] {
  const { role, parts, content } = message;
  const all: readonly unknown[] = Array.isArray(parts) ? parts : Array.isArray(content) ? content : [content];
  const prompt = all.flatMap((part) => {
    const words = isRecord(part) && "text" in part ? part["text"] : part;
    if (typeof words === "string") return words.trim() === "" ? [] : [text(words)];
    const data = isRecord(part) ? fileOf(part) : undefined;
    const picture = data === undefined ? undefined : pictureOf(data);
    if (data !== undefined && picture === undefined)
      throw new Problem(400, "Expected files to be pictures (PNG, JPEG, GIF or WebP) as data URLs or base64.");
    return picture === undefined ? [] : [picture];
  });
  if (role === "user" && prompt.length > 0) return prompt;
  throw new Problem(400, "Expected a text of the user as the last message. POST /api/approvals answers questions.");
}

/** The data or the address of a file: `file` of AI SDK UI, `binary`, `image` and the like of AG-UI. */
function fileOf({ type, url, data, source }: { readonly [key: string]: unknown }): string | undefined {
  const isFile = type === "file" || type === "binary" || isRecord(source);
  const given = isRecord(source) ? source["value"] : (data ?? url);
  return isFile ? (typeof given === "string" ? given : "") : undefined;
}

/** The newest event of a thread; 0 if it has none. */
async function newestOf(store: Store, thread: ThreadId): Promise<number> {
  let newest = 0;
  for await (const { id } of store.events({ thread })) newest = id;
  return newest;
}

/** The event that began the running turn of a thread; `undefined` if none is running. */
async function runningSince(store: Store, thread: ThreadId): Promise<number | undefined> {
  let since: number | undefined;
  for await (const event of store.events({ thread, messages: true })) {
    if (event.type === "turn.ended") since = undefined;
    if (event.type === "message.added" && event.message.role === "user") since ??= event.id;
  }
  return since;
}
