import { loadModel } from "../../agent/models/load.ts";
import { keyFile } from "../../app/config/state.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { Run, Schedule } from "../../core/contract/schedule.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { targetOf } from "../../core/call/park.ts";
import { asText } from "../../core/call/result.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { inWords, loadWords, timeWithZone } from "../../record/schedule/timing.ts";
import { createToolkit } from "../../app/toolkit.ts";
import { NOBODY_RUNS, cronAdd } from "../../tools/cron-add.ts";
import { agentSettings } from "../agent-settings.ts";
import { approveAll, terminalApprover } from "../approver.ts";
import { EXIT } from "../exit.ts";
import type { GlobalOptions } from "../options.ts";
import { type ScheduledAgents, outcomeOf, scheduleRunner } from "../schedules.ts";
import { toolkitOptions } from "../settings.ts";
import { untilStopped } from "../signals.ts";
import { loadSubAgents } from "../sub-agents.ts";
import { say, sayJson, warn } from "../say.ts";

/** The commands of `handrail cron`. */
export const run = {
  list: listSchedules,
  add: addSchedule,
  remove: changeSchedule("remove"),
  pause: changeSchedule("pause"),
  resume: changeSchedule("resume"),
  secret: changeSchedule("secret"),
  run: runSchedule,
  log: logRuns,
  runner: runSchedules,
};

type Options = GlobalOptions & { readonly json?: true };

interface AddOptions extends GlobalOptions {
  readonly name?: string;
  readonly cron?: string;
  readonly at?: string;
  readonly every?: number;
  readonly onFile?: string;
  readonly onRequest?: true;
  readonly tz?: string;
  readonly prompt?: string;
  readonly use?: string;
  readonly overlap?: string;
  readonly maxSeconds?: number;
  readonly keep?: true;
}

interface RunnerCommandOptions extends GlobalOptions {
  readonly model?: string;
  readonly baseUrl?: string;
}

/** Lists the schedules of all folders: one line each, or with `json` as `[Schedule]`. */
async function listSchedules(options: Options): Promise<void> {
  await withToolkit(options, async (toolkit) => {
    const { schedules, backend } = toolkit;
    const all = await schedules.list();
    if (options.json)
      return sayJson(
        options.io,
        all.map(({ grant: _, ...schedule }) => schedule),
      );
    say(options.io, await schedulesText(toolkit));
    if (all.length > 0 && !(await schedules.isAttended(targetOf(backend)))) warn(options.io, [NOBODY_RUNS]);
  });
}

/** Lists the schedules of all folders, a line each. */
export async function schedulesText({ schedules, backend }: Pick<Toolkit, "schedules" | "backend">): Promise<string> {
  await loadWords();
  const all = await schedules.list();
  return all.map((schedule) => lineOf(schedule, targetOf(backend))).join("\n") || "(no schedules)";
}

type ScheduleAction = "remove" | "pause" | "resume";

/** Removes, pauses or resumes a schedule. Returns a sentence. Rejects when there is none with this id. */
export async function applyToSchedule(
  action: ScheduleAction,
  id: string,
  toolkit: Pick<Toolkit, "schedules">,
): Promise<string> {
  const found = await scheduleWith(id, toolkit);
  if (action === "remove") await toolkit.schedules.remove(id);
  else await toolkit.schedules.pause(id, action === "pause" ? "by a person" : undefined);
  const done = { remove: "Removed", pause: "Paused", resume: "Resumed" }[action];
  return `${done} job ${id} "${oneLine(found.name, 100)}"`;
}

