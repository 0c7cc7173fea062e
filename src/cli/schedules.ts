import type { LanguageModelV3 } from "@ai-sdk/provider";
import {
  type Agent,
  type Limits,
  type SubAgents,
  type TurnEnd,
  buildInstructions,
  createAgent,
} from "../agent/agent.ts";
import type { Effect } from "../core/contract/effect.ts";
import type { ThreadId } from "../core/contract/identity.ts";
import type { ToolResult } from "../core/contract/result.ts";
import type { Claimed, Run, RunEnd, Schedule, Timing } from "../core/contract/schedule.ts";
import type { Tool } from "../core/contract/tool.ts";
import type { Toolkit } from "../core/contract/toolkit.ts";
import { isGranted } from "../core/call/confine-schedules.ts";
import { targetOf } from "../core/call/park.ts";
import { asText } from "../core/call/result.ts";
import { oneLine } from "../core/output/terminal-text.ts";
import { namedFilesIn } from "../policy/commands/named-files.ts";
import { type Runner, createRunner } from "../record/schedule/runner.ts";
import { timeWithZone } from "../record/schedule/timing.ts";
import { onEvents } from "../core/call/on-events.ts";
import { pause } from "../core/util/abort.ts";
import { createWake } from "../core/util/wake.ts";
import { shell } from "../tools/shell.ts";

/** What a schedule's agent is made of. */
export interface ScheduledAgents {
  readonly model: LanguageModelV3;
  readonly limits: Limits;
  readonly instructions: { readonly own?: string; readonly coreBytes?: number };
  readonly disable: readonly string[];
  /** The agents that a schedule may name. */
  readonly agents: SubAgents;
}

export interface ScheduleRunnerOptions {
  readonly toolkit: Toolkit;
  /** Absent: this process has no model, and leaves agents to others. */
  readonly agents?: ScheduledAgents | undefined;
  /** Called with each outcome, a sentence for people, and whether it needs their attention. Must not throw. */
  readonly tell?: (text: string, isUrgent: boolean) => void;
  /** Only this schedule. Default: all schedules of the toolkit's target. */
  readonly only?: string;
}

export interface ScheduleRunner extends Runner {
  start(): void;
  /** Opens the agent of a run's thread; `undefined` if the thread belongs to no run. */
  agentOf(thread: ThreadId): Promise<Agent | undefined>;
}

/** How much of an output the log of runs keeps, in UTF-16 units. */
const NOTE = 500;

/** Added to the instructions of an agent that a schedule starts. */
const UNWATCHED =
  "A schedule started you, and nobody watches. Nobody can answer questions. A call that needs a person's approval " +
  "waits for it: then end your turn. If you could not do the task, begin your last message with FAILED: and the " +
  "reason.";

/**
 * Creates the runner of the schedules of a toolkit's target. Its runs have the schedule's own grant and permanent
 * grants, but nothing of this process: no approver, and no grants of the session.
 */
