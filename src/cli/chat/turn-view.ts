import type { AgentEvent } from "../../agent/agent.ts";
import { terminalSafe } from "../../output/terminal-text.ts";
import { plural } from "../../util/text.ts";
import { type CallSubject } from "../call-title.ts";
import { withOutput } from "../progress.ts";
import { type Block, endedLines, runningLines } from "./draw/calls.ts";
import { markdownStream } from "./draw/markdown.ts";
import { elapsed, paint } from "./draw/paint.ts";
import type { Printer } from "./printer.ts";
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
  /** Returns the text in place of a person's message, if it differs from the message: with folded pastes. */
  readonly shownAs: (text: string) => string | undefined;
  /** Called when the live lines may have changed. */
  readonly onChange: () => void;
}

/**
 * How long a call runs before it is shown, in milliseconds. Before that it may still be judged, or a person may be
 * asked.
 */
const SHOWN_AFTER_MS = 300;
/** How often the times of running calls are updated, in milliseconds. */
const CLOCK_MS = 1_000;
/** A person's message is folded to at most this many rows. */
const MESSAGE_ROWS = 12;

export function createTurnView(options: TurnViewOptions): TurnView {
  const { printer, columns, subjectOf, shownAs, onChange } = options;
  const blocks = new Map<string, Block>();
  const text = markdownStream(columns);
  /** The unfinished end of the text, drawn when it is looked at. */
  let unfinished: () => readonly string[] = () => [];
  let isRunning = false;
  let begunMs = 0;
  let waitsSinceMs: number | undefined;
  let clock: NodeJS.Timeout | undefined;

  const note = (words: string) =>
    printer.print(
      "notice",
      terminalSafe(words)
        .split("\n")
        .flatMap((line) => wrapped(line, columns()))
        .map((line) => paint("dim", line)),
    );
  const begin = () => {
    if (isRunning) return;
    isRunning = true;
    begunMs = Date.now();
    printer.begin();
  };
  /** Runs the clock while a call's time is shown. */
  const tick = () => {
    const isNeeded = isRunning || blocks.size > 0;
    if (isNeeded) clock ??= setInterval(onChange, CLOCK_MS);
    else {
      clearInterval(clock);
      clock = undefined;
    }
  };
  const end = () => {
    isRunning = false;
    waitsSinceMs = undefined;
    blocks.clear();
  };
  const printMessage = (words: string) => {
    const rows = words
      .split("\n")
      .map((line, index) => (index === 0 ? `> ${line}` : `  ${line}`))
      .flatMap((line) => wrapped(terminalSafe(line), columns(), line.slice(0, 2)));
    const left = rows.length - MESSAGE_ROWS;
    if (left <= 1) return printer.print("person", rows);
    const more = paint("dim", `  … ${left} more lines (Ctrl-O)`);
    printer.print("person", [...rows.slice(0, MESSAGE_ROWS), more], rows.join("\n"));
  };
  const addText = (more: string) => {
    const drawn = text.add(more);
    unfinished = () => drawn.live;
    printer.print("text", drawn.finished);
  };
  const endText = () => {
    unfinished = () => [];
    printer.print("text", text.end());
  };

  const endCall = (event: Extract<AgentEvent, { type: "tool_result" }>) => {
    const block = blocks.get(event.id);
    blocks.delete(event.id);
    waitsSinceMs = Date.now();
    if (block === undefined) return;
    const ms = block.sinceMs === undefined ? 0 : Date.now() - block.sinceMs;
    const { lines, rest } = endedLines(block, event, ms, columns());
    printer.print("call", lines, rest);
  };
  const endTurn = ({ reason, message, usage, waitingFor }: Extract<AgentEvent, { type: "end" }>) => {
    if (reason === "stopped") note("Stopped.");
    if (message !== undefined) note(message);
    if (waitingFor.length > 0) note(`Waiting for job ${waitingFor.join(", ")}.`);
    note(`${elapsed(Date.now() - begunMs)}, ${usage.input} tokens in, ${usage.output} out`);
    end();
  };
  const update = (block: Block, { displayMessage, output }: Extract<AgentEvent, { type: "tool_update" }>["update"]) => {
    if (displayMessage !== undefined) block.message = displayMessage ?? undefined;
    if (output !== undefined) block.output = withOutput(block.output, output);
  };

  const show = async (event: AgentEvent, isPersons: boolean): Promise<void> => {
    switch (event.type) {
      case "message":
        begin();
        waitsSinceMs ??= Date.now();
        endText();
        if (event.offered === true) return note(`Message from another process: ${event.text}`);
        if (event.from === "handrail") return note(event.text);
        return printMessage(shownAs(event.text) ?? event.text);
      case "text":
        waitsSinceMs = undefined;
        return addText(event.text);
      case "usage":
        waitsSinceMs = Date.now();
        return endText();
      case "tool_call": {
        if (!isPersons) begin();
        if (event.userFacing === false) return; // without a block, nothing else of the call is shown
        const subject = await subjectOf(event.name, event.input);
        blocks.set(event.id, { ...subject, sinceMs: undefined, isAsked: false, output: "", message: undefined });
        return;
      }
      case "tool_started": {
        const block = blocks.get(event.id);
        if (block !== undefined) block.sinceMs = Date.now();
        setTimeout(onChange, SHOWN_AFTER_MS + 1);
        return;
      }
      case "tool_update": {
        const block = blocks.get(event.id);
        if (block !== undefined) update(block, event.update);
        return;
      }
      case "approval": {
        const block = blocks.get(event.id);
        if (block !== undefined) Object.assign(block, { isAsked: event.status === "asked", sinceMs: Date.now() });
        if (block !== undefined && event.edited !== undefined)
          Object.assign(block, await subjectOf(event.name, event.edited)); // what runs
        if (event.status === "parked") blocks.delete(event.id); // the end of the turn reports that the call waits
        return;
      }
      case "tool_result":
        return endCall(event);
      case "retry":
        return note(`${event.message} Retry ${event.attempt} in ${(event.waitMs / 1_000).toFixed(1)} s.`);
      case "starting":
        return note(`Waiting for ${event.sources.join(", ")} to start.`);
      case "compacted":
        return note(`The conversation was shortened from ${event.before} to ${event.after} tokens.`);
      case "end":
        endText();
        return endTurn(event);
      case "reasoning":
        return;
    }
  };

  const callLines = (rows: number): readonly string[] => {
    const nowMs = Date.now();
    const open = [...blocks.values()].filter(({ isAsked }) => !isAsked);
    const running = open.filter(({ sinceMs }) => sinceMs !== undefined && nowMs - sinceMs > SHOWN_AFTER_MS);
    const waiting = running.length === 0 ? [] : open.filter(({ sinceMs }) => sinceMs === undefined);
    const all = [...running, ...waiting];
    if (all.length === 0) {
      const isThinking = isRunning && blocks.size === 0 && waitsSinceMs !== undefined;
      const sinceMs = waitsSinceMs ?? nowMs;
      if (!isThinking || nowMs - sinceMs < CLOCK_MS) return [];
      return [paint("dim", `◌ thinking  ${elapsed(nowMs - sinceMs)}`)];
    }
    const lines: string[] = [];
    for (const [index, block] of all.entries()) {
      const of = runningLines(block, nowMs, columns());
      const left = all.length - index;
      const room = rows - lines.length - (left > 1 ? 1 : 0);
      if (room < 1) return [...lines, paint("dim", `  … ${plural(left, "more call")}`)];
      lines.push(...(of.length <= room ? of : [...of.slice(0, 1), ...of.slice(1).slice(-(room - 1) || of.length)]));
    }
    return lines;
  };

  return {
    async show(event, isPersons = false) {
      await show(event, isPersons);
      tick();
      onChange();
    },
    isRunning: () => isRunning,
    lines(rows) {
      const tail = unfinished();
      const calls = callLines(Math.max(2, rows - Math.min(tail.length, 1)));
      const room = Math.max(1, rows - calls.length);
      return [...tail.slice(-room), ...(tail.length > 0 && calls.length > 0 ? [""] : []), ...calls];
    },
  };
}
