import type { AgentEvent } from "../agent/agent.ts";
import type { Decision } from "../core/contract/decision.ts";
import { oneLine } from "../core/output/terminal-text.ts";
import { type Act, type Described, callActs } from "../policy/describe.ts";
import { plural } from "../core/util/text.ts";
import { type Question, askedOf, questionOf } from "./approver.ts";
import type { CallSubject } from "./call-title.ts";
import type { RunView } from "./run-view.ts";
import { note as complain, say } from "./say.ts";
import type { Io } from "./io.ts";

/** Whether nothing is to be redrawn: with `--plain`, and on a terminal that cannot. */
export function isPlain(io: Io, { plain }: { readonly plain?: true }): boolean {
  return plain === true || io.env["TERM"] === "dumb";
}

/** The longest line about a call or a notice, in characters. */
const LONGEST = 300;
/** How many lines of a change or a command are read out before `v` is offered. */
const READ_OUT = 20;

/**
 * Shows what an agent does in words, one line for each event, for screen readers and simple terminals: the model's text
 * on stdout line by line, everything else on stderr.
 *
 * @param toContinue the command that continues the thread
 * @param subjectOf returns what a call is about
 */
export function plainView(
  io: Io,
  toContinue: string,
  subjectOf: (name: string, input: string) => Promise<CallSubject>,
): RunView {
  const open = new Map<string, CallSubject>();
  const hidden = new Set<string>();
  let text = "";

  const note = (words: string, most = LONGEST) => {
    endText();
    complain(io, oneLine(words, most));
  };
  const write = (lines: readonly string[]) => {
    for (const line of lines) say(io, oneLine(line.replaceAll("\t", "    "), Infinity));
  };
  const addText = (more: string) => {
    const lines = `${text}${more}`.split("\n");
    text = lines.pop() ?? "";
    write(lines);
  };
  const endText = () => {
    if (text !== "") write([text]);
    text = "";
  };
  const showEnd = ({ message, unasked, waitingFor, usage, reason }: Extract<AgentEvent, { type: "end" }>) => {
    endText();
    if (reason === "stopped") note("Stopped.");
    if (message !== undefined) note(message);
    if (unasked > 0) note(`${plural(unasked, "call")} denied, because there was nobody to ask.`);
    if (waitingFor.length > 0) note(`Waiting for job ${waitingFor.join(", ")}.`);
    note(`Turn ended: ${usage.input} tokens in, ${usage.output} out. To continue: ${toContinue}`, Infinity);
  };

  return {
    async show(event) {
      if (event.type === "tool_call" && event.userFacing === false) hidden.add(event.id);
      if ("id" in event && hidden.has(event.id)) return undefined;
      switch (event.type) {
        case "text":
          return addText(event.text);
        case "usage":
          return endText();
        case "tool_call": {
          endText();
          const subject = await subjectOf(event.name, event.input);
          open.set(event.id, subject);
          return note(`call ${subject.name}: ${subject.about}`);
        }
        case "approval": {
          const subject = open.get(event.id);
          if (subject === undefined || event.edited === undefined) return undefined;
          const changed = await subjectOf(subject.name, event.edited);
          open.set(event.id, changed);
          return note(`call ${changed.name} was changed: ${changed.about}`);
        }
        case "tool_result": {
          const subject = open.get(event.id);
          open.delete(event.id);
          return note(`call ${subject?.name ?? event.name} ended: ${endedWords(event, open.size > 0 && subject)}`);
        }
        case "retry":
          return note(`${event.message} Retry ${event.attempt} in ${inSeconds(event.waitMs)}.`);
        case "starting":
          return note(`Waiting for ${event.sources.join(", ")} to start.`);
        case "compacted":
          return note(`The conversation was shortened from ${event.before} to ${event.after} tokens.`);
        case "message":
          if (event.offered === true) return note(`Message from another process: ${event.text}`);
          return event.from === "handrail" ? note(event.text) : undefined;
        case "end":
          return showEnd(event);
        case "tool_started":
        case "tool_update":
        case "reasoning":
          return undefined;
      }
    },
  };
}