export function scheduleRunner({ toolkit, agents, tell, only }: ScheduleRunnerOptions): ScheduleRunner {
  const { store, backend, schedules } = toolkit;

  const unattended = (schedule: Schedule, thread: ThreadId, tools?: readonly Tool[]) =>
    toolkit.with({
      thread,
      ...(tools !== undefined && { tools }),
      unattended: {
        isApproved: async ({ tool, effects }) =>
          tool.name === COMMAND && isWork(effects, schedule) && (await isGranted(schedule, backend, namedFilesIn)),
      },
    });

  const commandIn = (schedule: Schedule, thread: ThreadId) => {
    const { command = "", within } = schedule.work.command === undefined ? {} : schedule.work;
    const tool = shell({ timeout: schedule.maxSeconds, ...(backend.shell !== undefined && { shell: backend.shell }) });
    const effects = (): readonly Effect[] => [{ kind: "exec", command, ...(within !== undefined && { within }) }];
    return unattended(schedule, thread, [{ ...(tool as Tool), name: COMMAND, effects }]);
  };

  const agentIn = async (schedule: Schedule, thread: ThreadId): Promise<Agent> => {
    const { work, maxSeconds, maxTokens, maxCost, id } = schedule;
    if (agents === undefined) throw new Error("this process has no model for agents. Start it with --model");
    const name = work.command === undefined ? work.agent : undefined;
    const named = name === undefined ? undefined : agents.agents[name];
    if (name !== undefined && named === undefined) throw new Error(`the configuration has no agent "${name}"`);
    const own = named?.instructions ?? agents.instructions.own;
    const { coreBytes } = agents.instructions;
    const given = unattended(schedule, thread, named?.tools);
    const instructions = await buildInstructions(given, {
      ...(own !== undefined && { own }),
      ...(coreBytes !== undefined && { coreBytes }),
    });
    return await createAgent({
      ...{ model: named?.model ?? agents.model, toolkit: given, thread, disable: agents.disable },
      ...{ agents: agents.agents, ...(name !== undefined && { name }) },
      instructions: `${instructions}\n\n${UNWATCHED}`,
      startedWith: { schedule: id },
      limits: {
        ...agents.limits,
        ...named?.limits,
        timeMs: maxSeconds * 1_000,
        ...(maxTokens !== undefined && { tokens: maxTokens }),
        ...(maxCost !== undefined && { cost: maxCost }),
      },
    });
  };

  const withAgent = async (
    { schedule, run: { thread } }: Claimed,
    signal: AbortSignal,
    turn: (agent: Agent) => Promise<TurnEnd>,
  ): Promise<RunEnd> => {
    const agent = await agentIn(schedule, thread);
    const stop = () => void agent.stop();
    signal.addEventListener("abort", stop);
    try {
      return endOfTurn(await turn(agent), agent);
    } finally {
      signal.removeEventListener("abort", stop);
      await agent.close();
    }
  };

  /** Why the agent of a schedule may not start now; `undefined` if it may start. */
  const refusedAgent = async (schedule: Schedule, prompt: string, agent = "main"): Promise<string | undefined> => {
    const { verdict, reason = "Denied by the policy" } = await toolkit.judge([
      { kind: "delegate", agent, task: prompt },
    ]);
    if (verdict === "deny") return reason;
    if (verdict === "allow" || (await isGranted(schedule, backend, namedFilesIn))) return undefined;
    return `${reason}, and no person approved this schedule. Remove it, and add it again`;
  };

  const make = async (claimed: Claimed, signal: AbortSignal): Promise<RunEnd> => {
    const { schedule, run } = claimed;
    const { thread } = run;
    const { work, id } = schedule;
    if (work.command === undefined) {
      const refused = await refusedAgent(schedule, work.prompt, work.agent);
      if (refused !== undefined) return { state: "denied", note: refused };
      return await withAgent(claimed, signal, (agent) => agent.send(work.prompt));
    }
    const at = Date.now();
    const { name: target, workDir } = backend;
    store.append({ type: "thread.created", thread, at, target, workDir, startedWith: { schedule: id } });
    const from = { role: "user", from: "handrail", content: [{ type: "text", text: titleOf(schedule, run) }] } as const;
    store.append({ type: "message.added", thread, at, message: toolkit.mask(from) });
    const { command } = work;
    return endOfCall(
      await commandIn(schedule, thread).call({ name: COMMAND, input: { command }, id: thread }, { signal }),
    );
  };

  const resume = async (claimed: Claimed, signal: AbortSignal): Promise<RunEnd> => {
    const { schedule, run } = claimed;
    if (schedule.work.command !== undefined)
      return endOfCall(await commandIn(schedule, run.thread).resume(run.thread, { signal }));
    return (await endedElsewhere(toolkit, run.thread)) ?? (await withAgent(claimed, signal, (agent) => agent.resume()));
  };

  const runner = createRunner({
    ...{ schedules, target: targetOf(backend), make, resume },
    ...(only !== undefined && { only }),
    may: ({ work }) => work.command !== undefined || agents !== undefined,
    onAnswers(answered, signal) {
      void onEvents(store, ["approval.decided", "call.finished"], answered, signal);
    },
    async isAnswered({ thread = "" }) {
      const parked = await store.parked({ thread });
      return parked.length === 0 || parked.some(({ state }) => state === "ready" || state === "ended");
    },
    stop: ({ thread = "" }) => store.append({ type: "stop.requested", thread, at: Date.now(), by: "its schedule" }),
    stateOf: (timing) => stateOf(timing, toolkit),
    onOutcome(run, schedule) {
      const { text, isUrgent } = outcomeOf(run, schedule);
      tell?.(text, isUrgent);
      if (!isUrgent || run.state === "waiting") return; // people are notified of the run's question
      const title = `Schedule "${oneLine(run.name, 100)}": ${run.state}`;
      toolkit.notify({ about: "schedule", title, text, ...(run.thread !== undefined && { thread: run.thread }) });
    },
  });
  return {
    ...runner,
    async agentOf(thread) {
      const [run] = await schedules.runs({ thread, limit: 1 });
      const schedule = run && (await schedules.get(run.schedule));
      return schedule?.work.prompt === undefined ? undefined : await agentIn(schedule, thread);
    },
  };
}

