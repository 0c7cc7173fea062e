import type { ActivityEventType, Store, StoredEvent } from "../core/contract/activity.ts";
import type { CallId, ThreadId } from "../core/contract/identity.ts";
import { pause } from "../core/util/abort.ts";

/** The counts of events since the server started, and what the store has now, as Prometheus reads them. */
export interface Metrics {
  /** Returns the metrics in the text format of Prometheus (version 0.0.4). Rejects when the store cannot be read. */
  text(): Promise<string>;
}

export interface MetricsOptions {
  readonly threads: () => Promise<number>;
  readonly isTool: (name: string) => boolean;
  readonly signal: AbortSignal;
}

/** The media type of `Metrics.text`. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

const COUNTED: readonly ActivityEventType[] = [
  "thread.created",
  "call.started",
  "approval.requested",
  "approval.decided",
  "call.finished",
  "turn.ended",
];

/** The upper bounds of the buckets, in seconds. A call may take milliseconds, an answer hours. */
const CALL_SECONDS = [0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600];
const WAIT_SECONDS = [1, 5, 30, 120, 600, 3_600, 86_400];
const LAG_SECONDS = [0.01, 0.05, 0.25, 1, 5, 30];

/** How many threads are remembered with their targets. */
const MOST_THREADS = 10_000;

/** The delay before a failed read of the store is retried, in milliseconds. */
const RETRY_MS = 1_000;

interface Running {
  readonly tool: string;
  readonly startedMs: number;
  /** The time that the call has waited for people, in milliseconds. */
  waitedMs: number;
  askedMs?: number;
}

/**
 * Counts the events of all processes that share the store, from now on.
 *
 * @param threads returns the number of threads
 * @param isTool whether a tool of this name exists; calls of others count as "other"
 * @param signal stops counting
 */
export function createMetrics(store: Store, { threads, isTool, signal }: MetricsOptions): Metrics {
  const calls = counter("handrail_calls_total", "Calls that have ended, by tool, target and status.");
  const seconds = histogram(
    "handrail_call_duration_seconds",
    "How long calls took, without waits for people.",
    CALL_SECONDS,
  );
  const waits = histogram("handrail_approval_wait_seconds", "How long answered questions were open.", WAIT_SECONDS);
  const turns = counter("handrail_turns_total", "Turns of agents that have ended, by reason.");
  const tokens = counter("handrail_tokens_total", "Tokens of ended turns, by kind. Input includes cached tokens.");
  const lag = histogram("handrail_event_lag_seconds", "From an event until this server has read it.", LAG_SECONDS);
  const failures = counter("handrail_store_errors_total", "Failed attempts of this server to use the store.");
  const running = new Map<CallId, Running>();
  const targets = new Map<ThreadId, string>();

  // A model may call tools that do not exist, by any name.
  const toolOf = (name: string): string => (isTool(name) ? name : "other");

  const targetOf = async (thread: ThreadId): Promise<string> => {
    const known = targets.get(thread);
    if (known !== undefined) return known;
    let target = "";
    for await (const event of store.events({ thread, messages: true, types: ["thread.created"], signal }))
      if (event.type === "thread.created") target = event.target;
    if (targets.size >= MOST_THREADS) targets.clear();
    targets.set(thread, target);
    return target;
  };

  /** The call that an event is of. It is read from the store if it began before the server. */
  const callOf = async (call: CallId): Promise<Running | undefined> => {
    const known = running.get(call);
    if (known !== undefined) return known;
    for await (const event of store.events({ call, types: ["call.started"], signal }))
      if (event.type === "call.started") return { tool: toolOf(event.name), startedMs: event.at, waitedMs: 0 };
    return undefined;
  };

  const take = async (event: StoredEvent): Promise<void> => {
    lag.observe({}, (Date.now() - event.at) / 1_000);
    switch (event.type) {
      case "thread.created":
        targets.set(event.thread, event.target);
        break;
      case "call.started":
        running.set(event.call, { tool: toolOf(event.name), startedMs: event.at, waitedMs: 0 });
        break;
      case "approval.requested":
      case "approval.decided": {
        const call = await callOf(event.call);
        if (call === undefined) break;
        running.set(event.call, call);
        if (event.type === "approval.requested") call.askedMs ??= event.at;
        else if (call.askedMs !== undefined) {
          call.waitedMs += event.at - call.askedMs;
          waits.observe({ answer: event.approval.answer }, (event.at - call.askedMs) / 1_000);
          delete call.askedMs;
        }
        break;
      }
      case "call.finished": {
        const call = await callOf(event.call);
        running.delete(event.call);
        if (call === undefined) break;
        const waitedMs = call.waitedMs + (call.askedMs === undefined ? 0 : event.at - call.askedMs);
        calls.add({ tool: call.tool, target: await targetOf(event.thread), status: event.status });
        seconds.observe({ tool: call.tool }, (event.at - call.startedMs - waitedMs) / 1_000);
        break;
      }
      case "turn.ended":
        turns.add({ reason: event.reason });
        for (const [kind, count] of Object.entries(event.spent?.usage ?? {})) tokens.add({ kind }, count);
        break;
      default:
    }
  };

  const follow = async () => {
    let after: number | "now" = "now";
    while (!signal.aborted) {
      try {
        for await (const event of store.events({ follow: true, after, types: COUNTED, signal })) {
          after = event.id;
          await take(event);
        }
        return; // the store is closed
      } catch {
        failures.add({ operation: "read" });
        await pause(RETRY_MS, signal);
      }
    }
  };
  void follow();

  return {
    async text() {
      const [questions, parked, jobs, count, health] = await Promise.all([
        store.questions(),
        store.parked(),
        store.jobs(),
        threads(),
        store.health?.(),
      ]);
      const atRest = parked.filter(({ state }) => state === "parked" || state === "ready");
      const writes = health && ([[{ operation: "write" }, health.failedWrites]] as const);
      const gauges = [
        gauge("handrail_build_info", "1, with the version.", 1, { version: __VERSION__ }),
        gauge("handrail_questions_open", "Questions that wait for a person.", questions.length),
        gauge("handrail_calls_parked", "Calls that no process waits for, until a person answers.", atRest.length),
        gauge("handrail_calls_running", "Calls in progress that began since the start of the server.", running.size),
        gauge("handrail_jobs_running", "Jobs that have not ended.", jobs.filter((job) => !job.ended).length),
        gauge("handrail_threads", "Threads in the store.", count),
        ...(health === undefined
          ? []
          : [gauge("handrail_processes", "Live processes that have written to the store.", health.processes)]),
      ];
      const counted = [calls, seconds, waits, turns, tokens, lag].map((each) => each.text());
      return `${[...gauges, ...counted, failures.text(writes)].join("\n")}\n`;
    },
  };
}