/** How a call ended, in words: "exit 1, 2.1 seconds, 36 lines". */
function endedWords(
  { status, text, ms }: Extract<AgentEvent, { type: "tool_result" }>,
  among: CallSubject | false | undefined,
): string {
  const lines = text.trimEnd().split("\n");
  const [, code] = /^Exit code: (\d+)$/.exec(lines.at(-1) ?? "") ?? [];
  const how = status === "ok" ? (code === undefined ? "ok" : `exit ${code}`) : status;
  const which = among ? [oneLine(among.about, 80)] : [];
  const much = text.trim() === "" ? "no output" : plural(code === undefined ? lines.length : lines.length - 1, "line");
  return [...which, how, inSeconds(ms), status === "ok" ? much : lines[0]].join(", ");
}

function inSeconds(ms: number): string {
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(1)} seconds`;
  return `${plural(Math.floor(seconds / 60), "minute")} ${plural(Math.floor(seconds % 60), "second")}`;
}

/** Returns a question in words, which ends with what is expected: "Answer y, s or n and Enter: ". */
export function plainQuestion(call: Described, decision: Decision): Question {
  const question = questionOf(call, decision);
  const { agent, reason, parts, longest } = askedOf(call, decision);
  const lines = callActs(call).flatMap(actLines);
  const left = lines.length - READ_OUT;
  const shown = left > 0 ? [...lines.slice(0, READ_OUT), `${plural(left, "more line")}: v shows all`] : lines;
  const isWhole = left > 0 || question.whole !== undefined;
  const keys = ["y", ...Object.keys(question.choices), ...(isWhole ? ["v"] : []), "n", "or n with a reason"];
  const longer = longest === "always" ? "s for this session or a for always allows" : "s for this session allows";
  const allowed = longest === "once" || parts.length === 0 ? [] : [`Answer ${longer}: ${parts.join("; ")}.`];
  const by = agent === undefined ? "" : ` of agent ${agent}`;
  const [first = "", ...more] = shown;
  const text = [
    `Question${by}, ${decision.risk} risk: ${first}`,
    ...more,
    ...(reason === undefined ? [] : [`Reason: ${reason.replace(/\.$/, "")}.`]),
    ...allowed,
  ].map((line) => oneLine(line.replaceAll("\t", "    "), Infinity));
  return {
    ...question,
    ...(isWhole && { whole: lines.map((line) => oneLine(line, Infinity)).join("\n") }),
    text: `${text.join("\n")}\nAnswer ${keys.join(", ")}, and Enter: `,
  };
}

function actLines({ act, what, details = [], change }: Act): readonly string[] {
  const head = [what === "" ? act : `${act}: ${what}`, ...details].join(", ");
  return [...head.split("\n"), ...(change === undefined ? [] : changeLines(change))];
}

/** The changed lines of a diff, each with a word and its number. */
function changeLines(change: string): readonly string[] {
  let [old, fresh] = [0, 0];
  let isInHunk = !change.startsWith("--- ");
  return change.split("\n").flatMap((line) => {
    const [, from, to] = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line) ?? [];
    if (from !== undefined && to !== undefined) {
      [old, fresh, isInHunk] = [Number(from), Number(to), true];
      return [];
    }
    if (!isInHunk) return [];
    const number = (at: number) => (at === 0 ? "line" : `line ${at}`);
    if (line.startsWith("-")) return [`removed ${number(old === 0 ? 0 : old++)}: ${line.slice(1)}`];
    if (line.startsWith("+")) return [`added ${number(fresh === 0 ? 0 : fresh++)}: ${line.slice(1)}`];
    if (old > 0) [old, fresh] = [old + 1, fresh + 1];
    return [];
  });
}
