import { type Static, Type } from "typebox";
import type { OutputLog } from "../contract/backend.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { Job } from "../contract/job.ts";
import { type ToolContext, type ToolNames, type ToolOptions, defineTool, withToolNames } from "../contract/tool.ts";
import { lineIndex, readLines } from "../files/line-index.ts";
import { decodeOutput } from "../output/decode.ts";
import { describeExit } from "../output/describe-exit.ts";
import { logFile } from "../output/log-file.ts";
import { formatSize } from "../output/size.ts";
import { DEFAULT_LIMIT, DEFAULT_MAX_BYTES, truncateHead } from "../output/truncate.ts";
import { onAbort } from "../util/abort.ts";
import { renameKeys } from "../util/rename-keys.ts";
import { clip, plural } from "../util/text.ts";
import { attachSecondsHint } from "./shared/duration.ts";
import { reportOutput, shownTail, wholeCharacters } from "./shared/command-output.ts";

const DEFAULT_WAIT_S = 60;
const MAX_WAIT_S = 3_600;

const INPUT = Type.Object(
  {
    action: Type.Union(
      [Type.Literal("list"), Type.Literal("output"), Type.Literal("wait"), Type.Literal("write"), Type.Literal("kill")],
      { description: "What to do" },
    ),
    id: Type.Optional(Type.String({ description: "The job, for all but list" })),
    offset: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: "output: first line to show, from 1 (default: what is new since the last look)",
      }),
    ),
    limit: Type.Optional(Type.Integer({ minimum: 1, description: "output: how many lines, with offset" })),
    follow: Type.Optional(Type.Boolean({ description: "output: if there is nothing new, wait until there is" })),
    timeout: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: MAX_WAIT_S,
        description: `wait, follow: seconds, not milliseconds (default: ${DEFAULT_WAIT_S})`,
      }),
    ),
    text: Type.Optional(Type.String({ description: "write: what to write to its stdin, line breaks included" })),
    end: Type.Optional(Type.Boolean({ description: "write: end its stdin after that" })),
  },
  { additionalProperties: false },
);

type Input = Static<typeof INPUT>;

/** Commands in the background: what runs, what it wrote, waiting for it, writing to it, stopping it. */
export const jobs = (options: ToolOptions = {}) => {
  const limit = options.limit ?? DEFAULT_LIMIT;
  /** How far each output has been shown. */
  const shown = new WeakMap<OutputLog, number>();
  return withToolNames((names) =>
    defineTool({
      name: "jobs",
      title: "Background jobs",
      description:
        `Look after commands in the background${startingText(names, " (", ")")}: list them, read what a job wrote, wait for its ` +
        "end, write to its stdin, or kill it and all processes that it started.",
      ...options,
      limit,
      keep: "tail",
      touches: ["terminal"],
      input: INPUT,
      mend: (raw) =>
        typeof raw === "string"
          ? { action: raw }
          : withTextId(renameKeys(raw, { job: "id", job_id: "id", input: "text" })),
      effects: ({ action, id, text }) => [
        {
          kind: "terminal",
          ...(id !== undefined && { job: id }),
          ...(action === "write" && text !== undefined && { types: text }),
        },
      ],
      async run(input, context) {
        if (input.action === "list") return { text: await listed(context) };
        const job = await jobOf(input, context, names);
        attachSecondsHint("timeout", input.timeout, context);
        switch (input.action) {
          case "output":
            return output(job, input, context);
          case "wait":
            return wait(job, input, context);
          case "write":
            return write(job, input, names);
          case "kill":
            await job.process.kill();
            return { ...stateOf(job), text: withState(await news(job, context), job, context) };
        }
      },
      render: ({ text }) => text,
    }),
  );

  async function output(
    job: Job,
    { offset, limit: lines, follow, timeout = DEFAULT_WAIT_S }: Input,
    context: ToolContext,
  ) {
    if (offset !== undefined || lines !== undefined) {
      return {
        ...stateOf(job),
        text: await range(job, { offset: offset ?? 1, lines: lines ?? limit.lines ?? 2_000 }, context),
      };
    }
    const beyond = shown.get(job.process.output) ?? 0;
    if (follow === true) {
      await forAtMost(timeout, context, ({ signal }) => job.process.output.grown(beyond, signal));
    }
    return { ...stateOf(job), text: withState(await news(job, context), job, context) };
  }

  async function wait(job: Job, { timeout = DEFAULT_WAIT_S }: Input, context: ToolContext) {
    await forAtMost(timeout, context, (over) => {
      void job.process.exit.then(() => over.abort());
      return reportOutput(job.process.output, context, over.signal);
    });
    return { ...stateOf(job), text: withState(await news(job, context), job, context) };
  }

  /** What it has written since it was last shown. */
  async function news(job: Job, context: ToolContext): Promise<string> {
    const { output: log } = job.process;
    const to = job.ended === undefined ? await wholeCharacters(log) : log.kept;
    const from = Math.min(shown.get(log) ?? 0, to);
    shown.set(log, to);
    return shownTail(log, limit, context, { from, to, savedAs: `job-${job.id}` });
  }

  async function range(
    job: Job,
    { offset, lines }: { offset: number; lines: number },
    { signal, mask }: ToolContext,
  ): Promise<string> {
    const maxBytes = limit.bytes ?? DEFAULT_MAX_BYTES;
    const file = logFile(job.process.output, `output://job-${job.id}`, job.startedMs);
    const {
      bytes,
      lines: whole,
      total,
      atEnd,
    } = await readLines(file, {
      offset,
      maxLines: Math.min(lines, limit.lines ?? Infinity),
      maxBytes,
      lineBreak: { bytes: Uint8Array.of(10), unit: 1 },
      index: lineIndex(),
      signal,
    });
    if (whole === 0)
      return `[Job ${job.id} has written ${total === undefined ? "fewer" : plural(total, "line")} so far.]`;
    const part = truncateHead(decodeOutput(bytes), { bytes: maxBytes }, mask);
    const found = part.truncated === false ? whole : part.shownLines;
    const next = atEnd && found === whole ? "" : ` Use offset=${offset + found} to continue.`;
    return `${part.text.replace(/\n$/, "")}\n[Lines ${offset}-${offset + found - 1}${total === undefined ? "" : ` of ${total}`}.${next}]`;
  }
};