/** The tool of a scheduled command. No toolset has it: only the runner makes its parked calls. */
const COMMAND = "scheduled_command";

function isWork(effects: readonly Effect[], { work }: Schedule): boolean {
  const [effect, more] = effects;
  if (effect?.kind !== "exec" || more !== undefined || work.command === undefined) return false;
  return effect.command === work.command && JSON.stringify(effect.within) === JSON.stringify(work.within);
}

function titleOf({ name }: Schedule, { id, cause, plannedMs }: Run): string {
  return `Run ${id} of the schedule "${name}" (${cause}, ${new Date(plannedMs).toISOString()})`;
}

function endOfCall(result: ToolResult): RunEnd {
  const note = tail(asText(result));
  switch (result.status) {
    case "ok":
      return { state: "succeeded", note };
    case "parked":
      return { state: "waiting", note: "it waits for a person's approval: `handrail approvals`" };
    case "denied":
    case "aborted":
      return { state: result.status === "denied" ? "denied" : "interrupted", note };
    case "failed":
    case "invalid-input":
    case "unknown-tool":
      return { state: "failed", note };
  }
}

function endOfTurn(
  { reason, message, unasked }: Pick<TurnEnd, "reason" | "message" | "unasked">,
  agent: Agent,
): RunEnd {
  switch (reason) {
    case "done": {
      if (unasked > 0) return { state: "denied", note: `${unasked} of its calls needed a person's approval` };
      const last = agent.messages.findLast(({ role }) => role === "assistant");
      return endOfMessage(last?.role === "assistant" ? last.content : []);
    }
    case "parked":
      return { state: "waiting", note: "calls of its agent wait for a person's approval: `handrail approvals`" };
    case "stopped":
      return { state: "interrupted", note: "it was stopped" };
    default:
      return { state: "failed", note: message === undefined ? reason : `${reason}: ${message}` };
  }
}

