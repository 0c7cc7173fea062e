import type { AgentEvent } from "../../agent/agent.ts";
import { plural } from "../../core/util/text.ts";
import type { CallSubject } from "../call-title.ts";
import { withOutput } from "../progress.ts";
import { type Block, endedLines, runningLines } from "./draw/calls.ts";
import { paint } from "./draw/paint.ts";
import type { Printer } from "./printer.ts";

type CallEvent<T extends AgentEvent["type"]> = Extract<AgentEvent, { type: T }>;

/** The calls that have no result yet, each as a block of live lines. */
export interface TurnCalls {
  add(event: CallEvent<"tool_call">): Promise<void>;
  started(event: CallEvent<"tool_started">): void;
  update(event: CallEvent<"tool_update">): void;
  /** A person is asked about a call, or has answered. */
  approval(event: CallEvent<"approval">): Promise<void>;
  /** Prints a call with its result. */
  end(event: CallEvent<"tool_result">): void;
  /** The turn has ended: nothing runs. */
  clear(): void;
  isEmpty(): boolean;
  /** Returns the running calls, then those that wait for them: at most `rows` lines. */
  lines(rows: number): readonly string[];
}

export interface TurnCallsOptions {
  readonly printer: Printer;
  readonly columns: () => number;
  /** Returns what a call is about. */
  readonly subjectOf: (name: string, input: string) => Promise<CallSubject>;
  /** Called when a call is shown because it runs for some time. */
  readonly onChange: () => void;
}

/**
 * How long a call runs before it is shown, in milliseconds. Before that it may still be judged, or a person may be
 * asked.
 */
const SHOWN_AFTER_MS = 300;

export function createTurnCalls({ printer, columns, subjectOf, onChange }: TurnCallsOptions): TurnCalls {
  const blocks = new Map<string, Block>();

  return {
    async add({ id, name, input, userFacing }) {
      if (userFacing === false) return; // without a block, nothing else of it is shown
      const subject = await subjectOf(name, input);
      blocks.set(id, { ...subject, sinceMs: undefined, isAsked: false, output: "", message: undefined });
    },
    started({ id }) {
      const block = blocks.get(id);
      if (block !== undefined) block.sinceMs = Date.now();
      setTimeout(onChange, SHOWN_AFTER_MS + 1);
    },
    update({ id, update: { displayMessage, output } }) {
      const block = blocks.get(id);
      if (block === undefined) return;
      if (displayMessage !== undefined) block.message = displayMessage ?? undefined;
      if (output !== undefined) block.output = withOutput(block.output, output);
    },
    async approval({ id, name, status, edited }) {
      const block = blocks.get(id);
      if (block !== undefined) Object.assign(block, { isAsked: status === "asked", sinceMs: Date.now() });
      if (block !== undefined && edited !== undefined) Object.assign(block, await subjectOf(name, edited)); // what runs
      if (status === "parked") blocks.delete(id); // the end of the turn says that it waits
    },
    end(event) {
      const block = blocks.get(event.id);
      if (block === undefined) return;
      blocks.delete(event.id);
      const ms = block.sinceMs === undefined ? 0 : Date.now() - block.sinceMs;
      const { lines, rest } = endedLines(block, event, ms, columns());
      printer.print("call", lines, rest);
    },
    clear: () => blocks.clear(),
    isEmpty: () => blocks.size === 0,
    lines: (rows) => linesOf(shownCalls([...blocks.values()], Date.now()), { rows, columns: columns() }),
  };
}

/** Returns the calls that run for some time, then those that wait for them. */
function shownCalls(blocks: readonly Block[], nowMs: number): readonly Block[] {
  const open = blocks.filter(({ isAsked }) => !isAsked);
  const running = open.filter(({ sinceMs }) => sinceMs !== undefined && nowMs - sinceMs > SHOWN_AFTER_MS);
  return running.length === 0 ? [] : [...running, ...open.filter(({ sinceMs }) => sinceMs === undefined)];
}

function linesOf(
  calls: readonly Block[],
  { rows, columns }: { readonly rows: number; readonly columns: number },
): readonly string[] {
  const lines: string[] = [];
  for (const [index, block] of calls.entries()) {
    const of = runningLines(block, Date.now(), columns);
    const left = calls.length - index;
    const room = rows - lines.length - (left > 1 ? 1 : 0);
    if (room < 1) return [...lines, paint("dim", `  … ${plural(left, "more call")}`)];
    lines.push(...(of.length <= room ? of : [...of.slice(0, 1), ...of.slice(1).slice(-(room - 1) || of.length)]));
  }
  return lines;
}
