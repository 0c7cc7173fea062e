import { Type } from "typebox";
import type { ThreadId } from "../../contract/identity.ts";
import type { Store } from "../../contract/activity.ts";
import type { Toolkit } from "../../contract/toolkit.ts";
import { randomName } from "../../util/identifier.ts";
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
    const text = promptOf(messages.at(-1));
    const after = await newestOf(store, thread);
    await context.agents.prompt(thread, text);
    return after;
  };
  const aiSdk = () => ({ writer: aiSdkWriter(randomName(16)), last: "[DONE]" });

  return [
    route("POST /api/ai-sdk", {
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

/** @throws Problem unless it is a message of the user with a text. */
function promptOf(
  message: { readonly role?: unknown; readonly parts?: unknown; readonly content?: unknown } = {},
): string {
  const { role, parts, content } = message;
  const all: readonly unknown[] = Array.isArray(parts) ? parts : Array.isArray(content) ? content : [content];
  const texts = all.flatMap((part) => {
    const text = typeof part === "object" && part !== null && "text" in part ? part.text : part;
    return typeof text === "string" ? [text] : [];
  });
  const text = texts.join("\n");
  if (role === "user" && text.trim() !== "") return text;
  throw new Problem(400, "Expected a text of the user as the last message. POST /api/approvals answers questions.");
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
