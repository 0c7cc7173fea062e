import type { ChatKeySettings } from "../../app/config/chat-keys.ts";
import type { CallSubject } from "../call-title.ts";
import type { Actions } from "./actions.ts";
import { createAlone } from "./alone.ts";
import { createAnswerEditor } from "./answer-text.ts";
import { createAsking } from "./asking.ts";
import { createAttention } from "./attention.ts";
import { suspended } from "./away.ts";
import { drawLive } from "./bottom.ts";
import type { Place } from "./call-question.ts";
import { type ListedCommand, createCompletions } from "./completions.ts";
import { imageAt } from "./dragged-image.ts";
import { type Draft, createEditor } from "./editor.ts";
import { createEditorKeys } from "./editor-keys.ts";
import type { Face } from "./face.ts";
import { createHistory } from "./history.ts";
import { createInput } from "./input.ts";
import { createKeys } from "./keys.ts";
import { createLeaving } from "./leaving.ts";
import { createLists } from "./overlay.ts";
import { setColoured } from "./draw/paint.ts";
import { createPrinter } from "./printer.ts";
import { createQuestions } from "./questions.ts";
import { type When, createQueue } from "./queue.ts";
import { type Terminal, createScreen } from "./screen.ts";
import { createSending } from "./sending.ts";
import { createTurnView } from "./turn-view.ts";
import type { Io } from "../io.ts";

export interface TerminalFaceOptions {
  readonly place: Place;
  /** Earlier messages, newest first. */
  readonly history: readonly string[];
  readonly commands: () => readonly ListedCommand[];
  /** Returns the paths of the working directory, for completion. */
  readonly paths: () => Promise<readonly string[]>;
  /** Returns what a call is about. */
  readonly subjectOf: (name: string, input: string) => Promise<CallSubject>;
  /** Returns the last line of the screen, at most as wide. */
  readonly status: (isBusy: boolean, columns: number) => string;
  readonly keys: ChatKeySettings;
  readonly actions: Actions;
}

/**
 * A chat at a terminal: what is finished is printed into the scrollback; below it are the running calls, queued
 * messages, the open question or the editor, and the status.
 */
export function terminalFace(io: Io, options: TerminalFaceOptions): Face {
  const { actions, place, commands } = options;
  const { stdout, env } = io;
  setColoured((env["NO_COLOR"] ?? "") === "");
  const size = () => ({ rows: stdout.rows ?? 24, columns: stdout.columns ?? 80 });
  const columns = () => size().columns;
  const terminal: Terminal = {
    get columns() {
      return size().columns;
    },
    get rows() {
      return size().rows;
    },
    write: (text) => void stdout.write(text),
  };

  const keys = createKeys(options.keys);
  const queue = createQueue();
  const attention = createAttention();
  const screen = createScreen(terminal, () => drawLive(live, size()));
  const printer = createPrinter(screen.print, columns);
  const view = createTurnView({
    ...{ printer, columns, subjectOf: options.subjectOf, onChange: screen.update },
    shownAs: (text) => sending.shownAs(text),
  });
  const isBusy = () => view.isRunning() || !sending.isAwaited();
  const editor = createEditor({
    history: options.history,
    completions: createCompletions(commands, options.paths),
    rows: () => size().rows,
    onChange: screen.draw,
    onSubmit: (draft) => submit(draft),
  });
  const history = createHistory(editor, options.history);
  const answers = createAnswerEditor(editor);
  const questions = createQuestions(() => editor.isEmpty() && answers.current() === undefined);
  const lists = createLists(keys, screen.drawSoon);
  const input = createInput(io, {
    onKey: (data) => key(data),
    onPaste: (text) => void paste(text),
    onEnd: () => actions.leaveNow(),
  });
  const alone = createAlone(screen, input);
  const asking = createAsking(io, { place, keys, questions, answers, attention, printer, screen, alone, size });
  const leaving = createLeaving({
    ...{ editor, history, queue, questions, answers, lists, printer, alone, actions, isBusy },
    sending: () => sending,
  });
  const sending = createSending({
    ...{ editor, history, queue, printer, actions, commands },
    ...{ isTurn: view.isRunning, stop: leaving.stop, onIdle: screen.update },
  });
  const live = {
    ...{ view, queue, questions, answers, lists, editor },
    status: (width: number) => options.status(isBusy(), width),
  };

  /** Sends what was written, or answers with it. */
  const submit = (draft: Draft, when: When = "steer") => {
    const answer = answers.end();
    if (answer === undefined) sending.submit(draft, when);
    else answer.question.answer(answer.how, editor.opened(draft));
  };
  const editorKeys = createEditorKeys(io, {
    ...{ keys, editor, history, queue, questions, answers, attention, lists, leaving, printer, screen, alone },
    submit,
  });
  const key = (data: string): void => {
    screen.drawSoon();
    const isAnswer = attention.typed();
    if (!keys.is(data, "interrupt")) leaving.stays();
    if (!keys.is(data, "expand")) editorKeys.closeFold();
    if (keys.is(data, "suspend")) return void alone.run(() => suspended(io));
    if (!lists.key(data) && !asking.key(data, isAnswer)) editorKeys.key(data);
  };
  const paste = async (text: string) => {
    screen.drawSoon();
    attention.typed();
    questions.blur();
    const image = await imageAt(text);
    if (image === undefined) editor.paste(text);
    else editor.image(image);
    screen.drawSoon();
  };

  stdout.on("resize", screen.draw);
  io.signals.on("SIGCONT", alone.continued);
  io.signals.on("SIGINT", leaving.interrupt);
  screen.draw();

  return {
    keys: keys.list(),
    next() {
      leaving.stopped();
      return sending.next();
    },
    show: view.show,
    say: (text) => printer.say(text),
    ask: asking.ask,
    choose: asking.choose,
    pick: lists.pick,
    prefill(text) {
      if (editor.isEmpty()) editor.put({ text });
      screen.update();
    },
    update: screen.update,
    close() {
      stdout.off("resize", screen.draw);
      io.signals.off("SIGCONT", alone.continued);
      io.signals.off("SIGINT", leaving.interrupt);
      lists.close();
      alone.close();
      sending.end();
    },
  };
}
