import { Type } from "typebox";
import { FIELDS, changeActivity } from "../../record/activity/changes.ts";
import { findToolMessage } from "../../record/activity/messages.ts";
import type { ActivityChange } from "../../core/contract/activity.ts";
import type { OutputLog } from "../../core/contract/backend.ts";
import type { Captured } from "../../core/contract/terminal.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { Json } from "../../core/contract/schema.ts";
import type { Job, RecordedJob } from "../../core/contract/job.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { requestPort } from "../../record/activity/open-port.ts";
import { pause } from "../../core/util/abort.ts";
import { messageOf } from "../../core/util/errors.ts";
import { type StreamEvent, eventStream } from "../event-stream.ts";
import { Problem } from "../problem.ts";
import { type Route, route } from "../route.ts";
import { JOB, list, named } from "../schemas.ts";

/** How often a terminal's screen is read, in milliseconds. */
const LOOK_MS = 200;
/** An unfinished line is shown after this time without more output, in milliseconds. */
const PROMPT_MS = 300;
/** The maximum size of one event of a job's output, in bytes. */
const PIECE_BYTES = 65_536;

/** Routes for running calls, jobs, and a terminal's screen. */
export function workRoutes(toolkit: Toolkit): readonly Route[] {
  return [stopCallRoute(toolkit), activityRoute(toolkit), ...jobRoutes(toolkit), terminalRoute(toolkit)];
}

function stopCallRoute({ store }: Toolkit): Route {
  return route("POST /api/calls/{call}/stop", {
    needs: "prompt",
    summary: "Stop a call, whichever process runs it.",
    answer: { status: 202, description: "The stop is requested.", schema: Type.Object({ call: Type.String() }) },
    problems: { 404: "There is no such call.", 409: "The call has ended." },
    async handle({ path: { call = "" } }) {
      let thread: string | undefined;
      for await (const event of store.events({ call, types: ["call.started", "call.finished"] })) {
        if (event.type === "call.finished") throw new Problem(409, `The call ${call} has ended.`);
        thread = event.thread;
      }
      if (thread === undefined) throw new Problem(404, `There is no call ${call}.`);
      // Of a parked call, which nobody runs
      const { status } = await store.move(call, { to: "withdrawn", by: "API" });
      if (status !== "moved") await store.commit({ type: "stop.requested", call, thread, at: Date.now(), by: "API" });
      return { call };
    },
  });
}

/** Sets a field; `null` deletes it. */
const FIELD = Type.Optional(Type.Union([Type.String({ maxLength: 2_000 }), Type.Null()]));

function activityRoute(toolkit: Toolkit): Route {
  return route("POST /api/calls/{call}/activity", {
    needs: "prompt",
    summary: "Change a call's cell from outside, also after its end: merge data, set a field or delete it (null).",
    body: Type.Object(
      {
        data: Type.Optional(Type.Object({}, { additionalProperties: true, description: "Merged into the data." })),
        display_message: FIELD,
        error: FIELD,
      },
      { minProperties: 1, additionalProperties: false },
    ),
    answer: {
      ...{ status: 200, description: "The changed message." },
      schema: Type.Object({ message: named("ThreadMessage") }),
    },
    problems: { 404: "There is no such call.", 409: "It has ended, and a display_message is for a running call." },
    async handle({ path: { call = "" }, body: { data, ...fields } }) {
      if ((await findToolMessage(toolkit.store, call)) === undefined)
        throw new Problem(404, `There is no call ${call}.`);
      const deleted = FIELDS.filter((field) => fields[field] === null);
      const set = Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value === "string"));
      const change: ActivityChange = {
        ...set,
        ...(data && { data: data as { readonly [key: string]: Json } }),
        deleted,
      };
      await changeActivity(toolkit, call, change).catch((error: unknown) => {
        throw error instanceof ToolFailure ? new Problem(409, `${error.message}. ${error.hint ?? ""}`) : error;
      });
      return { message: await findToolMessage(toolkit.store, call) };
    },
  });
}

