import type { Agent } from "../../agent/agent.ts";
import { FILLED } from "../../agent/turn.ts";
import type { Backend } from "../../core/contract/backend.ts";
import type { Autonomy } from "../../core/contract/policy.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { machineOf } from "../../core/call/park.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import type { Approvals } from "./approvals.ts";
import { widthOf } from "./wrap.ts";

/** What the status line shows. */
export interface StatusState {
  /** The provider's name of the model: "claude-sonnet-4-5". */
  readonly model: string;
  /** Where work happens: "this machine", "deploy@web-3", "docker:web", "this machine in tmux". */
  readonly host: string;
  /** What runs without a question: "asks", "approves all until 14:32", "read only". */
  readonly autonomy: string;
  readonly sandbox: "sandbox" | "no sandbox";
  /** Whether a turn is running. Escape stops it. */
  readonly isBusy: boolean;
  /** Tokens of the conversation so far, estimated, and of the model's context. */
  readonly contextUsed: number;
  readonly contextSize: number;
  /** What the thread has cost; absent if the price of a model is unknown. */
  readonly costUsd?: number;
  /** The tokens that the thread has used, input and output, including sub-agents. */
  readonly tokens: number;
}

/** A part of the line, and its rank: the lowest is dropped first. A part with `shorter` is first shortened. */
interface Part {
  readonly text: string;
  readonly rank: number;
  readonly shorter?: string;
}

/** Parts of this rank are never dropped: where work happens, and what runs unasked. */
const KEPT = 9;

/**
 * Returns the status line: on the left where and how the agent works, on the right what it uses. Not wider than
 * `columns`. Where there is not enough room, parts are dropped: first the size of the context, then the model, money,
 * the key, the sandbox (unless there is none) and the context. The host is shortened last.
 */
export function statusLine(state: StatusState, columns: number): string {
  const { model, host, autonomy, sandbox, isBusy } = state;
  const used = Math.round((100 * state.contextUsed) / state.contextSize);
  let left: readonly Part[] = [
    { text: oneLine(model, 60), rank: 2 },
    { text: oneLine(host, 60), rank: KEPT },
    { text: sandbox, rank: sandbox === "sandbox" ? 5 : KEPT },
    { text: autonomy, rank: KEPT },
    ...(isBusy ? [{ text: "Esc stops", rank: 4 }] : []),
  ];
  let right: readonly Part[] = [
    { text: `${used}% of ${shortNumber(state.contextSize)}`, rank: 1, shorter: `${used}%` },
    { text: spentText(state), rank: 3 },
  ];
  for (let rank = 1; rank < KEPT && widthOf(lineOf(left, right, 0)) > columns; rank++) {
    left = withoutRank(left, rank);
    right = withoutRank(right, rank);
  }
  const line = lineOf(left, right, columns);
  const over = widthOf(line) - columns;
  if (over <= 0) return line;
  const room = Math.max(4, widthOf(oneLine(host, 60)) - over);
  const cut = left.map((part) => (part.text === oneLine(host, 60) ? { ...part, text: oneLine(host, room) } : part));
  return oneLine(lineOf(cut, right, columns), columns);
}

/** Drops the parts of this rank. A part with a shorter text shows that text until the context is dropped. */
function withoutRank(parts: readonly Part[], rank: number): readonly Part[] {
  return parts.flatMap((part) => {
    if (part.rank !== rank) return [part];
    return part.shorter === undefined ? [] : [{ text: part.shorter, rank: 6 }];
  });
}

function lineOf(left: readonly Part[], right: readonly Part[], columns: number): string {
  const [start, end] = [left, right].map((parts) => parts.map(({ text }) => text).join(" · ")) as [string, string];
  if (end === "") return ` ${start}`;
  const gap = Math.max(2, columns - widthOf(start) - widthOf(end) - 2);
  return ` ${start}${" ".repeat(gap)}${end} `;
}

/** From this share of the context on, people are told that it will be shortened. */
const NEARLY_FULL = 0.7;

/** Returns a notice if the context is nearly so full that it is shortened. */
export function contextNotice({ contextUsed, contextSize }: StatusState): string | undefined {
  const used = contextUsed / contextSize;
  if (used < NEARLY_FULL) return undefined;
  const percent = Math.round(100 * used);
  return `! Context is ${percent}% full: it will be shortened at ${100 * FILLED}%, or now with /compact`;
}

