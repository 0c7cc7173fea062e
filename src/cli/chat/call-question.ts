import type { Approval, Decision, EditedInput } from "../../core/contract/decision.ts";
import type { CheckedCall } from "../../core/contract/call.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { callActs, describeCall, foldedCall } from "../../policy/describe.ts";
import { messageOf } from "../../core/util/errors.ts";
import { explain } from "../commands/policy-explain.ts";
import { questionBox } from "./draw/question.ts";
import type { Question } from "./questions.ts";

/** Where calls act. */
export interface Place {
  readonly workDir: string;
  /** Absent for this machine. */
  readonly host?: string;
}

/** Returns the question about a call, without what becomes of its answer. */
export function callQuestion(call: CheckedCall, decision: Decision, place: Place): Omit<Question, "answer"> {
  const editable = editableOf(call);
  return {
    draw: (size, waiting) => questionBox({ call, decision, ...place, waiting, canEdit: editable !== undefined }, size),
    takesReason: true,
    explained: explain(decision, call.effects, false).trimEnd().split("\n"),
    whole: foldedCall(describeCall(call).replaceAll("\t", "    ")).whole,
    ...(editable !== undefined && { editable }),
  };
}

/** Returns what the record of a question shows: "Run: npm test". */
export function askedTitle(call: CheckedCall): string {
  return callActs(call)
    .map(({ act, what }) => oneLine(what === "" ? act : `${act}: ${what}`, Infinity))
    .join("; ");
}

/** Returns the answer that a key stands for, or a sentence on what is wrong with an edited call. */
export function answerTo(call: CheckedCall, how: string, written = ""): Approval | string {
  if (how === "edit") return editedAnswer(call, written);
  if (how === "session" || how === "always" || how === "once") return { answer: how };
  return written.trim() === "" ? { answer: "refuse" } : { answer: "refuse", reason: written.trim() };
}

/** The text that is edited: the command, else all arguments as JSON. `undefined` if the call cannot be edited. */
function editableOf(call: CheckedCall): string | undefined {
  const input = inputOf(call);
  if (input === undefined || call.effects.some((effect) => effect.kind === "foreign" && effect.asks !== undefined))
    return undefined;
  return commandOf(call, input) ?? JSON.stringify(input, undefined, 2);
}

function editedAnswer(call: CheckedCall, written: string): Approval | string {
  const input = inputOf(call) ?? {};
  if (commandOf(call, input) !== undefined) return { answer: "once", edited: { ...input, command: written } };
  try {
    const edited: unknown = JSON.parse(written);
    if (isObject(edited)) return { answer: "once", edited };
    return "The changed call was not used: expected one JSON object with all arguments.";
  } catch (error) {
    return `The changed call was not used: it is not JSON: ${messageOf(error)}`;
  }
}

/** The command, if the call is nothing but that. */
function commandOf({ effects }: CheckedCall, { command }: EditedInput): string | undefined {
  const [effect, ...more] = effects;
  const isCommand = effect?.kind === "exec" && more.length === 0 && effect.command === command;
  return isCommand ? effect.command : undefined;
}

function inputOf({ input }: CheckedCall): EditedInput | undefined {
  return isObject(input) ? input : undefined;
}

function isObject(value: unknown): value is EditedInput {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