interface Labels {
  readonly [name: string]: string;
}

/** A line for each set of labels, below the lines that describe the metric. */
function family(name: string, type: string, help: string, samples: readonly string[]): string {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples].join("\n");
}

function sample(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join()}}`} ${value}`;
}

/** The format escapes three characters in the value of a label; others are UTF-8. */
function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function gauge(name: string, help: string, value: number, labels: Labels = {}): string {
  return family(name, "gauge", help, [sample(name, labels, value)]);
}

function counter(name: string, help: string) {
  const counts = new Map<string, { readonly labels: Labels; value: number }>();
  return {
    add(labels: Labels, by = 1) {
      entryIn(counts, labels, () => ({ labels, value: 0 })).value += by;
    },
    /** @param more samples that are counted elsewhere */
    text: (more: readonly (readonly [Labels, number])[] = []) =>
      family(name, "counter", help, [
        ...[...counts.values()].map(({ labels, value }) => sample(name, labels, value)),
        ...more.map(([labels, value]) => sample(name, labels, value)),
      ]),
  };
}

function histogram(name: string, help: string, bounds: readonly number[]) {
  interface Observed {
    readonly labels: Labels;
    readonly buckets: number[];
    sum: number;
    count: number;
  }
  const all = new Map<string, Observed>();
  return {
    /** A value below 0, of clocks that differ, counts as 0. */
    observe(labels: Labels, value: number) {
      const observed = entryIn(all, labels, () => ({ labels, buckets: bounds.map(() => 0), sum: 0, count: 0 }));
      bounds.forEach((bound, index) => {
        if (value <= bound) observed.buckets[index] = (observed.buckets[index] ?? 0) + 1;
      });
      observed.sum += Math.max(0, value);
      observed.count += 1;
    },
    text() {
      const samples = [...all.values()].flatMap(({ labels, buckets, sum, count }) => [
        ...buckets.map((value, index) => sample(`${name}_bucket`, { ...labels, le: String(bounds[index]) }, value)),
        sample(`${name}_bucket`, { ...labels, le: "+Inf" }, count),
        sample(`${name}_sum`, labels, sum),
        sample(`${name}_count`, labels, count),
      ]);
      return family(name, "histogram", help, samples);
    },
  };
}

function entryIn<T>(entries: Map<string, T>, labels: Labels, create: () => T): T {
  const key = JSON.stringify(labels);
  const entry = entries.get(key) ?? create();
  entries.set(key, entry);
  return entry;
}