/** How a run ended whose agent wrote this last: an agent declares that its task failed. */
function endOfMessage(content: readonly object[]): RunEnd {
  const text = content.map((part) => ("text" in part ? String(part.text) : "")).join("\n");
  return { state: /^[\s*_#>`]*FAILED\b/.test(text) ? "failed" : "succeeded", note: tail(text) };
}

/** How a waiting agent ended in another process; `undefined` when no other process has continued it. */
async function endedElsewhere({ store }: Toolkit, thread: ThreadId): Promise<RunEnd | undefined> {
  if ((await store.parked({ thread })).length > 0) return undefined;
  let last: RunEnd | undefined;
  let said: readonly object[] = [];
  for await (const event of store.events({ thread, types: ["turn.ended", "message.added"] })) {
    if (event.type === "message.added" && event.message.role === "assistant") said = event.message.content;
    if (event.type !== "turn.ended" || event.reason === "parked") continue;
    const { reason, message = "" } = event;
    if (reason === "done") last = endOfMessage(said);
    else last = { state: reason === "stopped" ? "interrupted" : "failed", note: `${reason} ${message}`.trim() };
  }
  return last;
}

async function stateOf(timing: Timing, { backend, store }: Toolkit): Promise<string | undefined> {
  if (timing.kind === "file") return (await backend.files.stat(timing.path))?.version ?? "absent";
  if (timing.kind !== "job") return undefined;
  const found = (await store.jobs()).find(({ job, call }) => job === timing.job && call === timing.call);
  return found?.ended === undefined ? "running" : "ended";
}

/** The end of a text, as one line. */
function tail(text: string): string {
  const line = text.trim().replaceAll(/\s*\n\s*/g, " ⏎ ");
  return line.length <= NOTE ? line : `…${line.slice(1 - NOTE)}`;
}

/** The pause before schedules are read again that could not be, in milliseconds. */
const RETRY_MS = 2_000;
/** How old a bad outcome is told at the start, in milliseconds. */
const TOLD_MS = 86_400_000;

/**
 * Tells the outcomes of the toolkit's target, of every process, until the signal fires. Begins with outcomes of the
 * last day that need a person. Never rejects: `handrail cron log` shows what is missed.
 */
export async function tellOutcomes(
  { schedules, backend }: Toolkit,
  signal: AbortSignal,
  tell: (text: string) => void,
): Promise<void> {
  const target = targetOf(backend);
  const known = new Set<string>();
  const begunMs = Date.now();
  let wake = createWake();
  while (!(await watches(schedules, () => wake.resolve(), signal)))
    await pause(RETRY_MS, signal, { keepsAlive: false });
  for (; !signal.aborted; await wake.untilResolved(signal)) {
    wake = createWake();
    const runs = await schedules.runs({ limit: RUNS_LOOKED_AT }).catch(() => []);
    for (const run of runs.toReversed()) {
      const { id, state, endedMs, startedMs } = run;
      if (run.target !== target || state === "running" || known.has(`${id} ${state}`)) continue;
      known.add(`${id} ${state}`);
      const { text, isUrgent } = outcomeOf(run, await schedules.get(run.schedule).catch(() => undefined));
      const at = endedMs ?? startedMs;
      if (at >= begunMs || (isUrgent && at > begunMs - TOLD_MS)) tell(text);
    }
  }
}

const RUNS_LOOKED_AT = 20;

/** Resolves to whether changes are now reported, or no longer have to be. */
async function watches({ watch }: Toolkit["schedules"], changed: () => void, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return true;
  return await watch(changed, signal).then(
    () => true,
    () => false,
  );
}

/** The outcome of a run in a sentence, and whether a person should look. */
export function outcomeOf(
  { id, name, state, note = "" }: Run,
  schedule: Pick<Schedule, "paused" | "failures" | "nextMs" | "timing"> | undefined,
): { readonly text: string; readonly isUrgent: boolean } {
  const how = state === "waiting" ? "waits for a person" : state;
  const about = note === "" ? "" : `: ${oneLine(note, NOTE)}`;
  const paused = schedule?.paused === undefined ? "" : ` The schedule is paused: ${schedule.paused}.`;
  const { failures = 0, nextMs, timing } = schedule ?? {};
  const isRetried = failures > 0 && nextMs !== undefined && timing !== undefined && paused === "";
  const next = isRetried ? ` Next run: ${timeWithZone(nextMs, timing.tz)}.` : "";
  const isUrgent = state !== "succeeded" && state !== "skipped";
  return { text: `Schedule "${oneLine(name, 100)}", run ${id}: ${how}${about}.${paused}${next}`, isUrgent };
}