/** Money if all prices are known, otherwise tokens: a cost without the unpriced part would be wrong. */
function spentText({ costUsd, tokens }: StatusState): string {
  if (costUsd === undefined) return `${shortNumber(tokens)} tokens`;
  return dollars(costUsd);
}

/** An amount for people: "$0.42", "<$0.01", "$123". */
export function dollars(amount: number): string {
  if (amount > 0 && amount < 0.005) return "<$0.01";
  return amount < 100 ? `$${amount.toFixed(2)}` : `$${Math.round(amount)}`;
}

/** A count of tokens for people: "950", "128k", "1.1M". */
export function shortNumber(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 9_950) return `${(count / 1_000).toFixed(1).replace(/\.0$/, "")}k`;
  return count < 999_500 ? `${Math.round(count / 1_000)}k` : `${(count / 1_000_000).toFixed(1).replace(/\.0$/, "")}M`;
}

/** The status line of a chat. Its state is read when it is drawn, and again only when it has changed. */
export interface Status {
  line(isBusy: boolean, columns: number): string;
  /** An event may have changed the state. */
  changed(): void;
  close(): void;
}

export interface StatusReaders {
  readonly read: () => StatusState;
  /** When the state changes without an event, in milliseconds since 1970: `/approve 10m` runs out. */
  readonly untilMs: () => number;
  /** Called at that time. */
  readonly onChange: () => void;
}

/** The longest time of a timer in Node.js, in milliseconds. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export function createStatus({ read, untilMs, onChange }: StatusReaders): Status {
  let state: StatusState | undefined;
  let timer: NodeJS.Timeout | undefined;

  const changed = () => {
    state = undefined;
    clearTimeout(timer);
  };
  const current = () => {
    if (state !== undefined) return state;
    const forMs = untilMs() - Date.now();
    if (forMs < Infinity) {
      const ends = () => {
        changed();
        onChange();
      };
      timer = setTimeout(ends, Math.min(Math.max(0, forMs), LONGEST_TIMER_MS)).unref();
    }
    state = read();
    return state;
  };
  return { line: (isBusy, columns) => statusLine({ ...current(), isBusy }, columns), changed, close: changed };
}

/** What the state of the line is read from, besides the agent and its toolkit. */
export interface StatusSources {
  readonly model: { readonly provider: string; readonly modelId: string };
  /** The autonomy of the policy. */
  readonly autonomy: Autonomy;
  /** Absent if nobody is asked. */
  readonly approvals?: Pick<Approvals, "state"> | undefined;
  readonly isBusy: boolean;
}

/** Reads the state of the line. */
export function statusOf(
  agent: Pick<Agent, "context" | "spent">,
  { backend }: Pick<Toolkit, "backend">,
  { model: { provider, modelId }, autonomy, approvals, isBusy }: StatusSources,
): StatusState {
  const { size, ...parts } = agent.context();
  const { usage, cost } = agent.spent;
  const costUsd = provider === "demo" ? 0 : cost;
  return {
    ...{ model: modelId, host: hostOf(backend), autonomy: autonomyText(autonomy, approvals), isBusy },
    sandbox: backend.sandbox === undefined ? "no sandbox" : "sandbox",
    contextUsed: Object.values(parts).reduce((sum, tokens) => sum + tokens, 0),
    contextSize: size,
    tokens: usage.input + usage.output,
    ...(costUsd !== undefined && { costUsd }),
  };
}

/** Names where work happens, for people: "this machine", "deploy@web-3", "docker:web", "this machine in tmux". */
export function hostOf({ name, terminal }: Pick<Backend, "name" | "terminal">): string {
  const machine = machineOf(name);
  const host = machine === "local" ? "this machine" : machine.replace(/^ssh:/, "");
  return terminal === undefined || terminal.isPersons === true ? host : `${host} in tmux`;
}

function autonomyText(autonomy: Autonomy, approvals: StatusSources["approvals"]): string {
  if (autonomy === "readonly") return "read only";
  const { answer, untilMs } = approvals?.state() ?? { answer: "ask", untilMs: Infinity };
  const until = untilMs === Infinity ? "" : ` until ${new Date(untilMs).toTimeString().slice(0, 5)}`;
  if (answer === "all") return `approves all${until}`;
  if (answer === "none") return "refuses questions";
  return autonomy === "full" ? "full autonomy" : "asks";
}
