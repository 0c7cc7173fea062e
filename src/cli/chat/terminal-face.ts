import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import type { ChatKeySettings } from "../../config/chat-keys.ts";
import type { Content } from "../../contract/content.ts";
import type { Approver } from "../../contract/policy.ts";
import { fitImage, imageType } from "../../files/image.ts";
import { oneLine, terminalSafe } from "../../output/terminal-text.ts";
import { askedOf, filledIn } from "../approver.ts";
import type { CallSubject } from "../call-title.ts";
import { type TerminalAnswer, type TerminalChoices, ringBell } from "../terminal.ts";
import { type Place, answerTo, askedTitle, callQuestion } from "./call-question.ts";
import { page, suspended, writtenOutside } from "./away.ts";
import { paint } from "./draw/paint.ts";
import { type ListedCommand, createCompletions, matching } from "./completions.ts";
import { type Draft, createEditor } from "./editor.ts";
import { type Face, type Sent, isCommand } from "./face.ts";
import { createInput } from "./input.ts";
import { createKeys, isCharacter } from "./keys.ts";
import { type Entry, type Overlay, pickList } from "./overlay.ts";
import { createPrinter } from "./printer.ts";
import { type Question, createQuestions } from "./questions.ts";
import { type When, createQueue } from "./queue.ts";
import { type Live, createScreen } from "./screen.ts";
import { createTurnView } from "./turn-view.ts";
import { wrapped } from "./wrap.ts";

/** What the person can do at any time, besides sending messages. */
export interface Actions {
  /**
   * Passes a message to the model after the running call. Returns a function that takes the message back; it returns
   * false when the model has the message.
   */
  readonly steer: (content: readonly Content[]) => () => boolean;
  /** Stops the turn, and the person's own calls. */
  readonly stop: () => void;
  /** Leaves the chat, unless jobs are running and the person decides to stay. */
  readonly leave: () => void;
  /** Leaves the chat at once, whatever is running. */
  readonly leaveNow: () => void;
  /** Runs a command during a turn. Resolves to the text for the person; never rejects. */
  readonly command: (line: string) => Promise<string>;
  /** Runs the person's own command line as a call. */
  readonly shell: (command: string) => void;
  /** Goes back to an earlier message. */
  readonly rewind: () => void;
  /** Returns what leaving would stop, a line each. */
  readonly running: () => Promise<readonly string[]>;
}

export interface TerminalFaceOptions {
  readonly place: Place;
  /** Earlier messages, newest first. */
  readonly history: readonly string[];
  readonly commands: () => readonly ListedCommand[];
  /** Returns the paths of the working directory, for completion. */
  readonly paths: () => Promise<readonly string[]>;
  /** Returns what a call is about. */
  readonly subjectOf: (name: string, input: string) => Promise<CallSubject>;
  /** Returns the last line of the screen, at most as wide as the screen. */
  readonly status: (isBusy: boolean, columns: number) => string;
  readonly keys: ChatKeySettings;
  readonly actions: Actions;
}

/** A face with what only a terminal has. */
export interface TerminalFace extends Face {
  /** Draws again, when the status has changed. */
  update(): void;
}

/** A key answers only if the question and the last key are this old, in milliseconds: typists have not read it. */
const QUIET_MS = 500;
/** Two Escapes within this time count as one action. Milliseconds. */
const TWICE_MS = 800;
/** The name of each answer in the record of a question. */
const ANSWERS = { once: "once", session: "this session", always: "always", refuse: "refused" } as const;
/** The maximum number of queued messages that are shown. */
const SHOWN_QUEUED = 4;

/**
 * A chat at a terminal. What is finished is printed into the scrollback. Below are the running calls, queued messages,
 * the open question or the editor, and the status.
 */
