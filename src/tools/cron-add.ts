import { type Static, Type } from "typebox";
import type { Sandboxed } from "../core/contract/containment.ts";
import type { Effect } from "../core/contract/effect.ts";
import { ToolFailure } from "../core/contract/failure.ts";
import type { NewSchedule, Timing, Work } from "../core/contract/schedule.ts";
import { type ToolOptions, defineTool } from "../core/contract/tool.ts";
import {
  SHORTEST_AGENT_MS,
  inWords,
  interval,
  isRecurring,
  nextRuns,
  readTiming,
  shortestGap,
  timeWithZone,
} from "../record/schedule/timing.ts";
import { sandboxArguments, withinOf } from "./shared/sandbox-arguments.ts";

/** The default limits of one run, in seconds: a command, and an agent. */
const COMMAND_SECONDS = 120;
const AGENT_SECONDS = 1_800;

/** The longest command or prompt. A person is shown the whole text. UTF-16 units. */
const MOST_TEXT = 4_000;

/** How many planned times a person is shown. */
const RUNS_SHOWN = 3;

export interface CronAddOptions extends ToolOptions {
  /** Whether commands run in a sandbox. Adds arguments that ask the sandbox for more access. Default false. */
  readonly sandboxed?: Sandboxed;
  /** Milliseconds since 1970. Default: the current time. */
  readonly now?: () => number;
}

const TIMING = Type.Object(
  {
    kind: Type.Union(
      (["cron", "at", "every", "file", "job", "http"] as const).map((kind) => Type.Literal(kind)),
      {
        description:
          "cron: an expression; at: once; every: an interval; file: when a file changes; job: when a background job " +
          "ends; http: when a signed request arrives",
      },
    ),
    expr: Type.Optional(Type.String({ description: 'For cron: 5 fields, or 6 with seconds first: "30 2 * * *"' })),
    at: Type.Optional(Type.String({ description: 'For at: "2027-01-31T09:00" in tz, or with an offset or Z' })),
    every_ms: Type.Optional(Type.Integer({ minimum: 1, description: "For every: milliseconds" })),
    path: Type.Optional(Type.String({ description: "For file: its path" })),
    job: Type.Optional(Type.String({ description: "For job: its id" })),
    tz: Type.Optional(Type.String({ description: "IANA time zone (default: the machine's)" })),
  },
  { additionalProperties: false, description: "When it runs" },
);

