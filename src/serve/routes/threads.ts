import { Type } from "typebox";
import { type ThreadMessage, findToolMessage, readThread } from "../../record/activity/messages.ts";
import type { Store, StoredEvent } from "../../core/contract/activity.ts";
import type { ThreadId } from "../../core/contract/identity.ts";
import { asContent } from "../../core/call/result.ts";
import type { Json } from "../../core/contract/schema.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { randomName } from "../../core/util/identifier.ts";
import type { Caller } from "../access.ts";
import type { Agents } from "../agents.ts";
import type { Drafts } from "../drafts.ts";
import { streamThread } from "../thread-stream.ts";
import type { OpenQuestion } from "../../core/contract/question.ts";
import { eventStream } from "../event-stream.ts";
import type { Overview } from "../overview.ts";
import { Problem } from "../problem.ts";
import { type Asked, type Route, type Success, route } from "../route.ts";
import { THREAD, TOOL, list, named } from "../schemas.ts";
import { shownEvent } from "../shown-event.ts";
import type { Event } from "../api-types.ts";
import { channelOf, questionBody } from "./approvals.ts";
import { createThreadViews } from "../thread-views.ts";

const NO_THREAD = { 404: "There is no such thread." };
const AFTER = Type.Optional(
  Type.Union([Type.Integer({ minimum: 0 }), Type.Literal("now")], {
    description:
      "Only events after this id; `now`: only those that come later. Default 0. `Last-Event-ID` counts before it.",
  }),
);

const COLLAPSE = Type.Optional(
  Type.Boolean({ description: "A call takes over the message of the failed call before it." }),
);
const EVENTS: Success = {
  ...{ status: 200, description: "Events, each with its id. The schema is that of the data of one." },
  ...{ types: ["text/event-stream"], schema: named("Event") },
};

/** Older events do not carry the question that they ask, in milliseconds: it is probably closed. */
const FRESH_MS = 600_000;

/** The maximum length of a call's live output, in characters. */
const MAX_OUTPUT = 262_144;

/** The maximum length of one text in a list of messages, in characters. */
const MAX_TEXT = 8_000;

/** What the routes for threads work with. */
interface ThreadContext {
  readonly toolkit: Toolkit;
  readonly agents: Agents;
  readonly drafts: Drafts;
  readonly overview: Overview;
}

/** Routes for tools, threads with their messages and calls, and event streams. */
export function threadRoutes(context: ThreadContext): readonly Route[] {
  const { store } = context.toolkit;
  return [
    ...listRoutes(context),
    ...readRoutes(store),
    ...writeRoutes(context),
    ...followRoutes(context),
    searchRoute(store),
  ];
}

/** @throws Problem if the thread has no event. */
async function requireThread(store: Store, thread: ThreadId): Promise<void> {
  for await (const _ of store.events({ thread })) return;
  throw new Problem(404, `There is no thread ${thread}. GET /api/threads lists them.`);
}

function listRoutes({ toolkit, overview }: ThreadContext): readonly Route[] {
  const { store, backend } = toolkit;
  return [
    route("GET /api/tools", {
      summary: "The tools that can be called.",
      answer: { status: 200, description: "The tools.", schema: list("tools", TOOL) },
      handle: async () => ({ tools: toolkit.definitions("json") ?? [] }),
    }),
    route("GET /api/threads", {
      summary: "All threads, the one with the newest event last.",
      answer: { status: 200, description: "The threads.", schema: list("threads", THREAD) },
      handle: async () => ({ threads: await store.threads() }),
    }),
    route("GET /api/overview", {
      summary: "All threads with their current activity.",
      answer: {
        ...{ status: 200, description: "The threads, and the newest event in them: follow the events after it." },
        schema: Type.Object({
          threads: Type.Array(THREAD),
          last: Type.Integer(),
          terminal: Type.Boolean({ description: "There is a terminal to watch: GET /api/terminal." }),
        }),
      },
      handle: async () => ({ ...(await overview.read()), terminal: backend.terminal !== undefined }),
    }),
    route("POST /api/threads", {
      needs: "prompt",
      summary: "Create a thread.",
      answer: { status: 201, description: "The thread.", schema: Type.Object({ thread: Type.String() }) },
      async handle() {
        const thread = randomName(10);
        const { name: target, workDir } = backend;
        await store.commit({ type: "thread.created", thread, at: Date.now(), target, workDir });
        return { thread };
      },
    }),
  ];
}

