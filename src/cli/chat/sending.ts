import { oneLine } from "../../core/output/terminal-text.ts";
import type { Actions } from "./actions.ts";
import { type ListedCommand, matching } from "./completions.ts";
import type { Draft, MessageEditor } from "./editor.ts";
import { type Sent, isCommand } from "./face.ts";
import type { History } from "./history.ts";
import type { Printer } from "./printer.ts";
import type { Queue, When } from "./queue.ts";

/** The way of a message from the editor to the chat. */
export interface Sending {
  /** Sends what was written. Nothing, while something runs: what is queued is sent at once. */
  submit(draft: Draft, when: When): void;
  /** Resolves to what is sent next; `undefined` when the input has ended. */
  next(): Promise<Sent | undefined>;
  /** Whether the chat waits for a message. */
  isAwaited(): boolean;
  /** Whether the input has ended, and the chat does not know it yet. */
  isEnded(): boolean;
  /** Ends the input. */
  end(): void;
  /** Returns what the text of a sent message is shown as. */
  shownAs(text: string): string | undefined;
}

export interface SendingParts {
  readonly editor: MessageEditor;
  readonly history: History;
  readonly queue: Queue;
  readonly printer: Printer;
  readonly actions: Actions;
  readonly commands: () => readonly ListedCommand[];
  /** Whether a turn runs. */
  readonly isTurn: () => boolean;
  /** Stops the turn. */
  readonly stop: () => void;
  /** Called when the chat begins to wait for a message. */
  readonly onIdle: () => void;
}

export function createSending(parts: SendingParts): Sending {
  const { editor, history, queue, printer, actions, commands, isTurn, stop, onIdle } = parts;
  /** What was sent and is not yet in the conversation. */
  const sent: Draft[] = [];
  let wake: (() => void) | undefined;
  let isEnded = false;

  const isBusy = () => isTurn() || wake === undefined;
  const wordsOf = (draft: Draft) => editor.opened(draft).trim();
  const enqueue = (draft: Draft, when: When, takeBack?: () => boolean) => {
    queue.add({ draft, when, ...(takeBack !== undefined && { takeBack }) });
    if (when === "after") wake?.();
  };
  const runNow = (line: string) => {
    printer.print("person", [`> ${oneLine(line, 500)}`]);
    void actions.command(line).then((text) => text !== "" && printer.say(text));
  };
  const send = (draft: Draft, when: When): void => {
    const words = wordsOf(draft);
    if (words.startsWith("!") && words.length > 1) {
      printer.print("person", printer.rows(`> ${words}`));
      return actions.shell(words.slice(1).trim());
    }
    if (isCommand(words)) {
      const [name] = words.split(/\s/);
      const command = commands().find((each) => each.name === name);
      return isBusy() && command?.anytime ? runNow(words) : enqueue(draft, "after");
    }
    if (when === "after" || !isTurn()) return enqueue(draft, "after");
    return enqueue(draft, "steer", actions.steer(editor.content(draft)));
  };
  /** Sends at once what is queued: stops what runs. */
  const sendNow = () => {
    const drafts = queue.takeAll();
    if (drafts.length === 0) return;
    enqueue({ text: drafts.map(({ text }) => text).join("\n") }, "after");
    stop();
  };
  const taken = (draft: Draft): Sent => {
    const words = wordsOf(draft);
    if (isCommand(words)) printer.print("person", printer.rows(`> ${words}`));
    else sent.push(draft);
    return { text: words, content: editor.content(draft) };
  };

  return {
    submit(draft, when) {
      if (draft.text.trim() === "") return isBusy() ? sendNow() : undefined;
      const completed = { text: completedCommand(draft.text, commands()) };
      history.add(completed);
      return send(completed, when);
    },
    async next() {
      for (;;) {
        const draft = queue.next();
        if (draft !== undefined) return taken(draft);
        await new Promise<void>((resolve) => {
          wake = resolve;
          onIdle();
        });
        wake = undefined;
        if (isEnded) {
          isEnded = false;
          return undefined;
        }
      }
    },
    isAwaited: () => wake !== undefined,
    isEnded: () => isEnded,
    end() {
      isEnded = true;
      wake?.();
    },
    shownAs(text) {
      // Images, and the results of the person's own commands, follow the words.
      const isOf = (draft: Draft) => `${text}\n`.startsWith(`${wordsOf(draft)}\n`);
      const at = sent.findIndex(isOf);
      const [draft] = at === -1 ? [] : sent.splice(at, 1);
      const found = draft ?? queue.delivered(isOf);
      return found && editor.shown(found).trim();
    },
  };
}

/** Enter on the beginning of a command's name runs the one that the list shows first. */
function completedCommand(text: string, commands: readonly ListedCommand[]): string {
  const words = text.trim();
  if (!/^\/\S+$/.test(words) || !isCommand(words)) return text;
  return matching(commands, words)[0]?.name ?? text;
}
