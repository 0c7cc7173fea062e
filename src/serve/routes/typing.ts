import { Type } from "typebox";
import type { JobInput } from "../../core/contract/activity.ts";
import type { RecordedJob } from "../../core/contract/job.ts";
import type { Tool } from "../../core/contract/tool.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { jobs as jobsTool } from "../../tools/jobs.ts";
import { sendKeys } from "../../tools/send-keys.ts";
import { randomName } from "../../core/util/identifier.ts";
import { Problem } from "../problem.ts";
import { type Route, route } from "../route.ts";

/** How long another process may take to begin a call that was requested, in milliseconds. */
const ANSWER_MS = 10_000;

const TYPED = {
  status: 202,
  description: "The call that types.",
  schema: Type.Object({ call: Type.String() }),
} as const;

/**
 * Routes for what people type into jobs and the terminal. Typing is a call like any other: it is judged and recorded,
 * whether or not the toolset has the tool.
 */
export function typingRoutes(toolkit: Toolkit): readonly Route[] {
  const { store, mask } = toolkit;
  const type = (tool: Tool, input: unknown, thread: string) => {
    const id = randomName(16);
    void toolkit.with({ tools: [tool], thread }).call({ name: tool.name, input, id });
    return { call: id };
  };
  /** Requests that the process which has the job makes the call. Resolves when that has begun. */
  const ask = async ({ id, call, thread, job }: RecordedJob, body: Pick<JobInput, "text" | "end">) => {
    if (mask(body.text) !== body.text)
      throw new Problem(409, "The text contains a secret, which would be recorded. Write it where the job runs.");
    const request = randomName(16);
    const at = { call, thread, at: Date.now() };
    await store.commit({ ...at, type: "input.requested", job, request, ...body, by: "API" });
    const signal = AbortSignal.timeout(ANSWER_MS);
    for await (const _ of store.events({ call: request, types: ["call.started"], follow: true, signal })) {
      return { call: request };
    }
    throw new Problem(409, `The process that has job ${id} did not answer within ${ANSWER_MS / 1_000} s.`);
  };
  return [
    route("POST /api/jobs/{job}/input", {
      needs: "prompt",
      summary: "Write to the stdin of a job.",
      body: Type.Object({
        text: Type.String({ maxLength: 65_536, description: "Line breaks included." }),
        end: Type.Optional(Type.Boolean({ description: "End its stdin after that. Default false." })),
      }),
      answer: TYPED,
      problems: { 404: "There is no such job.", 409: "The job has ended, or its process does not answer." },
      async handle({ path: { job: id = "" }, body }) {
        const known = (await store.jobs()).find((each) => String(each.id) === id);
        if (known === undefined) throw new Problem(404, `There is no job ${id}. GET /api/jobs lists them.`);
        if (known.ended !== undefined) throw new Problem(409, `The job ${id} has ended.`);
        const job = await toolkit.jobs.get(known.job);
        if (job === undefined || (job.lifetime !== "detached" && job.call !== known.call)) return ask(known, body);
        return type(jobsTool() as Tool, { action: "write", id: known.job, ...body }, known.thread);
      },
    }),
    route("POST /api/terminal/keys", {
      needs: "prompt",
      summary: "Type into a pane of the terminal.",
      body: Type.Object({
        thread: Type.String({ minLength: 1, maxLength: 200, description: "Where the call is recorded." }),
        pane: Type.Optional(Type.String({ minLength: 1, description: "Default: where commands are typed." })),
        text: Type.Optional(Type.String({ maxLength: 65_536, description: "Typed as it is, before the keys." })),
        keys: Type.Optional(
          Type.Array(Type.String({ minLength: 1, maxLength: 32 }), {
            maxItems: 256,
            description: "Names of keys as tmux knows them: C-c, Up, F5.",
          }),
        ),
      }),
      answer: TYPED,
      problems: { 404: "There is no terminal: start with --tmux." },
      async handle({ body: { thread, pane, text, keys } }) {
        if (toolkit.backend.terminal === undefined)
          throw new Problem(404, "There is no terminal. Start `handrail serve` with --tmux.");
        const input = {
          ...(pane !== undefined && { target: pane }),
          ...(text !== undefined && { literal_text: text }),
          ...(keys !== undefined && { keys }),
        };
        return type(sendKeys() as Tool, input, thread);
      },
    }),
  ];
}