export function terminalFace(options: TerminalFaceOptions): TerminalFace {
  const { actions, place } = options;
  const { stdout } = process;
  const keys = createKeys(options.keys);
  const history: Draft[] = options.history.map((text) => ({ text }));
  const queue = createQueue();
  const questions = createQuestions(() => editor.isEmpty() && mode === undefined);
  /** What was sent and is not yet in the conversation. */
  const sent: Draft[] = [];
  /** What Enter does with the text instead of sending it, and what was in the editor before. */
  let mode: { readonly how: "refuse" | "edit"; readonly question: Question; readonly before: Draft } | undefined;
  let overlay: Overlay | undefined;
  let wake: (() => void) | undefined;
  let isDrawing = false;
  let isAway = false;
  let isClosed = false;
  let isEnded = false;
  let isStopping = false;
  let lastKeyMs = 0;
  let escapedMs = 0;
  let shownMs = 0;
  let isArmed = false;
  let wantsToLeave = false;
  let expanded: "nothing" | "fold" = "nothing";

  const screen = createScreen(stdout, () => drawn());
  const printer = createPrinter(screen.print);
  const view = createTurnView({
    printer,
    columns: () => stdout.columns,
    subjectOf: options.subjectOf,
    shownAs: (text) => {
      const at = sent.findIndex((draft) => editor.opened(draft).trim() === text);
      const [draft] = at === -1 ? [] : sent.splice(at, 1);
      const found = draft ?? queue.delivered((each) => editor.opened(each).trim() === text);
      return found && editor.shown(found).trim();
    },
    onChange: screen.update,
  });
  const editor = createEditor({
    history: options.history,
    completions: createCompletions(options.commands, options.paths),
    rows: () => stdout.rows,
    onChange: screen.draw,
    onSubmit: (draft) => submitted(draft),
  });

  const linesOf = (text: string) =>
    terminalSafe(text)
      .split("\n")
      .flatMap((line) => wrapped(line, stdout.columns));
  const say = (text: string) => printer.print("notice", linesOf(text));
  const isBusy = () => view.isRunning() || wake === undefined;

  // Drawing

  const queueLines = () => {
    const all = queue.all();
    const dim = (line: string) => paint("dim", line);
    const lines = all.slice(-SHOWN_QUEUED).map(({ draft, when }, index, shown) => {
      const hint = index === shown.length - 1 ? "  ↑ edit · Enter now" : "";
      const word = when === "steer" ? "queued" : "after the turn";
      const room = stdout.columns - hint.length - 2;
      return dim(`  ${oneLine(`${word}: ${editor.shown(draft)}`, room - 2).padEnd(room - 2)}${hint}`.trimEnd());
    });
    const left = all.length - lines.length;
    return left > 0 ? [dim(`  … ${left} more`), ...lines] : lines;
  };
  const questionLines = () => {
    const question = questions.current();
    if (question === undefined) return [];
    const size = { rows: stdout.rows, columns: stdout.columns };
    const { box } = question.draw(size, questions.waiting());
    const hint = mode === undefined && !questions.isFocused() ? [" Tab answers the question"] : [];
    return [...box, ...hint.map((line) => paint("dim", line))];
  };
  const modeLine = () => {
    if (mode === undefined) return [];
    const words = mode.how === "refuse" ? "A reason, if you like; Enter refuses" : "Enter approves the call as edited";
    return [paint("dim", ` ${words} · Esc back`)];
  };
  const bottom = (): Live => {
    const above = [...queueLines(), ...questionLines(), ...modeLine()];
    const status = paint("dim", options.status(isBusy(), stdout.columns));
    if (questions.isFocused() && mode === undefined) return { lines: [...above, status] };
    const { lines, cursor } = (overlay ?? editor).lines(stdout.columns);
    return { lines: [...above, ...lines, status], cursor: { ...cursor, row: cursor.row + above.length } };
  };
  const drawn = (): Live => {
    const below = bottom();
    const above = view.lines(Math.max(2, Math.floor(stdout.rows / 2) - below.lines.length));
    const all = ["", ...above, ...(above.length > 0 ? [""] : []), ...below.lines];
    const shift = all.length - below.lines.length;
    return below.cursor === undefined
      ? { lines: all }
      : { lines: all, cursor: { ...below.cursor, row: below.cursor.row + shift } };
  };
  /** Draws once, after all keys that arrived together. */
  const drawSoon = () => {
    if (isDrawing) return;
    isDrawing = true;
    queueMicrotask(() => {
      isDrawing = false;
      if (!isClosed) screen.draw();
    });
  };

  // Sending

  const enqueue = (draft: Draft, when: When, takeBack?: () => boolean) => {
    queue.add({ draft, when, ...(takeBack !== undefined && { takeBack }) });
    if (when === "after") wake?.();
  };
  const runNow = (line: string) => {
    printer.print("person", [`> ${oneLine(line, 500)}`]);
    void actions.command(line).then((text) => text !== "" && say(text));
  };
  const send = (draft: Draft, when: When) => {
    const words = editor.opened(draft).trim();
    if (words.startsWith("!") && words.length > 1) {
      printer.print("person", linesOf(`> ${words}`));
      return actions.shell(words.slice(1).trim());
    }
    if (isCommand(words)) {
      const [name] = words.split(/\s/);
      const command = options.commands().find((each) => each.name === name);
      return isBusy() && command?.anytime ? runNow(words) : enqueue(draft, "after");
    }
    if (when === "after" || !view.isRunning()) return enqueue(draft, "after");
    return enqueue(draft, "steer", actions.steer(editor.content(draft)));
  };
  /** Sends the queued messages at once: stops what is running. */
  const sendNow = () => {
    const drafts = queue.takeAll();
    if (drafts.length === 0) return;
    enqueue({ text: drafts.map(({ text }) => text).join("\n") }, "after");
    stop();
  };
  const submitted = (draft: Draft, when: When = "steer") => {
    const { current } = { current: mode };
    if (current !== undefined) {
      mode = undefined;
      editor.put(current.before);
      return current.question.answer(current.how, editor.opened(draft));
    }
    if (draft.text.trim() === "") return isBusy() ? sendNow() : undefined;
    const completed = { text: completedCommand(draft.text) };
    editor.remember(completed);
    history.unshift(completed);
    return send(completed, when);
  };
  /** Enter on the beginning of a command's name runs the first listed command. */
  const completedCommand = (text: string) => {
    if (!/^\/\S+$/.test(text.trim()) || !isCommand(text.trim())) return text;
    return matching(options.commands(), text.trim())[0]?.name ?? text;
  };

  // Stopping and leaving

  const stop = () => {
    isStopping = true;
    queue.hold();
    actions.stop();
  };
  const interrupt = () => {
    if (isAway) return undefined; // the key is for the other program
    if (overlay !== undefined) return closeOverlay();
    if (mode !== undefined) return back();
    if (!editor.isEmpty()) {
      const draft = editor.take();
      history.unshift(draft);
      return editor.remember(draft); // Up recalls the message
    }
    if (isEnded) return actions.leaveNow();
    if (isBusy()) return isStopping ? actions.leaveNow() : stop();
    if (wantsToLeave) return actions.leave();
    wantsToLeave = true;
    return void actions.running().then((jobs) => say(["Press Ctrl-C again to exit.", ...jobs].join("\n")));
  };
  const escape = () => {
    if (mode !== undefined) return back();
    if (isBusy()) return stop();
    if (Date.now() - escapedMs < TWICE_MS && editor.isEmpty()) actions.rewind();
    return void (escapedMs = Date.now());
  };
  const back = () => {
    if (mode !== undefined) editor.put(mode.before);
    mode = undefined;
    questions.focus();
  };

  // Other programs at the terminal

  const alone = async <T>(work: () => Promise<T>): Promise<T> => {
    isAway = true;
    screen.leave();
    input.leave();
    try {
      return await work();
    } finally {
      isAway = false;
      if (!isClosed) {
        input.enter();
        screen.enter();
      }
    }
  };
  const expand = () => {
    const fold = printer.lastFold();
    const isTurn = expanded === "fold" || fold === undefined;
    expanded = "fold";
    void alone(() => page(isTurn ? printer.turn() : fold, isTurn));
  };
  const writeOutside = () =>
    alone(async () => {
      const written = await writtenOutside(editor.opened(editor.draft()));
      if (written !== undefined) editor.put(editor.closed(written));
    });
  const continued = () => {
    if (isAway || isClosed) return;
    input.leave();
    input.enter();
    screen.enter();
  };

  // Questions

  const isQuiet = () => Date.now() - Math.max(lastKeyMs, shownMs) >= QUIET_MS;
  /** Handles a key at a focused question. Returns false if it belongs to the editor. */
  const questionKey = (data: string, question: Question, wasQuiet: boolean): boolean => {
    if (keys.is(data, "stop")) questions.blur();
    else if (keys.is(data, "complete")) isArmed = questions.focus();
    else if (isCharacter(data)) {
      const how = question.draw({ rows: stdout.rows, columns: stdout.columns }, 0).keys[data];
      const isAnswer = how !== undefined && (isArmed || wasQuiet || question.isAwaited === true);
      if (!isAnswer) questions.blur();
      if (!isAnswer) return false;
      answerBy(how, question);
    } else
      return !["interrupt", "leave", "expand", "external-editor"].some((action) => keys.is(data, action as "leave"));
    return true;
  };
  const answerBy = (how: string, question: Question) => {
    if (how === "explain") return printer.print("notice", (question.explained ?? []).flatMap(linesOf));
    if (how === "view") return void alone(() => page(question.whole ?? ""));
    if (how === "edit" || (how === "refuse" && question.takesReason)) {
      mode = { how, question, before: editor.take() };
      if (how === "edit") editor.put({ text: question.editable ?? "" });
      return undefined;
    }
    return question.answer(how);
  };
  const asked = <T>(
    signal: AbortSignal,
    question: Omit<Question, "answer">,
    answerOf: (how: string, written?: string) => T,
  ): Promise<T> =>
    new Promise((resolve, reject) => {
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
        if (mode?.question === opened) {
          editor.put(mode.before);
          mode = undefined;
        }
        questions.close(opened);
        show();
      };
      const show = () => {
        isArmed = false;
        shownMs = Date.now();
        const shown = questions.current();
        if (shown !== undefined && questions.isNew())
          printer.print("notice", shown.draw({ rows: stdout.rows, columns: stdout.columns }, 0).long);
        drawSoon();
      };
      signal.addEventListener("abort", onAbort);
      questions.open(opened);
      show();
    });

  const ask: Approver = async (call, decision, signal) => {
    await new Promise((resolve) => setImmediate(resolve)); // lets the earlier events be shown first
    signal.throwIfAborted();
    ringBell();
    const question = callQuestion(call, decision, place);
    const answered = await asked(signal, question, (how, written) => answerTo(call, how, written));
    if (typeof answered === "string") {
      say(answered);
      return ask(call, decision, signal);
    }
    const isEdited = answered.answer === "once" && answered.edited !== undefined;
    const words = isEdited ? "once, as changed" : ANSWERS[answered.answer];
    const record = linesOf(`? ${askedTitle(call)} · ${words}`);
    printer.print(
      "notice",
      record.map((line) => paint("dim", line)),
    );
    const { form } = askedOf(call, decision);
    if (answered.answer !== "once" || form === undefined) return { ...answered, by: "terminal" };
    const filled = await alone(() => filledIn(form, signal));
    return typeof filled === "object" ? { ...filled, by: "terminal" } : { answer: "refuse", by: "terminal" };
  };
  const choose = async <Choice extends string>(
    question: string,
    choices: TerminalChoices<Choice>,
    signal = new AbortController().signal,
  ) => {
    const offered: { readonly [key: string]: string } = { y: "yes", n: "no", ...choices };
    const box = linesOf(`? ${question.trimEnd()}`);
    return await asked(signal, { draw: () => ({ long: [], box, keys: offered }), isAwaited: true }, (how) => {
      printer.print("notice", [...box, paint("dim", `  ${how}`)]);
      return how as TerminalAnswer | Choice;
    });
  };

  // Keys

  const key = (data: string) => {
    drawSoon();
    const wasQuiet = isQuiet();
    lastKeyMs = Date.now();
    if (!keys.is(data, "expand")) expanded = "nothing";
    if (!keys.is(data, "interrupt")) wantsToLeave = false;
    if (keys.is(data, "suspend")) return void alone(suspended);
    if (overlay !== undefined) return void (overlay.key(data) && (overlay = undefined));
    const question = questions.current();
    if (question !== undefined && questions.isFocused() && mode === undefined && questionKey(data, question, wasQuiet))
      return undefined;
    return editorKey(data);
  };
  const closeOverlay = () => {
    const left = overlay;
    overlay = undefined;
    left?.cancel();
  };
  const pick = <T>(title: string, items: readonly Entry<T>[]) =>
    new Promise<T | undefined>((resolve) => {
      closeOverlay();
      overlay = pickList(title, items, keys, resolve);
      drawSoon();
    });
  const searchHistory = () => {
    const texts = new Map(history.map((draft) => [editor.shown(draft), draft]));
    const items = [...texts].map(([label, value]) => ({ label, value }));
    void pick("search:", items).then((chosen) => {
      if (chosen !== undefined) editor.put(chosen);
      drawSoon();
    });
  };
  const editorKey = (data: string): void => {
    if (keys.is(data, "interrupt")) return interrupt();
    if (keys.is(data, "leave") && editor.isEmpty() && mode === undefined) return ended();
    if (keys.is(data, "expand")) return expand();
    if (keys.is(data, "external-editor")) return void writeOutside();
    if (keys.is(data, "search")) return searchHistory();
    if (keys.is(data, "stop") && !editor.hasList()) return escape();
    if (keys.is(data, "complete") && !editor.hasList() && mode === undefined && questions.focus())
      return void (isArmed = true);
    if (keys.is(data, "queue")) return submitted(editor.take(), "after");
    if (keys.is(data, "up") && editor.isEmpty() && mode === undefined) {
      const last = queue.takeLast();
      if (last !== undefined) return editor.put(last);
    }
    if (keys.is(data, "send") && !editor.hasList()) {
      if (editor.isOnPaste()) return editor.openPaste();
      if (editor.isEmpty()) return submitted({ text: "" });
    }
    return editor.key(data);
  };
  const pasted = async (text: string) => {
    drawSoon();
    lastKeyMs = Date.now();
    questions.blur();
    const image = await imageAt(text);
    if (image === undefined) editor.paste(text);
    else editor.image(image);
    drawSoon();
  };
  /** The person has closed the input. */
  const ended = () => {
    if (wake === undefined) return actions.leave();
    isEnded = true;
    return wake();
  };

  const input = createInput({
    onKey: key,
    onPaste: (text) => void pasted(text),
    onEnd: () => actions.leaveNow(),
  });
  const onResize = () => screen.draw();
  stdout.on("resize", onResize);
  process.on("SIGCONT", continued);
  process.on("SIGINT", interrupt);
  screen.draw();

  return {
    keys: keys.list(),
    async next() {
      isStopping = false;
      for (;;) {
        const draft = queue.next();
        if (draft !== undefined) return taken(draft);
        await new Promise<void>((resolve) => {
          wake = resolve;
          screen.update();
        });
        wake = undefined;
        if (isEnded || isClosed) {
          isEnded = false;
          return undefined;
        }
      }
    },
    show: view.show,
    say,
    ask,
    choose,
    pick,
    prefill(text) {
      if (editor.isEmpty()) editor.put({ text });
      screen.update();
    },
    update: screen.update,
    close() {
      if (isClosed) return;
      isClosed = true;
      stdout.off("resize", onResize);
      process.off("SIGCONT", continued);
      process.off("SIGINT", interrupt);
      closeOverlay();
      screen.close();
      input.close();
      wake?.();
    },
  };

  function taken(draft: Draft): Sent {
    const words = editor.opened(draft).trim();
    if (isCommand(words)) printer.print("person", linesOf(`> ${words}`));
    else sent.push(draft);
    return { text: words, content: editor.content(draft) };
  }
}

/** Reads an image whose path is a pasted text; `undefined` if the text is not such a path. */
async function imageAt(pasted: string) {
  const path = pathIn(pasted);
  if (path === undefined) return undefined;
  try {
    const bytes = await readFile(path);
    const type = imageType(bytes);
    if (type === undefined) return undefined;
    const fitted = await fitImage(bytes, type, path);
    return {
      name: oneLine(basename(path), 40),
      data: Buffer.from(fitted.bytes).toString("base64"),
      mimeType: fitted.type,
    };
  } catch {
    return undefined; // the path is pasted as text
  }
}

/** Returns the path of an image in a pasted text: as a terminal writes it for a file that is dragged into it. */
function pathIn(pasted: string): string | undefined {
  const words = pasted.trim();
  if (words.includes("\n") || !/\.(?:png|jpe?g|gif|webp)["']?$/i.test(words)) return undefined;
  if (words.startsWith("file://")) return fileURLToPath(words);
  return words.replace(/^(["'])(.*)\1$/, "$2").replace(/\\(.)/g, "$1");
}
