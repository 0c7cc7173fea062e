import { Type } from "typebox";
import { whyNotFrom } from "../../core/contract/approvers.ts";
import type { PageInput, PageView } from "../../core/contract/live-page.ts";
import type { OpenQuestion } from "../../core/contract/question.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { messageOf } from "../../core/util/errors.ts";
import { type StreamEvent, eventStream } from "../event-stream.ts";
import { Problem } from "../problem.ts";
import { type Route, route } from "../route.ts";
import { channelOf } from "./approvals.ts";

/** Larger than any page that is shown. */
const PIXEL = Type.Number({ minimum: 0, maximum: 100_000 });
const AT = { x: PIXEL, y: PIXEL };
const WAY = Type.Number({ minimum: -10_000, maximum: 10_000 });

const INPUT = Type.Union([
  Type.Object({ type: Type.Enum(["down", "up", "move"]), ...AT, clicks: Type.Optional(Type.Integer({ minimum: 1 })) }),
  Type.Object({ type: Type.Literal("wheel"), ...AT, dx: WAY, dy: WAY }),
  Type.Object({ type: Type.Literal("text"), text: Type.String({ maxLength: 65_536 }) }),
  Type.Object({ type: Type.Literal("key"), key: Type.String({ minLength: 1, maxLength: 64 }) }),
]);

/** Routes for the page that the browser of a thread shows: watching it, taking it over, using it meanwhile. */
export function pageRoutes({ pages, store }: Pick<Toolkit, "pages" | "store">): readonly Route[] {
  /** The question of the thread that is answered when a person has done something in the page. */
  const questionOf = async (thread: string): Promise<OpenQuestion | undefined> =>
    (await store.questions()).find(
      (each) =>
        each.thread === thread && each.effects.some((effect) => effect.kind === "page" && effect.act === "person"),
    );
  return [
    route("GET /api/threads/{thread}/page", {
      summary: "What the browser of a thread shows, as server-sent events.",
      answer: {
        ...{
          status: 200,
          description:
            'Views `{"url","picture","width","height","taken"}`, when they change: a JPEG in base64, absent if it is ' +
            "the same; the size in CSS pixels; whether a person has the page.",
        },
        types: ["text/event-stream"],
      },
      problems: { 404: "No browser is open in this thread, or another process has it." },
      async handle({ path: { thread = "" }, signal }) {
        const looking = new AbortController();
        const views = await pages.watch(thread, AbortSignal.any([signal, looking.signal]));
        if (views === undefined)
          throw new Problem(404, "No browser is open in this thread, or another process has it.");
        return eventStream(
          (gone) => {
            gone.addEventListener("abort", () => looking.abort(), { once: true });
            return numbered(views);
          },
          { signal },
        );
      },
    }),
    route("POST /api/threads/{thread}/page/take", {
      needs: "prompt",
      summary: "Take over the page: the actions of the agent wait until the call's question is answered.",
      answer: { status: 202, description: "The call that has the page.", schema: Type.Object({ call: Type.String() }) },
      problems: { 403: "A command asks." },
      people: true,
      handle: async ({ path: { thread = "" } }) => ({ call: pages.takeOver(thread) }),
    }),
    route("POST /api/threads/{thread}/page/input", {
      needs: "prompt",
      summary: "Click, type and scroll in a page that a person has taken over. Nothing of it is recorded.",
      body: Type.Object({ inputs: Type.Array(INPUT, { minItems: 1, maxItems: 256 }) }),
      answer: { status: 200, description: "It is done.", schema: Type.Object({ inputs: Type.Integer() }) },
      problems: {
        403: "A command asks, or the question cannot be approved from here: `approvers` of the configuration.",
        409: "No person has taken over the page, or it does not react.",
      },
      people: true,
      async handle({ path: { thread = "" }, body: { inputs }, caller }) {
        const question = await questionOf(thread);
        if (question === undefined) throw new Problem(409, "No person has taken over the page of this thread.");
        const whyNot = whyNotFrom(channelOf(caller), question.decision);
        if (whyNot !== undefined) throw new Problem(403, whyNot);
        await pages.use(thread, inputs as readonly PageInput[]).catch((error: unknown) => {
          throw new Problem(409, messageOf(error));
        });
        return { inputs: inputs.length };
      },
    }),
  ];
}

async function* numbered(views: AsyncIterable<PageView>): AsyncGenerator<StreamEvent> {
  let id = 0;
  for await (const data of views) yield { id: ++id, data };
}