function readRoutes(store: Store): readonly Route[] {
  const views = createThreadViews(store);
  return [
    route("GET /api/threads/{thread}/messages", {
      summary: "The messages of a thread, in their order.",
      query: Type.Object({
        after: Type.Optional(
          Type.Integer({ minimum: 0, description: "Only messages that an event after this id made or changed." }),
        ),
        collapse_retries: COLLAPSE,
      }),
      answer: { status: 200, description: "The messages.", schema: list("messages", named("ThreadMessage")) },
      problems: NO_THREAD,
      async handle({ path: { thread = "" }, query: { after = 0, collapse_retries: collapseRetries = false } }) {
        await requireThread(store, thread);
        return { messages: await readThread(store, thread, { after, collapseRetries }) };
      },
    }),
    route("GET /api/threads/{thread}/newest", {
      summary: "The newest messages of a thread, in their order, with long texts cut.",
      query: Type.Object({
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, description: "Default 200." })),
        before: Type.Optional(Type.Integer({ minimum: 1, description: "Only messages before this id." })),
      }),
      answer: {
        ...{ status: 200, description: "The messages, how many are before them, and the newest event in them." },
        schema: Type.Object({
          messages: Type.Array(named("ThreadMessage")),
          earlier: Type.Integer(),
          last: Type.Integer(),
        }),
      },
      problems: NO_THREAD,
      async handle({ path: { thread = "" }, query: { limit = 200, before = Infinity } }) {
        const { messages: all, last } = await views.read(thread);
        if (all.length === 0) await requireThread(store, thread);
        const asked = all.filter(({ id }) => id < before);
        const messages = asked.slice(-limit).map(inShort);
        return { messages, earlier: asked.length - messages.length, last };
      },
    }),
    route("GET /api/calls/{call}", {
      summary: "A call: its whole message and its live output so far.",
      answer: {
        ...{ status: 200, description: "The message, the end of its live output, and the newest event in them." },
        schema: Type.Object({
          message: named("ThreadMessage"),
          output: Type.String({ description: "At most the last 262,144 characters." }),
          outputLength: Type.Integer({ description: "Characters of the whole live output." }),
          last: Type.Integer(),
        }),
      },
      problems: { 404: "There is no such call." },
      async handle({ path: { call = "" } }) {
        const message = await findToolMessage(store, call);
        if (message === undefined) throw new Problem(404, `There is no call ${call}.`);
        let [output, outputLength, last] = ["", 0, 0];
        for await (const event of store.events({ call })) {
          last = event.id;
          if (event.type !== "call.updated" || event.update.output === undefined) continue;
          outputLength += event.update.output.length;
          output = (output + event.update.output).slice(-MAX_OUTPUT);
        }
        return { message, output, outputLength, last };
      },
    }),
  ];
}

function writeRoutes({ toolkit, agents }: ThreadContext): readonly Route[] {
  const { store } = toolkit;
  return [
    route("POST /api/threads/{thread}/calls", {
      needs: "prompt",
      summary: "Make a call. A thread that does not exist begins with it.",
      body: Type.Object({
        name: Type.String({ minLength: 1, maxLength: 200 }),
        input: Type.Optional(Type.Unknown({ description: "The arguments: an object, or JSON text." })),
        wait: Type.Optional(
          Type.Boolean({ description: "True: answer when the call has ended. Default false: at once." }),
        ),
      }),
      answer: {
        ...{ status: 202, description: "The call. With `wait` its result too." },
        schema: Type.Object({ call: Type.String() }, { additionalProperties: true }),
      },
      async handle({ path: { thread = "" }, body: { name, input = {}, wait = false } }) {
        const call = randomName(16);
        const result = toolkit.call({ name, input, thread, id: call });
        if (!wait) return { call };
        const { status } = await result;
        return { call, status, ...asContent(await result) };
      },
    }),
    route("POST /api/threads/{thread}/prompts", {
      needs: "prompt",
      summary: "Give the agent of a thread a message: a new turn, or steering.",
      body: Type.Object({ text: Type.String({ minLength: 1, maxLength: 200_000 }) }),
      answer: { status: 202, description: "The agent has it.", schema: Type.Object({ thread: Type.String() }) },
      problems: { ...NO_THREAD, 409: "There is no agent, for example because no model is chosen." },
      async handle({ path: { thread = "" }, body: { text } }) {
        await requireThread(store, thread); // a misspelled one would begin a conversation that nobody sees
        await agents.prompt(thread, text);
        return { thread };
      },
    }),
    route("POST /api/threads/{thread}/stop", {
      needs: "prompt",
      summary: "Stop the running calls of a thread, and the turn of its agent.",
      answer: { status: 202, description: "The stop is requested.", schema: Type.Object({ thread: Type.String() }) },
      problems: NO_THREAD,
      async handle({ path: { thread = "" } }) {
        await requireThread(store, thread);
        await store.commit({ type: "stop.requested", thread, at: Date.now(), by: "API" });
        return { thread };
      },
    }),
  ];
}

