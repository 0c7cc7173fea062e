import { type Static, Type } from "typebox";
import type { OutputLog } from "../core/contract/backend.ts";
import { ToolFailure } from "../core/contract/failure.ts";
import type { Job } from "../core/contract/job.ts";
import {
  type ToolContext,
  type ToolNames,
  type ToolOptions,
  defineTool,
  withToolNames,
} from "../core/contract/tool.ts";
import { lineIndex, readLines } from "../core/files/line-index.ts";
import { decodeOutput } from "../core/output/decode.ts";
import { describeExit } from "../core/output/describe-exit.ts";
import { logFile } from "../core/output/log-file.ts";
import { screenText } from "../core/output/screen-text.ts";
import { formatSize } from "../core/output/size.ts";
import { DEFAULT_LIMIT, DEFAULT_MAX_BYTES, truncateHead } from "../core/output/truncate.ts";
import { onAbort, pause } from "../core/util/abort.ts";
import { renameKeys } from "../core/util/rename-keys.ts";
import { clip, plural } from "../core/util/text.ts";
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
    id: Type.Optional(Type.String({ description: "Job id (not for list)" })),
    offset: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: "output: first line to show, from 1 (default: the output since the last call)",
      }),
    ),
    limit: Type.Optional(Type.Integer({ minimum: 1, description: "output: number of lines, with offset" })),
    follow: Type.Optional(Type.Boolean({ description: "output: if there is no new output, wait for some" })),
    timeout: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: MAX_WAIT_S,
        description: `wait, follow: seconds, not milliseconds (default: ${DEFAULT_WAIT_S})`,
      }),
    ),
    text: Type.Optional(Type.String({ description: "write: text for its stdin, line breaks included" })),
    end: Type.Optional(Type.Boolean({ description: "write: close its stdin afterwards" })),
  },
  { additionalProperties: false },
);

type Input = Static<typeof INPUT>;

/** Lists background commands, shows their output, waits for them, writes to them and stops them. */
export const jobs = (options: ToolOptions = {}) => {
  const limit = options.limit ?? DEFAULT_LIMIT;
  /** How many bytes of each output have been shown. */
  const shown = new WeakMap<OutputLog, number>();
  return withToolNames((names) =>
    defineTool({
      name: "jobs",
      title: "Background jobs",
      description:
        `Manage background commands${startingText(names, " (", ")")}. List them, read a job's output, wait for its ` +
        "end, write to its stdin, or kill it with all its processes.",
      ...options,
      limit,
      keep: "tail",
      touches: ["terminal"],
      input: INPUT,
      output: Type.Object({
        id: Type.Optional(Type.String()),
        state: Type.Optional(Type.String({ description: "running, or how it ended; for a parked call, where it is" })),
        text: Type.Optional(Type.String()),
      }),
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
        const parked = await parkedCall(input, context);
        if (parked !== undefined) return parked;
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
            return { ...stateOf(job), text: await withState(await news(job, context), job, context) };
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
    return { ...stateOf(job), text: await withState(await news(job, context), job, context) };
  }

  async function wait(job: Job, { timeout = DEFAULT_WAIT_S }: Input, context: ToolContext) {
    await forAtMost(timeout, context, (over) => {
      void job.process.exit.then(() => over.abort());
      return reportOutput(job.process.output, context, over.signal);
    });
    return { ...stateOf(job), text: await withState(await news(job, context), job, context) };
  }

  /** The output that has not been shown yet. */
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
    context: ToolContext,
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
      until: context,
    });
    if (whole === 0) {
      const written = total === undefined ? `no line ${offset}` : `only ${plural(total, "line")}`;
      return `[Job ${job.id} has written ${written} so far.]`;
    }
    const shownLines = decodeOutput(bytes).split("\n").map(screenText).join("\n"); // numbered as they are saved
    const part = truncateHead(shownLines, { bytes: maxBytes }, context.mask);
    const found = part.truncated === false ? whole : part.shownLines;
    const next = atEnd && found === whole ? "" : ` Use offset=${offset + found} to continue.`;
    const of = total === undefined ? "" : ` of ${total}`;
    return `${part.text.replace(/\n$/, "")}\n[Lines ${offset}-${offset + found - 1}${of}.${next}]`;
  }
};

