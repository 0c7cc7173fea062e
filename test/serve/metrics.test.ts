import { expect, test } from "vitest";
import { sqliteStore } from "../../src/record/activity/sqlite-store.ts";
import { until } from "../support/until.ts";
import { served } from "./served.ts";

const VALUE = String.raw`"(?:[^"\\\n]|\\[\\"n])*"`;
const LABELS = String.raw`\{(?:[a-zA-Z_]\w*=${VALUE}(?:,[a-zA-Z_]\w*=${VALUE})*)?\}`;
const SAMPLE = new RegExp(String.raw`^([a-zA-Z_:][\w:]*)(${LABELS})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|\+Inf|NaN)$`);

/**
 * Reads the text format by its grammar (https://prometheus.io/docs/instrumenting/exposition_formats/): HELP and TYPE
 * once before the samples of a metric, the names of a histogram's samples, buckets that grow up to the count.
 */
function parsed(text: string): ReadonlyMap<string, number> {
  const samples = new Map<string, number>();
  const families = new Set<string>();
  let [family, type] = ["", ""];
  expect(text.endsWith("\n")).toBe(true);
  for (const line of text.slice(0, -1).split("\n")) {
    const [, help] = /^# HELP ([a-zA-Z_:][\w:]*) \S.*$/.exec(line) ?? [];
    const [, typed, kind] = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line) ?? [];
    if (help !== undefined) {
      expect(families, `${help} is described once`).not.toContain(help);
      families.add(help);
      [family, type] = [help, ""];
      continue;
    }
    if (typed !== undefined && kind !== undefined) {
      expect([typed, type]).toEqual([family, ""]);
      type = kind;
      continue;
    }
    const [, name = "", labels = "", value] = SAMPLE.exec(line) ?? [];
    expect(value, `a sample: ${line}`).toBeDefined();
    const names = type === "histogram" ? [`${family}_bucket`, `${family}_sum`, `${family}_count`] : [family];
    expect(names, line).toContain(name);
    expect(samples.has(name + labels), `${line} occurs once`).toBe(false);
    samples.set(name + labels, Number(value));
  }
  for (const [name, value] of samples) {
    const [, base, others = ""] = /^(\w+)_bucket\{(?:(.*),)?le="\+Inf"\}$/.exec(name) ?? [];
    if (base === undefined) continue;
    expect(samples.get(`${base}_count${others === "" ? "" : `{${others}}`}`)).toBe(value);
    const prefix = `${base}_bucket{${others === "" ? "" : `${others},`}le=`;
    const buckets = [...samples].filter(([each]) => each.startsWith(prefix)).map(([, count]) => count);
    expect(buckets.toSorted((one, other) => one - other)).toEqual(buckets);
  }
  return samples;
}

test("/metrics counts what any process of the store does, in the text format of Prometheus", async () => {
  const { ask, file, toolkit } = await served();
  const read = async () => {
    const response = await ask("GET", "/metrics");
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    return parsed(await response.text());
  };
  expect((await read()).get("handrail_questions_open")).toBe(0);

  const other = sqliteStore({ file });
  const thread = "elsewhere";
  const odd = 'a\\"tool\n';
  const at = Date.now();
  const decision = { verdict: "ask", risk: "medium" } as const;
  other.append({ type: "thread.created", thread, at, target: "ssh:build", workDir: "/w" });
  other.append({ type: "call.started", call: "c1", thread, at, name: odd, input: {} });
  other.append({
    type: "approval.requested",
    call: "c1",
    thread,
    at: at + 1_000,
    question: "q",
    effects: [],
    decision,
  });
  const approval = { answer: "once" } as const;
  other.append({ type: "approval.decided", call: "c1", thread, at: at + 4_000, question: "q", approval, by: "test" });
  other.append({ type: "call.finished", call: "c1", thread, at: at + 4_300, status: "ok" });
  other.append({ type: "call.started", call: "c2", thread, at, name: "bash", input: {} });
  other.append({ type: "approval.requested", call: "c2", thread, at, question: "open", effects: [], decision });
  const usage = { input: 9, cached: 4, output: 5 };
  other.append({ type: "turn.ended", thread, at, reason: "done", spent: { usage } });
  await other.commit({ type: "turn.ended", thread, at, reason: "failed" });
  await toolkit.call({ name: "bash", input: { command: "exit 3" } });

  await until("all are counted", async () => {
    const found = await read();
    return found.has('handrail_calls_total{tool="bash",target="",status="ok"}') && found.size > 40;
  });
  const found = await read();
  const one = String.raw`handrail_calls_total{tool="other",target="ssh:build",status="ok"}`;
  const seconds = String.raw`handrail_call_duration_seconds`;
  expect(Object.fromEntries(found)).toMatchObject({
    [one]: 1,
    [String.raw`${seconds}_sum{tool="other"}`]: 1.3,
    [String.raw`${seconds}_bucket{tool="other",le="0.5"}`]: 0,
    [String.raw`${seconds}_bucket{tool="other",le="2"}`]: 1,
    'handrail_approval_wait_seconds_sum{answer="once"}': 3,
    'handrail_turns_total{reason="done"}': 1,
    'handrail_turns_total{reason="failed"}': 1,
    'handrail_tokens_total{kind="input"}': 9,
    'handrail_tokens_total{kind="output"}': 5,
    handrail_questions_open: 1,
    handrail_calls_parked: 0,
    handrail_jobs_running: 0,
    handrail_processes: 1,
    'handrail_store_errors_total{operation="write"}': 0,
  });
  expect(found.get("handrail_threads")).toBeGreaterThanOrEqual(2);
  expect(found.get("handrail_event_lag_seconds_count")).toBeGreaterThanOrEqual(10);
  await other.close();
});

test("/metrics needs the token, on this machine too", async () => {
  const { url } = await served();
  expect((await fetch(`${url}/metrics`)).status).toBe(401);
});