function jobRoutes({ store, jobs, mask }: Toolkit): readonly Route[] {
  const recorded = async (id: string): Promise<RecordedJob> => {
    const job = (await store.jobs()).find((each) => String(each.id) === id);
    if (job === undefined) throw new Problem(404, `There is no job ${id}. GET /api/jobs lists them.`);
    return job;
  };
  /** Returns the job itself if this process owns it. */
  const own = async ({ job: id, call }: RecordedJob): Promise<Job | undefined> => {
    const job = await jobs.get(id);
    return job?.lifetime === "detached" || job?.call === call ? job : undefined;
  };
  /** A route that asks the process of a running job for something, by an event. */
  const request = (
    type: "stop.requested" | "job.watched",
    path: `/api/${string}`,
    summary: string,
    description: string,
  ) =>
    route(`POST ${path}`, {
      needs: type === "job.watched" ? "watch" : "prompt",
      summary,
      answer: { status: 202, description, schema: Type.Object({ job: Type.Integer() }) },
      problems: { 404: "There is no such job.", 409: "The job has ended." },
      async handle({ path: { job: id = "" } }) {
        const { call, thread, job, ended, id: number } = await recorded(id);
        if (ended !== undefined) throw new Problem(409, `The job ${id} has ended.`);
        await store.commit({ type, call, thread, job, at: Date.now(), by: "API" });
        return { job: number };
      },
    });

  return [
    route("GET /api/jobs", {
      summary: "The jobs that calls of all processes have started, the oldest first.",
      answer: { status: 200, description: "The jobs.", schema: list("jobs", JOB) },
      async handle() {
        const all = (await store.jobs()).map(async (job) => {
          const here = await own(job);
          const ports = job.ended === undefined ? ((await here?.process.ports?.()) ?? []) : [];
          return { ...job, here: here !== undefined, ports };
        });
        return { jobs: await Promise.all(all) };
      },
    }),
    request(
      "stop.requested",
      "/api/jobs/{job}/stop",
      "Stop a job, whichever process has it.",
      "The stop is requested.",
    ),
    route("POST /api/jobs/{job}/open", {
      needs: "prompt",
      summary: "Open a port of a job in the sandbox to a browser on the machine of the job.",
      body: Type.Object({ port: Type.Integer({ minimum: 1_024, maximum: 65_535 }) }),
      answer: { status: 200, description: "The address.", schema: Type.Object({ url: Type.String() }) },
      problems: { 404: "There is no such job.", 409: "It cannot be opened." },
      async handle({ path: { job: id = "" }, body: { port } }) {
        const job = await recorded(id);
        const url = await requestPort(store, job, port, "API").catch((error: unknown) => {
          throw new Problem(409, messageOf(error));
        });
        return { url };
      },
    }),
    request(
      "job.watched",
      "/api/jobs/{job}/watch",
      "Watch a job of any process: for 30 seconds its last lines arrive as events `job.output`.",
      "The events are requested.",
    ),
    route("GET /api/jobs/{job}/output", {
      summary: "The output of a job, so far and as it is written, as server-sent events.",
      query: Type.Object({
        offset: Type.Optional(
          Type.Integer({ minimum: 0, description: "The first byte. Default 0. `Last-Event-ID` counts before it." }),
        ),
      }),
      answer: {
        ...{
          status: 200,
          description: 'Pieces `{"text"}`; the id of each is the offset behind it. It ends with the job.',
        },
        types: ["text/event-stream"],
      },
      problems: { 404: "There is no such job.", 409: "Another process has the job, or had it." },
      async handle({ path: { job: id = "" }, query: { offset = 0 }, headers, signal }) {
        const known = await recorded(id);
        const job = await own(known);
        if (job === undefined) {
          const end =
            known.ended === undefined
              ? `has the job. POST /api/jobs/${id}/watch requests its last lines`
              : "had the job, and its output went with that";
          throw new Problem(409, `Another process ${end}.`);
        }
        const last = headers.get("last-event-id") ?? "";
        const from = /^\d{1,15}$/.test(last) ? Number(last) : offset;
        return eventStream((gone) => piecesOf(job.process.output, { from, mask, signal: gone }), { signal });
      },
    }),
  ];
}

function terminalRoute({ backend }: Toolkit): Route {
  return route("GET /api/terminal", {
    summary: "What a pane of the terminal shows, as server-sent events.",
    query: Type.Object({
      pane: Type.Optional(Type.String({ description: "As tmux's -t. Default: where commands are typed." })),
    }),
    answer: {
      status: 200,
      description: 'Screens `{"pane","text","cursor"}` with colours as escape sequences, when they change.',
      types: ["text/event-stream"],
    },
    problems: { 404: "There is no terminal: start with --tmux." },
    async handle({ query: { pane }, signal }) {
      const { terminal } = backend;
      if (terminal === undefined) throw new Problem(404, "There is no terminal. Start `handrail serve` with --tmux.");
      const look = () =>
        terminal.capture({
          ...{ includeEscapeSequences: true, includeCursor: true, joinWrappedLines: false },
          ...(pane !== undefined && { target: pane }),
        });
      const first = await look().catch((error: unknown) => {
        throw new Problem(404, error instanceof Error ? error.message : String(error));
      });
      return eventStream((gone) => screens(first, look, gone), { signal });
    },
  });
}

interface Pieces {
  readonly from: number;
  readonly mask: (text: string) => string;
  readonly signal: AbortSignal;
}

/**
 * Yields whole lines, so that no secret is cut. Yields an unfinished line, such as a prompt, after `PROMPT_MS` without
 * more.
 */
async function* piecesOf(log: OutputLog, { from, mask, signal }: Pieces): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  for (let at = from; ;) {
    await log.grown(at, signal);
    if (signal.aborted) return;
    const bytes = await log.read(at, Math.min(log.kept, at + PIECE_BYTES));
    if (bytes.length === 0) return;
    const lines = bytes.lastIndexOf(0x0a) + 1;
    if (lines === 0 && bytes.length < PIECE_BYTES && (await growsSoon(log, at + bytes.length, signal))) continue;
    const length = lines === 0 ? bytes.length : lines;
    at += length;
    yield { id: at, data: { text: mask(decoder.decode(bytes.subarray(0, length), { stream: true })) } };
  }
}

async function growsSoon(log: OutputLog, size: number, signal: AbortSignal): Promise<boolean> {
  await Promise.race([log.grown(size, signal), pause(PROMPT_MS, signal)]);
  return log.kept > size;
}

/** Yields a screen whenever it has changed. */
async function* screens(
  first: Captured,
  look: () => Promise<Captured>,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  let shown: string | undefined;
  for (let [count, screen] = [1, first]; !signal.aborted; screen = await look()) {
    const { pane, text, cursor } = screen;
    const data = { pane, text, ...(cursor !== undefined && { cursor }) };
    const seen = JSON.stringify(data);
    if (seen !== shown) yield { id: count++, data };
    shown = seen;
    await pause(LOOK_MS, signal);
  }
}