/** Adds a schedule, as `cron_add` does: the person is asked. */
async function addSchedule(command: string | undefined, options: AddOptions): Promise<number | void> {
  const { cron, at, every, onFile, onRequest, tz, prompt, use, overlap, maxSeconds } = options;
  const kinds = [
    ...(cron === undefined ? [] : [{ kind: "cron", expr: cron }]),
    ...(at === undefined ? [] : [{ kind: "at", at }]),
    ...(every === undefined ? [] : [{ kind: "every", every_ms: every * 1_000 }]),
    ...(onFile === undefined ? [] : [{ kind: "file", path: onFile }]),
    ...(onRequest === undefined ? [] : [{ kind: "http" }]),
  ];
  const [schedule, more] = kinds;
  if (schedule === undefined || more !== undefined)
    throw new Error("expected one of --cron, --at, --every, --on-file and --on-request");
  const input = {
    name: options.name ?? oneLine(command ?? prompt ?? "", 40),
    schedule: { ...schedule, ...(tz !== undefined && { tz }) },
    ...(command !== undefined && { command }),
    ...(prompt !== undefined && { prompt }),
    ...(use !== undefined && { agent: use }),
    ...(overlap !== undefined && { overlap }),
    ...(maxSeconds !== undefined && { max_seconds: maxSeconds }),
    ...(options.keep && { delete_after_run: false }),
  };
  return await withToolkit(options, async (toolkit) => {
    const approver = options.yes ? approveAll : terminalApprover(options.io);
    const adding = toolkit.with({ tools: [cronAdd()], ...(approver !== undefined && { approver }) });
    const result = await adding.call({ name: "cron_add", input });
    (result.status === "ok" ? options.io.stdout : options.io.stderr).write(`${asText(result)}\n`);
    const id = result.status === "ok" && (result.data as { readonly job_id: string }).job_id;
    if (id !== false && onRequest) say(options.io, await signingOf(id, toolkit));
    return result.status === "ok" ? EXIT.ok : EXIT.notSucceeded;
  });
}

/** Removes, pauses or resumes a schedule, or prints how its requests are signed. */
function changeSchedule(action: ScheduleAction | "secret") {
  return (id: string, options: GlobalOptions): Promise<number | void> =>
    withToolkit(options, async (toolkit) =>
      say(options.io, await (action === "secret" ? signingOf(id, toolkit) : applyToSchedule(action, id, toolkit))),
    );
}

/** Runs a schedule now: in the process that runs the schedules of its folder or, if there is none, in this one. */
async function runSchedule(id: string, options: RunnerCommandOptions): Promise<number | void> {
  return await withToolkit(
    options,
    async (toolkit) => {
      const { schedules, backend } = toolkit;
      const { target, work } = await scheduleWith(id, toolkit);
      if (target !== targetOf(backend)) {
        throw new ToolFailure(`job ${id} belongs to ${target}`, {
          hint: "Run this in its folder, or with --work-dir.",
        });
      }
      const isAttended = await schedules.isAttended(target);
      const { refused } = await schedules.fire(id, "person");
      if (refused !== undefined) throw new ToolFailure(`job ${id} was not started: ${refused}`);
      if (isAttended) return say(options.io, `Job ${id} is due now; \`handrail cron log ${id}\` shows how it ends.`);
      const agents = work.command === undefined ? await agentsFrom(options, toolkit) : undefined;
      const runner = scheduleRunner({ toolkit, agents, only: id, tell: (text) => say(options.io, text) });
      const stopped = untilStopped(options.io);
      stopped.signal.addEventListener("abort", () => void runner.close());
      await runner.once();
      await runner.close();
      stopped.release();
      const [last] = await schedules.runs({ schedule: id, limit: 1 });
      return last?.state === "succeeded" ? EXIT.ok : EXIT.notSucceeded;
    },
    true,
  );
}

/** Prints the runs, newest first: one line each, or with `json` as lines of JSON. */
async function logRuns(id: string | undefined, options: Options): Promise<void> {
  await withToolkit(options, async ({ schedules }) => {
    const runs = await schedules.runs(id === undefined ? {} : { schedule: id });
    if (runs.length === 0 && !options.json) say(options.io, "(no runs)");
    for (const each of runs) {
      if (options.json) sayJson(options.io, each);
      else say(options.io, runLine(each));
    }
  });
}

