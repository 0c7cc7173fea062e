import type { Approver } from "../../core/contract/policy.ts";
import { askedOf, controllingTerminal, filledIn } from "../approver.ts";
import { type TerminalAnswer, ringBell } from "../terminal.ts";
import type { Alone } from "./alone.ts";
import type { AnswerEditor } from "./answer-text.ts";
import type { Attention } from "./attention.ts";
import { messageOf } from "../../core/util/errors.ts";
import { page } from "./away.ts";
import { type Place, answerTo, askedTitle, callQuestion } from "./call-question.ts";
import { paint } from "./draw/paint.ts";
import { ROWS_BESIDE } from "./draw/question.ts";
import type { Face } from "./face.ts";
import { type Keys, isCharacter } from "./keys.ts";
import type { Printer } from "./printer.ts";
import type { Question, Questions } from "./questions.ts";
import type { Screen } from "./screen.ts";
import type { Io } from "../io.ts";

/** Asks the person in the live part. */
export interface Asking {
  readonly ask: Approver;
  readonly choose: NonNullable<Face["choose"]>;
  /**
   * Handles a key while a question has the keys. Returns false if it belongs to the editor.
   *
   * @param isAnswer whether a character may be an answer
   */
  key(data: string, isAnswer: boolean): boolean;
}

export interface AskingParts {
  readonly place: Place;
  readonly keys: Keys;
  readonly questions: Questions;
  readonly answers: AnswerEditor;
  readonly attention: Attention;
  readonly printer: Printer;
  readonly screen: Screen;
  readonly alone: Alone;
  /** Returns the size of the terminal. */
  readonly size: () => { readonly rows: number; readonly columns: number };
}

/** How the record of a question names its answer. */
const ANSWERS = { once: "once", session: "this session", always: "always", refuse: "refused" } as const;

export function createAsking(io: Io, parts: AskingParts): Asking {
  const { place, keys, questions, answers, attention, printer, alone, size } = parts;

  const ask: Approver = async (call, decision, signal) => {
    await new Promise((resolve) => setImmediate(resolve)); // lets the earlier events be shown first
    signal.throwIfAborted();
    ringBell(io);
    const question = callQuestion(call, decision, place);
    const answered = await asked(parts, signal, question, (how, written) => answerTo(call, how, written));
    if (typeof answered === "string") {
      printer.say(answered);
      return ask(call, decision, signal);
    }
    const isEdited = answered.answer === "once" && answered.edited !== undefined;
    printer.say(`? ${askedTitle(call)} · ${isEdited ? "once, as changed" : ANSWERS[answered.answer]}`, "dim");
    const { form } = askedOf(call, decision);
    if (answered.answer !== "once" || form === undefined) return { ...answered, by: "terminal" };
    const filled = await alone.run(() => filledIn(form, signal, controllingTerminal(io)));
    return typeof filled === "object" ? { ...filled, by: "terminal" } : { answer: "refuse", by: "terminal" };
  };
  const answerBy = (how: string, question: Question): void => {
    if (how === "explain") return printer.print("notice", (question.explained ?? []).flatMap(printer.rows));
    if (how === "view") {
      const shown = alone.run(() => page(io, question.whole ?? ""));
      return void shown.catch((error: unknown) => printer.print("notice", printer.rows(messageOf(error))));
    }
    if (how === "edit" || (how === "refuse" && question.takesReason)) return answers.begin(how, question);
    return question.answer(how);
  };

  return {
    ask,
    async choose(question, choices, signal = new AbortController().signal) {
      const offered: { readonly [key: string]: string } = { y: "yes", n: "no", ...choices };
      const box = printer.rows(`? ${question.trimEnd()}`);
      // What does not fit into the window is printed above it.
      const isLong = (rows: number) => box.length > rows - ROWS_BESIDE;
      const draw = ({ rows }: { readonly rows: number }) =>
        isLong(rows) ? { long: box, box: box.slice(-1), keys: offered } : { long: [], box, keys: offered };
      return await asked(parts, signal, { draw, isAwaited: true }, (how) => {
        printer.print("notice", [...draw(size()).box, paint("dim", `  ${how}`)]);
        return how as TerminalAnswer; // or one of `choices`
      });
    },
    key(data, isAnswer) {
      const question = questions.current();
      if (question === undefined || !questions.isFocused() || answers.current() !== undefined) return false;
      if (keys.is(data, "stop")) questions.blur();
      else if (keys.is(data, "complete")) {
        questions.focus();
        attention.chosen();
      } else if (isCharacter(data)) {
        const how = question.draw(size(), 0).keys[data];
        if (how === undefined || !(isAnswer || question.isAwaited === true)) {
          questions.blur();
          return false;
        }
        answerBy(how, question);
      } else return !OTHER_KEYS.some((action) => keys.is(data, action));
      return true;
    },
  };
}

/** The actions that have their keys also while a question has the others. */
const OTHER_KEYS = ["interrupt", "leave", "expand", "external-editor"] as const;

/** Opens a question. Resolves to its answer; rejects when `signal` aborts. */
function asked<T>(
  { questions, answers, attention, printer, screen, size }: AskingParts,
  signal: AbortSignal,
  question: Omit<Question, "answer">,
  answerOf: (how: string, written?: string) => T,
): Promise<T> {
  const show = () => {
    attention.shown();
    const shown = questions.current();
    if (shown !== undefined && questions.isNew()) printer.print("notice", shown.draw(size(), 0).long);
    screen.drawSoon();
  };
  return new Promise((resolve, reject) => {
    const opened: Question = {
      ...question,
      answer: (how, written) => {
        close();
        resolve(answerOf(how, written));
      },
    };
    const onAbort = () => {
      close();
      reject(signal.reason as Error);
    };
    const close = () => {
      signal.removeEventListener("abort", onAbort);
      if (answers.current()?.question === opened) answers.end();
      questions.close(opened);
      show();
    };
    signal.addEventListener("abort", onAbort);
    questions.open(opened);
    show();
  });
}