function followRoutes({ toolkit: { store }, drafts }: ThreadContext): readonly Route[] {
  return [
    route("GET /api/threads/{thread}/stream", {
      summary: "The messages of a thread as server-sent events, each whole and again when it changes.",
      query: Type.Object({
        after: Type.Optional(
          Type.Integer({ minimum: 0, description: "Only messages that an event after this id made or changed." }),
        ),
        collapse_retries: COLLAPSE,
      }),
      answer: {
        status: 200,
        description:
          "Events `message`, also for a reply that the model is still writing in this process, and `turn` at the end " +
          "of a turn. The schema is that of the data of one.",
        ...{
          types: ["text/event-stream"],
          schema: Type.Union([named("StreamedMessage"), named("Draft"), named("Turn")]),
        },
      },
      problems: NO_THREAD,
      async handle({ path: { thread = "" }, query: { after, collapse_retries: collapseRetries = false }, ...asked }) {
        await requireThread(store, thread);
        const channel = channelOf(asked.caller);
        const describe = (question: OpenQuestion) => questionBody(question, channel);
        const given = { thread, after: resumedAfter(asked.headers) ?? after ?? 0, collapseRetries, describe };
        const start = (gone: AbortSignal) => streamThread({ store, drafts }, { ...given, signal: gone });
        return eventStream(start, { signal: asked.signal });
      },
    }),
    route("GET /api/threads/{thread}/events", {
      summary: "The events of a thread as server-sent events.",
      query: Type.Object({ after: AFTER }),
      answer: EVENTS,
      problems: NO_THREAD,
      async handle({ path: { thread = "" }, query: { after }, ...asked }) {
        await requireThread(store, thread);
        return eventsOf(store, asked, after, thread);
      },
    }),
    route("GET /api/events", {
      summary: "The events of all threads and processes as server-sent events.",
      query: Type.Object({ after: AFTER }),
      answer: EVENTS,
      handle: async ({ query: { after }, ...asked }) => eventsOf(store, asked, after),
    }),
  ];
}

/** The events after an id, and those that come, as server-sent events. Without a thread, those of all. */
function eventsOf(
  store: Store,
  { headers, caller, signal }: Pick<Asked<unknown, unknown>, "headers" | "caller" | "signal">,
  after: number | "now" | undefined,
  thread?: ThreadId,
): Response {
  const from = resumedAfter(headers) ?? after ?? 0;
  const options = { after: from, follow: true, ...(thread !== undefined && { thread }) };
  return eventStream(
    async function* (gone) {
      for await (const event of store.events({ ...options, signal: gone }))
        yield { id: event.id, data: await withQuestion(store, shownEvent(event), caller) };
    },
    { signal },
  );
}

/** The event after which a client resumes; `undefined` if it does not. */
function resumedAfter(headers: Headers): number | undefined {
  const last = headers.get("last-event-id") ?? "";
  return /^\d{1,15}$/.test(last) ? Number(last) : undefined;
}

/** An event, and with a new question what people need to answer it, if it is still open. */
async function withQuestion(store: Store, event: StoredEvent, caller: Caller): Promise<Event> {
  if (event.type !== "approval.requested" || event.at < Date.now() - FRESH_MS) return event;
  const open = (await store.questions()).find(({ question }) => question === event.question);
  return open === undefined ? event : { ...event, open: questionBody(open, channelOf(caller)) };
}

function searchRoute(store: Store): Route {
  return route("GET /api/search", {
    summary: "Search what people and models wrote and read, the newest first.",
    query: Type.Object({
      text: Type.String({ minLength: 1, maxLength: 1_000 }),
      thread: Type.Optional(Type.String()),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })),
      before: Type.Optional(
        Type.Integer({ minimum: 1, description: "Only what is older: `next.before` of the last answer." }),
      ),
    }),
    answer: {
      ...{ status: 200, description: "The hits, and in a long record how far back it was searched and how to go on." },
      schema: Type.Object({
        hits: Type.Array(Type.Object({}, { additionalProperties: true })),
        next: Type.Optional(Type.Object({ before: Type.Integer(), at: Type.Number() })),
      }),
    },
    handle: ({ query }) => store.search(query),
  });
}

/**
 * Returns the message with its longest texts cut. `cut` is the full length of all of them. `GET /api/calls/{call}`
 * returns the whole message.
 */
function inShort(message: ThreadMessage): ThreadMessage & { readonly cut?: number } {
  if (message.role !== "tool") return message;
  let length = 0;
  let isCut = false;
  const short = (text: string) => {
    length += text.length;
    isCut ||= text.length > MAX_TEXT;
    return text.slice(0, MAX_TEXT);
  };
  const shortJson = (value: Json): Json => {
    if (typeof value === "string") return short(value);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map(shortJson);
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shortJson(each ?? null)]));
  };
  const { tool_activity: activity } = message.metadata;
  const data = shortJson(activity.data) as typeof activity.data;
  const cutActivity = { ...activity, input: shortJson(activity.input), data };
  const content = message.content?.map((part) => (part.type === "text" ? { ...part, text: short(part.text) } : part));
  if (!isCut) return message;
  return { ...message, metadata: { tool_activity: cutActivity }, ...(content && { content }), cut: length };
}