/**
 * Waits for the work, and aborts `over` after `seconds` or when the call is stopped. (`AbortSignal.timeout` behind
 * `AbortSignal.any` may be garbage-collected, and then never fires.)
 *
 * @throws The signal's reason when the call is stopped.
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

/** The state of a parked call, for `output` and `wait` with its id; `undefined` for the id of a job. */
async function parkedCall({ action, id, timeout = DEFAULT_WAIT_S }: Input, context: ToolContext) {
  if (id === undefined || (action !== "output" && action !== "wait")) return undefined;
  const { jobs: own, signal } = context;
  if ((await own.get(id)) !== undefined) return undefined;
  let found = await own.parked(id);
  await forAtMost(timeout, context, async (over) => {
    while (action === "wait" && found !== undefined && found.state !== "ended" && !over.signal.aborted) {
      await pause(LOOK_MS, over.signal);
      signal.throwIfAborted();
      found = await own.parked(id);
    }
  });
  return found && { id, ...found };
}

/** The pause between two looks at a parked call while the tool waits for it, in milliseconds. */
const LOOK_MS = 500;

/** Converts an id that is a number, or that is written as results write it: "job-1", "output://job-1". */
function withTextId(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || !("id" in raw)) return raw;
  if (typeof raw.id !== "number" && typeof raw.id !== "string") return raw;
  return { ...raw, id: String(raw.id).replace(/^(output:\/\/)?job[- ](?=\d+$)/i, "") };
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

/** How to start a job, if the toolset has a tool for that: "bash with background: true". */
function startingText(names: ToolNames, before: string, after: string): string {
  const bash = names("bash", "background");
  return bash === undefined ? "" : `${before}${bash} with background: true${after}`;
}

function whichThereAre(all: readonly Job[], names: ToolNames): string {
  return all.length === 0
    ? `There are no jobs${startingText(names, ": ", " starts one")}.`
    : `Jobs: ${all.map(({ id, command }) => `${id} (${clip(command, 40)})`).join(", ")}.`;
}

async function write({ id, process, ended }: Job, { text, end }: Input, names: ToolNames) {
  if (text === undefined && end !== true) throw new ToolFailure('action "write" needs "text", or "end": true');
  if (ended !== undefined) throw new ToolFailure(`job ${id} has ended: ${describeExit(ended.exit)}`);
  // Typing into a pane is judged by what the pane shows, so send-keys must do it.
  if (process.awaitsInput !== undefined) {
    const keys = names("send-keys");
    const pane = process.place?.replace(/^pane /, "") ?? "";
    const call = `${keys} ({"target": "${pane}", "literal_text": "…", "enter": true})`;
    throw new ToolFailure(`job ${id} reads from its terminal, tmux pane ${pane}, not from stdin`, {
      hint: keys === undefined ? "Ask a person to type into it." : `Type into it with ${call}, or ask a person to.`,
    });
  }
  if (text !== undefined) await process.write(text);
  if (end === true) await process.endInput();
  const closed = text === undefined ? `Closed the stdin of job ${id}` : " and closed its stdin";
  const written = text === undefined ? "" : `Wrote ${formatSize(Buffer.byteLength(text))} to job ${id}`;
  return { id, state: "running", text: `${written}${end === true ? closed : ""}.` };
}

async function listed({ jobs: own }: ToolContext): Promise<string> {
  const all = await Promise.all((await own.list()).map(listedJob));
  const parked = (await own.allParked()).map(({ id, name, text }) => `${id}  call of ${name}: ${text}`);
  return [...all, ...parked].join("\n") || "(no jobs)";
}

async function listedJob(job: Job): Promise<string> {
  const { id, lifetime, command, process } = job;
  const state = `${lifetime === "detached" ? "detached, " : ""}${stateText(job)}${await portsText(job)}`;
  return `${id}  ${state}, ${formatSize(process.output.size)} of output  ${clip(command.replaceAll(/\s+/g, " "), 100)}`;
}

function stateOf(job: Job) {
  return { id: job.id, state: job.ended === undefined ? "running" : job.ended.exit.how };
}

/** The new output, and below it the state of the job. Replaces the notice of the job's end. */
async function withState(news: string, job: Job, { jobs: own }: ToolContext): Promise<string> {
  if (job.ended !== undefined) own.told(job.id);
  const state = `[Job ${job.id}: ${stateText(job)}${await portsText(job)}.]`;
  return news === "" ? `(no new output)\n${state}` : `${news.replace(/\n$/, "")}\n${state}`;
}

/** Only commands in the sandbox reach these ports. The model cannot open them, and tells the person. */
async function portsText({ ended, process }: Job): Promise<string> {
  const ports = ended === undefined ? ((await process.ports?.()) ?? []) : [];
  if (ports.length === 0) return "";
  return `, listens on port ${ports.join(", ")} in the sandbox (the user opens it: /open PORT)`;
}

function stateText({ startedMs, ended }: Job): string {
  const seconds = (((ended?.atMs ?? Date.now()) - startedMs) / 1_000).toFixed(1);
  return ended === undefined ? `running for ${seconds} s` : `${describeExit(ended.exit)} after ${seconds} s`;
}