/** Adds a schedule. */
export const cronAdd = ({ sandboxed = false, now = Date.now, ...options }: CronAddOptions = {}) => {
  const INPUT = Type.Object(
    {
      name: Type.String({ minLength: 1, maxLength: 100, description: "What it is called" }),
      schedule: TIMING,
      command: Type.Optional(
        Type.String({ minLength: 1, maxLength: MOST_TEXT, description: "The shell command to run" }),
      ),
      prompt: Type.Optional(
        Type.String({ minLength: 1, maxLength: MOST_TEXT, description: "Or the task for an agent" }),
      ),
      agent: Type.Optional(Type.String({ minLength: 1, description: "With prompt: an agent of the configuration" })),
      delete_after_run: Type.Optional(
        Type.Boolean({ description: "Remove it after a successful run (default: true for at and job)" }),
      ),
      overlap: Type.Optional(
        Type.Union([Type.Literal("skip"), Type.Literal("queue"), Type.Literal("replace")], {
          description: "When a run is due and the one before it has not ended (default: skip)",
        }),
      ),
      max_seconds: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 86_400,
          description: `Limit of a run (default: ${COMMAND_SECONDS} for a command, ${AGENT_SECONDS} for an agent)`,
        }),
      ),
      max_tokens: Type.Optional(Type.Integer({ minimum: 1, description: "With prompt: limit of tokens of a run" })),
      max_cost: Type.Optional(
        Type.Number({
          exclusiveMinimum: 0,
          description: "With prompt: limit of what a run costs, if the model has a price",
        }),
      ),
      ...sandboxArguments(sandboxed),
    },
    { additionalProperties: false },
  );
  type Input = Static<typeof INPUT>;

  const read = (input: Input, call?: string): NewSchedule => {
    const { name, command, prompt, agent, overlap = "skip", max_tokens: maxTokens, max_cost: maxCost } = input;
    if ((command === undefined) === (prompt === undefined))
      throw new RangeError(`expected either command or prompt, got ${command === undefined ? "neither" : "both"}`);
    const timing = readTiming(input.schedule, now(), call);
    const gap = shortestGap(timing, now());
    if (prompt !== undefined && isRecurring(timing) && gap < SHORTEST_AGENT_MS) {
      const least = interval(SHORTEST_AGENT_MS);
      throw new RangeError(`schedule: runs of an agent must be at least ${least} apart, got ${interval(gap)}`);
    }
    const within = withinOf(input);
    const work: Work =
      command === undefined
        ? { prompt: prompt ?? "", ...(agent !== undefined && { agent }) }
        : { command: command.trim(), ...(within !== undefined && { within }) };
    return {
      ...{ name: name.replaceAll(/\s+/g, " ").trim(), timing, work, overlap },
      deleteAfterRun: input.delete_after_run ?? !isRecurring(timing),
      maxSeconds: input.max_seconds ?? (command === undefined ? AGENT_SECONDS : COMMAND_SECONDS),
      ...(maxTokens !== undefined && { maxTokens }),
      ...(maxCost !== undefined && { maxCost }),
    };
  };
  const next = (timing: Timing) => nextRuns(timing, now(), RUNS_SHOWN).map((time) => timeWithZone(time, timing.tz));

  return defineTool({
    name: "cron_add",
    title: "Add schedule",
    description:
      "Schedule work that starts by itself later: a shell command, or a prompt for an agent. A person is asked. Each " +
      "run is judged again; one that needs a person's approval waits for it.",
    ...options,
    paramsHint: "name (required), schedule (required), command or prompt, delete_after_run",
    touches: ["state", "exec", "delegate", "read", "terminal"],
    input: INPUT,
    mend: cronText,
    effects: (input) => {
      try {
        return effectsOf(read(input), next);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        return [{ kind: "state", store: "schedule", change: false }]; // `run` reports what is wrong
      }
    },
    async run(input, { schedules, callId, mask, jobs }) {
      const schedule = await valid(() => read(input));
      const { timing, work } = schedule;
      const text = work.command ?? work.prompt;
      if (mask(text) !== text) {
        throw new ToolFailure("the work contains a secret, and schedules do not keep secrets", {
          hint: "Let the command read it from a variable that policy.env.pass names, or from a file.",
        });
      }
      const started = timing.kind === "job" ? (await jobs.get(timing.job))?.call : callId;
      if (started === undefined) {
        throw new ToolFailure(`schedule.job: there is no job ${JSON.stringify(input.schedule.job)} to wait for`, {
          hint: "List the jobs first; only one that was started here can be waited for.",
        });
      }
      const whole = timing.kind === "job" ? { ...schedule, timing: { ...timing, call: started } } : schedule;
      const { id, name } = await schedules.add(whole);
      return {
        job_id: id,
        name,
        schedule: inWords(timing),
        next: next(timing),
        attended: await schedules.isAttended(),
      };
    },
    render: ({ job_id: id, name, schedule, next: times, attended }) =>
      [
        `Scheduled job ${id} "${name}": ${schedule}.`,
        ...(times.length === 0 ? [] : [`Next runs: ${times.join(", ")}`]),
        ...(attended ? [] : [NOBODY_RUNS]),
      ].join("\n"),
  });
};

/** What a person needs to know when no process would run a schedule. */
export const NOBODY_RUNS =
  "No process runs schedules in this folder now. Keep `handrail serve`, `handrail chat` or `handrail cron runner` " +
  "running there.";

/** The work, so that the policy judges it, and the schedule in words with all that it runs. */
function effectsOf(schedule: NewSchedule, next: (timing: Timing) => readonly string[]): readonly Effect[] {
  const { name, timing, work, maxSeconds } = schedule;
  const { command, prompt } = work;
  const times = next(timing);
  const what = command === undefined ? `an agent with the prompt:\n${prompt}` : `the command:\n${command}`;
  const change: Effect = {
    ...{ kind: "state", store: "schedule", change: true },
    about: `Schedule "${name}": ${inWords(timing)}. Each run, of at most ${maxSeconds} s, starts ${what}`,
    ...(times.length > 0 && { soon: `Next runs: ${times.join(", ")}` }),
    ...(command === undefined && isRecurring(timing) && { asks: true }),
  };
  const watched: readonly Effect[] =
    timing.kind === "file"
      ? [{ kind: "read", path: timing.path }]
      : timing.kind === "job"
        ? [{ kind: "terminal", job: timing.job }]
        : [];
  if (work.command === undefined) return [change, { kind: "delegate", agent: work.agent ?? "main" }, ...watched];
  const { within } = work;
  const run: Effect = { kind: "exec", command: work.command, lifetime: "detached", ...(within && { within }) };
  return [change, run, ...watched];
}

async function valid<T>(work: () => T): Promise<T> {
  try {
    return work();
  } catch (error) {
    if (error instanceof RangeError) throw new ToolFailure(error.message, { cause: error });
    throw error;
  }
}

/** A text in place of the schedule is a cron expression. */
function cronText(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || !("schedule" in raw) || typeof raw.schedule !== "string") return raw;
  return { ...raw, schedule: { kind: "cron", expr: raw.schedule } };
}