/** Runs the schedules of the folder until it is asked to end. Prints each outcome. */
async function runSchedules(options: RunnerCommandOptions): Promise<void> {
  await withToolkit(
    options,
    async (toolkit) => {
      const agents = await agentsFrom(options, toolkit);
      const runner = scheduleRunner({ toolkit, agents, tell: (text) => say(options.io, text) });
      const stopped = untilStopped(options.io);
      runner.start();
      const without = agents === undefined ? "; without --model, agents are left to others" : "";
      warn(options.io, [`runs the schedules of ${targetOf(toolkit.backend)}${without}; Ctrl-C stops`]);
      if (!stopped.signal.aborted)
        await new Promise((resolve) => stopped.signal.addEventListener("abort", resolve, { once: true }));
      await runner.close();
      stopped.release();
    },
    true,
  );
}

/** What agents of schedules need, from options and configuration; `undefined` when no model is set. */
async function agentsFrom(options: RunnerCommandOptions, toolkit: Toolkit): Promise<ScheduledAgents | undefined> {
  const { model, limits, instructions: own, coreBytes, disable } = await agentSettings(options);
  if (model === undefined) return undefined;
  const loaded = await loadModel(model, { keyFile: keyFile(options.io.env), env: options.io.env });
  const others = await loadSubAgents(options);
  const instructions = { ...(own !== undefined && { own }), ...(coreBytes !== undefined && { coreBytes }) };
  return { model: loaded.model, limits, disable, instructions, agents: others.of(toolkit) };
}

async function withToolkit(
  options: GlobalOptions,
  work: (toolkit: Toolkit) => Promise<number | void>,
  needsTools = false,
): Promise<number | void> {
  await loadWords();
  const toolkit = await createToolkit(await toolkitOptions(options, { sources: needsTools }));
  try {
    return await work(toolkit);
  } finally {
    await toolkit.close();
  }
}

async function scheduleWith(id: string, { schedules }: Pick<Toolkit, "schedules">): Promise<Schedule> {
  const found = await schedules.get(id);
  if (found !== undefined) return found;
  throw new ToolFailure(`there is no scheduled job ${JSON.stringify(id)}`, {
    hint: "`handrail cron list` lists them.",
  });
}

/** How to sign a request that starts a run. */
async function signingOf(id: string, { schedules }: Pick<Toolkit, "schedules">): Promise<string> {
  const secret = await schedules.secret(id);
  if (secret === undefined) throw new ToolFailure(`job ${id} is not started by requests`);
  return [
    `Secret: ${secret}`,
    `To start a run: POST /api/triggers/${id} with the headers`,
    "  handrail-timestamp: seconds since 1970",
    "  handrail-signature: sha256=HMAC-SHA256(secret, TIMESTAMP.BODY), in hexadecimal",
  ].join("\n");
}

function lineOf({ id, name, timing, work, nextMs, paused, target }: Schedule, here: string): string {
  const next =
    paused === undefined
      ? nextMs === undefined
        ? ""
        : `next ${timeWithZone(nextMs, timing.tz)}`
      : `paused: ${paused}`;
  const what = work.command ?? `agent: ${work.prompt}`;
  const where = target === here ? [] : [oneLine(target, 100)];
  return [id, oneLine(name, 40), inWords(timing), next, ...where, oneLine(what, 80)]
    .filter((part) => part !== "")
    .join("  ");
}

function runLine(ended: Run): string {
  const { startedMs, plannedMs, schedule } = ended;
  const late = startedMs - plannedMs > LATE_MS ? ` (planned ${timeWithZone(plannedMs)})` : "";
  return `${timeWithZone(startedMs)}${late}  ${schedule}  ${outcomeOf(ended, undefined).text}`;
}

/** A run that starts later than this is shown as late. Milliseconds. */
const LATE_MS = 60_000;
