import type { Alone } from "./alone.ts";
import type { AnswerEditor } from "./answer-text.ts";
import type { Attention } from "./attention.ts";
import { messageOf } from "../../core/util/errors.ts";
import { page, writtenOutside } from "./away.ts";
import type { Draft, MessageEditor } from "./editor.ts";
import type { History } from "./history.ts";
import type { Keys } from "./keys.ts";
import type { Leaving } from "./leaving.ts";
import type { Lists } from "./overlay.ts";
import type { Printer } from "./printer.ts";
import type { Questions } from "./questions.ts";
import type { Queue, When } from "./queue.ts";
import type { Screen } from "./screen.ts";
import type { Io } from "../io.ts";

/** The keys while the editor has them. */
export interface EditorKeys {
  key(data: string): void;
  /** Lets the next Ctrl-O show what was folded last, not the whole turn. */
  closeFold(): void;
}

export interface EditorKeysParts {
  readonly keys: Keys;
  readonly editor: MessageEditor;
  readonly history: History;
  readonly queue: Queue;
  readonly questions: Questions;
  readonly answers: AnswerEditor;
  readonly attention: Attention;
  readonly lists: Lists;
  readonly leaving: Leaving;
  readonly printer: Printer;
  readonly screen: Screen;
  readonly alone: Alone;
  readonly submit: (draft: Draft, when?: When) => void;
}

export function createEditorKeys(io: Io, parts: EditorKeysParts): EditorKeys {
  const { keys, editor, history, queue, questions, answers, attention } = parts;
  const { lists, leaving, printer, screen, alone, submit } = parts;
  let isFoldOpened = false;

  /** Leaves the screen to another program. */
  const away = (work: () => Promise<void>) =>
    void alone.run(work).catch((error: unknown) => printer.print("notice", printer.rows(messageOf(error))));
  /** Shows what was folded last; pressed again, the whole turn. */
  const expand = () => {
    const fold = printer.lastFold();
    const isTurn = isFoldOpened || fold === undefined;
    isFoldOpened = true;
    away(() => page(io, isTurn ? printer.turn() : fold, isTurn));
  };
  const writeOutside = async () => {
    const written = await writtenOutside(io, editor.opened(editor.draft()));
    if (written !== undefined) editor.put(editor.closed(written));
  };
  const search = async () => {
    const chosen = await lists.pick("search:", history.entries());
    if (chosen !== undefined) editor.put(chosen);
    screen.drawSoon();
  };
  /** Whether the editor is for messages, not for an answer. */
  const isForMessages = () => answers.current() === undefined;
  const toQuestion = () => {
    const isThere = isForMessages() && questions.focus();
    if (isThere) attention.chosen();
    return isThere;
  };
  const takeQueued = () => {
    const last = editor.isEmpty() && isForMessages() ? queue.takeLast() : undefined;
    if (last !== undefined) editor.put(last);
    return last !== undefined;
  };

  return {
    closeFold: () => void (isFoldOpened = false),
    key(data) {
      if (keys.is(data, "interrupt")) return leaving.interrupt();
      if (keys.is(data, "leave") && editor.isEmpty() && isForMessages()) return leaving.end();
      if (keys.is(data, "expand")) return expand();
      if (keys.is(data, "external-editor")) return away(writeOutside);
      if (keys.is(data, "search")) return void search();
      if (keys.is(data, "stop") && !editor.hasList()) return leaving.escape();
      if (keys.is(data, "complete") && !editor.hasList() && toQuestion()) return undefined;
      if (keys.is(data, "queue")) return submit(editor.take(), "after");
      if (keys.is(data, "up") && takeQueued()) return undefined;
      if (keys.is(data, "send") && !editor.hasList()) {
        if (editor.isOnPaste()) return editor.openPaste();
        if (editor.isEmpty()) return submit({ text: "" });
      }
      return editor.key(data);
    },
  };
}
