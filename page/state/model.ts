import { batch, computed, effect, signal } from "@preact/signals";
import type { StoredEvent } from "../../src/core/contract/activity.ts";
import type { Approval } from "../../src/core/contract/decision.ts";
import type { RecordedJob } from "../../src/core/contract/job.ts";
import type { OpenQuestion } from "../../src/core/contract/question.ts";
import { messageOf } from "../../src/core/util/errors.ts";
import { STATE_EVENTS, type ThreadState, foldThread } from "../../src/serve/thread-state.ts";
import { RequestFailed, forget, get } from "./api.ts";
import { type OpenThread, openThread } from "./open-thread.ts";
import { route, view } from "./route.ts";
import { statusOf } from "./thread-status.ts";
import { type StreamState, followEvents } from "./stream.ts";

/** A question, with its text for people. */
export interface Question extends OpenQuestion {
  readonly ask: string;
  /** The longest approval that can be given. */
  readonly longest: "once" | "session" | "always";
  /** Why the question cannot be approved in this browser. */
  readonly whyNot?: string;
}

/** A recorded job. `here` is true when the server's process owns the job and serves its output. */
export type ListedJob = RecordedJob & { readonly here: boolean; readonly ports: readonly number[] };

/** A question that was answered, for the line that reports it. */
export interface Answered {
  readonly question: Question;
  readonly approval: Approval;
  /** Where the answer came from, for people. */
  readonly by: string;
  readonly at: number;
}

/** All threads, as of the newest event. Components read these signals; only this module writes them. */
export const threads = signal<ReadonlyMap<string, ThreadState>>(new Map());
/** Open questions of all threads, oldest first. */
export const questions = signal<readonly Question[]>([]);
/** The last answered question, until the next one is asked. */
export const answered = signal<Answered | undefined>(undefined);
/** All jobs, oldest first. */
export const jobs = signal<readonly ListedJob[]>([]);
export const connection = signal<StreamState>({ how: "connecting" });
/** Why nothing can be shown; `undefined` if something can. */
export const failure = signal<string | undefined>(undefined);
export const isLoaded = signal(false);
/** True if the server has a terminal to watch. */
export const hasTerminal = signal(false);
/** The thread that a page follows. Set by pages. */
export const beside = signal<string | undefined>(undefined);
/** The thread that is shown, or followed by a page. */
export const open = signal<OpenThread | undefined>(undefined);
/** The state of that thread. */
export const openState = computed(() => threads.value.get(open.value?.thread ?? ""));
/** The current time, updated every second, for counters. */
export const now = signal(Date.now());
/** True while a call of the shown thread runs or waits for an answer, or its model is asked. */
export const isRunning = computed(() => {
  const { value: state } = openState;
  return state !== undefined && ["running", "waiting"].includes(statusOf(state, now.value));
});
/** True while an agent does this work, so that it can be steered: a person may also have made the call. */
export const isAgentAtWork = computed(() => {
  const { value: state } = openState;
  return isRunning.value && state?.turn === undefined && (state?.title ?? state?.parent) !== undefined;
});
export const isConnected = computed(() => connection.value.how === "connected");

/** Threads of sub-agents, by the call that started them. */
export const startedBy = computed(() => {
  const started = [...threads.value.values()].filter(({ parent }) => parent !== undefined);
  return new Map(started.map((state) => [state.parent ?? "", state]));
});

/** Functions that are called with the events as they arrive. */
export const eventListeners = new Set<(events: readonly StoredEvent[]) => void>();

let reconnect: () => void = () => undefined;

/** Attempts to connect at once. */
export function connectNow(): void {
  reconnect();
}

/**
 * Loads the state and follows the events. Call it once, when this browser has a session. Resolves when the state is
 * loaded, or `failure` is set.
 */
export async function start(): Promise<void> {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, 1_000);
  try {
    const overview = await get<{ threads: readonly ThreadState[]; last: number; terminal: boolean }>("/api/overview");
    hasTerminal.value = overview.terminal;
    threads.value = new Map(overview.threads.map((each) => [each.thread, each]));
    isLoaded.value = true;
    const onConnection = (next: StreamState) => (connection.value = next);
    await loadQuestions(); // events after the overview are applied to them
    reconnect = followEvents({ after: overview.last, onEvents: take, onConnection, onRefused: showFailure });
    effect(showThread);
    await loadJobs();
  } catch (error) {
    showFailure(error);
  }
}

/** Shows why nothing can be shown. */
export function showFailure(error: unknown): void {
  const isRefused = error instanceof RequestFailed && error.status === 401;
  if (isRefused) forget();
  failure.value = isRefused
    ? "This browser has no session, or it was ended. Open the address that `handrail serve` prints."
    : messageOf(error);
}

/** Opens the thread that the address names. */
function showThread(): void {
  const { value } = route;
  const thread = value.view === "thread" ? value.thread : beside.value;
  const shown = open.peek();
  if (value.view === "page") view.value = "main";
  if (shown?.thread === thread) return;
  shown?.close();
  open.value = thread === undefined ? undefined : openThread(thread);
  if (thread !== undefined) view.value = "main";
}

function take(events: readonly StoredEvent[]): void {
  batch(() => {
    const changed = new Map<string, ThreadState>();
    for (const event of events) {
      if (STATE_EVENTS.includes(event.type)) {
        changed.set(event.thread, foldThread(changed.get(event.thread) ?? threads.value.get(event.thread), event));
      }
      takeQuestion(event);
      if (event.type === "job.started" || event.type === "job.ended") void loadJobs();
    }
    if (changed.size > 0) threads.value = new Map([...threads.value, ...changed]);
    open.value?.take(events);
    for (const listener of eventListeners) listener(events);
  });
}

/** @param event a new question has with it what the page shows of it */
function takeQuestion(event: StoredEvent & { readonly open?: Question }): void {
  const { open: asked } = event;
  if (asked !== undefined) {
    questions.value = [...questions.value.filter(({ question }) => question !== asked.question), asked];
  } else if (event.type === "call.parked" && questions.value.some(({ call }) => call === event.call)) {
    const { untilMs, changed } = event;
    const parked = { untilMs, ...(changed !== undefined && { changed }) };
    questions.value = questions.value.map((each) => (each.call === event.call ? { ...each, parked } : each));
  } else if (event.type === "approval.requested" || event.type === "call.parked") void loadQuestions();
  if (event.type !== "approval.decided" && event.type !== "call.finished") return;
  const closed = questions.value.find(({ call }) => call === event.call);
  if (closed === undefined) return;
  questions.value = questions.value.filter((each) => each !== closed);
  if (event.type !== "approval.decided") return;
  const { approval, by, at } = event;
  answered.value = { question: closed, approval, by, at };
}

let questionsAsked = 0;

/** Of several concurrent requests, only the last one counts. */
async function loadQuestions(): Promise<void> {
  const asked = ++questionsAsked;
  const { approvals } = await get<{ approvals: readonly Question[] }>("/api/approvals");
  if (asked === questionsAsked) questions.value = approvals;
}

let jobsAsked = 0;

/** Reads the jobs again: nothing reports that a job begins to listen on a port. */
export async function loadJobs(): Promise<void> {
  const asked = ++jobsAsked;
  const answer = await get<{ jobs: readonly ListedJob[] }>("/api/jobs");
  if (asked === jobsAsked) jobs.value = answer.jobs;
}