/**
 * Waits for the work, whose signal fires after so many seconds or when the call is stopped. (`AbortSignal.timeout` may be collected while it
 * is waited for through `AbortSignal.any`, and then never fires.)
 *
 * @throws The call's reason when that is stopped.
 */
async function forAtMost(
  seconds: number,
  { signal }: ToolContext,
  work: (over: AbortController) => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), seconds * 1_000);
  const release = onAbort(signal, () => over.abort());
  try {
    await work(over);
  } finally {
    clearTimeout(timer);
    release();
  }
  signal.throwIfAborted();
}

/** A number where the id is text is what models write. */
function withTextId(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || !("id" in raw) || typeof raw.id !== "number") return raw;
  return { ...raw, id: String(raw.id) };
}

async function jobOf({ action, id }: Input, { jobs: own }: ToolContext, names: ToolNames): Promise<Job> {
  const all = await own.list();
  const hint = whichThereAre(all, names);
  if (id === undefined) throw new ToolFailure(`action "${action}" needs the id of a job`, { hint });
  const job = await own.get(id);
  if (job === undefined) throw new ToolFailure(`there is no job ${id}`, { hint });
  if (job.ended !== undefined) own.told(id);
  return job;
}

/** What starts a job, where that is there: "bash with background: true". */
function startingText(names: ToolNames, before: string, after: string): string {
  const bash = names("bash", "background");
  return bash === undefined ? "" : `${before}${bash} with background: true${after}`;
}

function whichThereAre(all: readonly Job[], names: ToolNames): string {
  return all.length === 0
    ? `There are no jobs${startingText(names, ": ", " starts one")}.`
    : `There are: ${all.map(({ id, command }) => `${id} (${clip(command, 40)})`).join(", ")}.`;
}

async function write({ id, process, ended }: Job, { text, end }: Input, names: ToolNames) {
  if (text === undefined && end !== true) throw new ToolFailure('action "write" needs "text", or "end": true');
  if (ended !== undefined) throw new ToolFailure(`job ${id} has ended: ${describeExit(ended.exit)}`);
  // What is typed into a pane is judged by what that shows.
  if (process.awaitsInput !== undefined) {
    const keys = names("send-keys");
    const pane = process.place?.replace(/^pane /, "") ?? "";
    throw new ToolFailure(`job ${id} has no stdin but its terminal, pane ${pane}`, {
      hint:
        keys === undefined
          ? "Ask a person to type there."
          : `Type there with ${keys} ({"target": "${pane}", "literal_text": "…", "enter": true}), or ask a person to.`,
    });
  }
  if (text !== undefined) await process.write(text);
  if (end === true) await process.endInput();
  const done = [
    ...(text === undefined ? [] : [`${formatSize(Buffer.byteLength(text))} written to job ${id}`]),
    ...(end === true ? [`its stdin is ended`] : []),
  ];
  return { id, state: "running", text: `${done.join("; ")}.` };
}

async function listed({ jobs: own }: ToolContext): Promise<string> {
  const all = await own.list();
  if (all.length === 0) return "(no jobs)";
  return all
    .map(
      (job) =>
        `${job.id}  ${job.lifetime === "detached" ? "detached, " : ""}${stateText(job)}, ${formatSize(job.process.output.size)} of output  ${clip(job.command.replaceAll(/\s+/g, " "), 100)}`,
    )
    .join("\n");
}

function stateOf(job: Job) {
  return { id: job.id, state: job.ended === undefined ? "running" : job.ended.exit.how };
}

/** What is new, and below it the state of the job. No notice of its end follows: this is one. */
function withState(news: string, job: Job, { jobs: own }: ToolContext): string {
  if (job.ended !== undefined) own.told(job.id);
  const state = `[Job ${job.id}: ${stateText(job)}.]`;
  return news === "" ? `(nothing new)\n${state}` : `${news.replace(/\n$/, "")}\n${state}`;
}

function stateText({ startedMs, ended }: Job): string {
  const seconds = (((ended?.atMs ?? Date.now()) - startedMs) / 1_000).toFixed(1);
  return ended === undefined ? `running for ${seconds} s` : `${describeExit(ended.exit)} after ${seconds} s`;
}
