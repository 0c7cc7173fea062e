import type { AgentEvent } from "../../agent/agent.ts";
import { terminalSafe } from "../../core/output/terminal-text.ts";
import type { CallSubject } from "../call-title.ts";
import { markdownStream } from "./draw/markdown.ts";
import { elapsed, paint } from "./draw/paint.ts";
import type { Printer } from "./printer.ts";
import { createTurnCalls } from "./turn-calls.ts";
import { wrapped } from "./wrap.ts";

/** Shows the events of an agent: what is finished through a printer, the rest as live lines. */
export interface TurnView {
  /** @param isPersons true for a call that the person makes, which belongs to no turn */
  show(event: AgentEvent, isPersons?: boolean): Promise<void>;
  /** Whether a turn runs. */
  isRunning(): boolean;
  /** Returns the unfinished end of the text, then the running and waiting calls: at most `rows` lines. */
  lines(rows: number): readonly string[];
}

export interface TurnViewOptions {
  readonly printer: Printer;
  readonly columns: () => number;
  /** Returns what a call is about. */
  readonly subjectOf: (name: string, input: string) => Promise<CallSubject>;
  /** Returns what a person's message is shown as, if it is not the text itself: with folded pastes. */
  readonly shownAs: (text: string) => string | undefined;
  /** Called when the live lines may have changed. */
  readonly onChange: () => void;
}

/** A turn that runs. */
interface RunningTurn {
  readonly begunMs: number;
  /** Since when nothing has come from the model. `undefined` while its text comes. */
  readonly waitsSinceMs: number | undefined;
}

/** The times of running calls change so often, in milliseconds. */
const CLOCK_MS = 1_000;
/** A message of a person is folded to so many rows. */
const MESSAGE_ROWS = 12;

export function createTurnView(options: TurnViewOptions): TurnView {
  const { printer, columns, shownAs, onChange } = options;
  const calls = createTurnCalls(options);
  const text = createTurnText(printer, columns);
  let turn: RunningTurn | undefined;
  let clock: NodeJS.Timeout | undefined;

  const note = (words: string) => printer.say(words, "dim");
  const begin = () => {
    if (turn !== undefined) return;
    turn = { begunMs: Date.now(), waitsSinceMs: undefined };
    printer.begin();
  };
  const waits = (waitsSinceMs: number | undefined) => {
    if (turn !== undefined) turn = { ...turn, waitsSinceMs };
  };
  /** Runs the clock while its time is shown. */
  const tick = () => {
    const isNeeded = turn !== undefined || !calls.isEmpty();
    if (isNeeded) clock ??= setInterval(onChange, CLOCK_MS);
    else {
      clearInterval(clock);
      clock = undefined;
    }
  };
  const addMessage = (event: Extract<AgentEvent, { type: "message" }>) => {
    begin();
    waits(turn?.waitsSinceMs ?? Date.now());
    text.end();
    if (event.offered === true) return note(`Message from another process: ${event.text}`);
    if (event.from === "handrail") return note(event.text);
    return printMessage(shownAs(event.text) ?? event.text, printer, columns());
  };
  const endTurn = ({ reason, message, usage, waitingFor }: Extract<AgentEvent, { type: "end" }>) => {
    text.end();
    if (reason === "stopped") note("Stopped.");
    if (message !== undefined) note(message);
    if (waitingFor.length > 0) note(`Waiting for job ${waitingFor.join(", ")}.`);
    note(`${elapsed(Date.now() - (turn?.begunMs ?? Date.now()))}, ${usage.input} tokens in, ${usage.output} out`);
    turn = undefined;
    calls.clear();
  };

  const show = (event: AgentEvent, isPersons: boolean): Promise<void> | void => {
    switch (event.type) {
      case "message":
        return addMessage(event);
      case "text":
        waits(undefined);
        return text.add(event.text);
      case "usage":
        waits(Date.now());
        return text.end();
      case "tool_call":
        if (!isPersons) begin();
        return calls.add(event);
      case "tool_started":
        return calls.started(event);
      case "tool_update":
        return calls.update(event);
      case "approval":
        return calls.approval(event);
      case "tool_result":
        waits(Date.now());
        return calls.end(event);
      case "retry":
        return note(`${event.message} Retry ${event.attempt} in ${(event.waitMs / 1_000).toFixed(1)} s.`);
      case "starting":
        return note(`Waiting for ${event.sources.join(", ")} to start.`);
      case "compacted":
        return note(`The conversation was shortened from ${event.before} to ${event.after} tokens.`);
      case "end":
        return endTurn(event);
      case "reasoning":
        return undefined;
    }
  };
  const thinkingLines = (): readonly string[] => {
    const sinceMs = calls.isEmpty() ? turn?.waitsSinceMs : undefined;
    const forMs = sinceMs === undefined ? 0 : Date.now() - sinceMs;
    return forMs < CLOCK_MS ? [] : [paint("dim", `◌ thinking  ${elapsed(forMs)}`)];
  };

  return {
    async show(event, isPersons = false) {
      await show(event, isPersons);
      tick();
      onChange();
    },
    isRunning: () => turn !== undefined,
    lines(rows) {
      const tail = text.unfinished();
      const open = calls.lines(Math.max(2, rows - Math.min(tail.length, 1)));
      const below = open.length > 0 ? open : thinkingLines();
      const room = Math.max(1, rows - below.length);
      return [...tail.slice(-room), ...(tail.length > 0 && below.length > 0 ? [""] : []), ...below];
    },
  };
}

/** The text of the model: what is finished is printed, the rest are live lines. */
function createTurnText(printer: Printer, columns: () => number) {
  const stream = markdownStream(columns);
  /** Drawn when it is looked at. */
  let unfinished: () => readonly string[] = () => [];
  return {
    add(more: string) {
      const drawn = stream.add(more);
      unfinished = () => drawn.live;
      printer.print("text", drawn.finished);
    },
    end() {
      unfinished = () => [];
      printer.print("text", stream.end());
    },
    unfinished: () => unfinished(),
  };
}

/** Prints a message of a person. A long one is folded. */
function printMessage(words: string, printer: Printer, columns: number): void {
  const rows = words
    .split("\n")
    .map((line, index) => (index === 0 ? `> ${line}` : `  ${line}`))
    .flatMap((line) => wrapped(terminalSafe(line), columns, line.slice(0, 2)));
  const left = rows.length - MESSAGE_ROWS;
  if (left <= 1) return printer.print("person", rows);
  const more = paint("dim", `  … ${left} more lines (Ctrl-O)`);
  return printer.print("person", [...rows.slice(0, MESSAGE_ROWS), more], rows.join("\n"));
}
