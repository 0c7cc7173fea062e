import type { AgentEvent } from "../agent/agent.ts";
import type { ThreadId } from "../core/contract/identity.ts";
import { oneLine } from "../core/output/terminal-text.ts";
import { plural } from "../core/util/text.ts";
import { elapsed } from "./chat/draw/paint.ts";
import { progressLine, updateLine } from "./progress.ts";
import { note as complain, sayJson, stream } from "./say.ts";
import type { Io } from "./io.ts";

/** Shows what an agent does. */
export interface RunView {
  show(event: AgentEvent): void | Promise<void>;
}

/** Prints each event as a line of JSON on stdout. The first line names the thread. */
export function jsonView(io: Io, thread: ThreadId): RunView {
  sayJson(io, { type: "thread", thread });
  return { show: (event) => sayJson(io, event) };
}

/**
 * Prints the model's text on stdout; calls that apps show, questions and problems on stderr.
 *
 * @param toContinue the command that continues the thread
 */
export function textView(io: Io, toContinue: string): RunView {
  const progress = progressLine(io);
  const signs = signsOfLife(io, (text) => progress.showUpdate({ displayMessage: text }));
  const hidden = new Set<string>();
  /** The arguments of the calls without a result, by id. */
  const open = new Map<string, string>();
  let atLineStart = true;

  const say = (text: string) => {
    stream(io, text);
    atLineStart = text.endsWith("\n");
  };
  const endLine = () => {
    if (!atLineStart) stream(io, "\n");
    atLineStart = true;
  };
  const note = (text: string, maxLength = 300) => {
    progress.clear();
    endLine();
    complain(io, oneLine(text, maxLength));
  };

  return {
    show(event) {
      if (event.type === "tool_call" && event.userFacing === false) hidden.add(event.id);
      if ("id" in event && hidden.has(event.id)) return;
      signs.note(event);
      switch (event.type) {
        case "text":
          progress.clear();
          return say(event.text);
        case "tool_call":
          open.set(event.id, event.input);
          return note(`> ${event.name} ${event.input}`);
        case "tool_update":
          return undefined; // shown in the sign of life
        case "tool_result": {
          if (open.size > 1) note(`< ${event.name} ${open.get(event.id)}`); // of several calls, in any order
          open.delete(event.id);
          return note(`  ${resultLine(event)}`);
        }
        case "retry":
          return note(`handrail: ${event.message} Retry ${event.attempt} in ${(event.waitMs / 1_000).toFixed(1)} s.`);
        case "starting":
          return note(`handrail: waiting for ${event.sources.join(", ")} to start`);
        case "compacted":
          return note(
            `handrail: the conversation was shortened from ${event.before} to ${event.after} tokens: ` +
              `${plural(event.results, "result")} cut, ` +
              `${plural(event.summarized, "message")} summarized, ${event.kept} kept.`,
          );
        case "message":
          if (event.offered === true) return note(`handrail: message from another process: ${event.text}`);
          return event.from === "handrail" ? note(`handrail: ${event.text}`) : undefined;
        case "end":
          endLine();
          if (event.message !== undefined) note(`handrail: ${event.message}`);
          if (event.unasked > 0) note(`handrail: ${unaskedText(event.unasked)}`);
          if (event.waitingFor.length > 0) return note(`handrail: waiting for job ${event.waitingFor.join(", ")}`);
          return note(
            `handrail: ${plural(event.rounds, "round")}, ${event.usage.input} tokens in, ` +
              `${event.usage.output} out; to continue: ${toContinue}`,
            Infinity, // the command is printed to be copied
          );
        case "approval":
          return progress.clear();
        case "tool_started":
        case "reasoning":
        case "usage":
          return undefined;
      }
    },
  };
}

function unaskedText(count: number): string {
  const what = count === 1 ? "call needs approval and was" : "calls need approval and were";
  const hint = "Approve in advance with --yes, or in `handrail approvals`";
  return `${count} ${what} denied, because there was nobody to ask. ${hint}`;
}

/**
 * Shows once a second which call runs, for how long, and the last line of its output: on a terminal only, and not while
 * a person is asked.
 */
function signsOfLife(io: Io, show: (text: string) => void): { note(event: AgentEvent): void } {
  const running = new Map<string, { readonly name: string; sinceMs: number; last: string; isAsked: boolean }>();
  let ticker: NodeJS.Timeout | undefined;

  const draw = () => {
    const [first, ...others] = running.values();
    if (first === undefined || !io.stderr.isTTY || [first, ...others].some(({ isAsked }) => isAsked)) return;
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    show(`${first.name}${more}  ${elapsed(Date.now() - first.sinceMs)}  ${first.last}`);
  };
  const restart = () => {
    clearInterval(ticker);
    ticker = running.size > 0 && io.stderr.isTTY ? setInterval(draw, SIGN_MS) : undefined;
  };
  return {
    note(event) {
      if (event.type === "tool_started") {
        running.set(event.id, { name: event.name, sinceMs: Date.now(), last: "", isAsked: false });
        return restart();
      }
      if (event.type === "end") running.clear();
      if (event.type === "tool_result") running.delete(event.id);
      if (event.type === "end" || event.type === "tool_result") return restart();
      const call = "id" in event ? running.get(event.id) : undefined;
      if (call === undefined) return;
      if (event.type === "approval") Object.assign(call, { isAsked: event.status === "asked", sinceMs: Date.now() });
      if (event.type !== "tool_update") return;
      call.last = updateLine(event.update) ?? call.last;
      draw();
    },
  };
}

/** How often a sign of life is shown, in milliseconds. */
const SIGN_MS = 1_000;

/** Returns how a call ended: the first line of its result. */
function resultLine({ status, text, ms }: Extract<AgentEvent, { type: "tool_result" }>): string {
  const lines = text.trimEnd().split("\n");
  const more = lines.length > 1 ? ` (${plural(lines.length, "line")})` : "";
  return `${status === "ok" ? "" : `${status}: `}${oneLine(lines[0] ?? "", 160)}${more} ${ms} ms`;
}
