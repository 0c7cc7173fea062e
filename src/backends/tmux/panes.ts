import type { Backend } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { pause } from "../../util/abort.ts";
import { quoteWord } from "../../util/shell.ts";
import { clip } from "../../util/text.ts";
import { clearingKeys } from "./clearing-keys.ts";
import { type Control, openControl } from "./control.ts";
import type { Keeper } from "./keeper.ts";
import { type PaneId, ownedPanes } from "./owned-panes.ts";
import { ensureSession } from "./session.ts";

/** The session of ours, and its panes. */
export interface Panes {
  /** A pane whose shell stands at its prompt, for one command that is typed. Another one than `except`. */
  prompt(except?: string): Promise<Prompt>;
  /** Runs a program in a window of its own, which is gone when that ends. Resolves to its pane. */
  window(name: string, argv: readonly string[], cwd: string): Promise<string>;
  /** The pane where commands are typed. */
  main(): Promise<string>;
  /** Lets go of the panes; they stay. Never rejects. */
  close(): Promise<void>;
}

/** A pane that waits for a command. */
export interface Prompt {
  readonly pane: string;
  /** Types one short line of ASCII and Enter. `words` is called with how many lines up and in which column it will have begun. */
  type(words: (up: number, column: number) => string, typed: Typed): Promise<void>;
  /** Whether its shell stands at its prompt. Where that cannot be seen it is not known to. Rejects with a `ToolFailure` when there is no way there. */
  isIdle(): Promise<boolean>;
}

/** A command that is typed into a pane. */
export interface Typed {
  /** As people see it. */
  readonly shown: string;
  /** Somebody waits for its end, so that the prompt is soon back when the next one comes. */
  readonly isAwaited: boolean;
  /** Settles when it has ended. Never rejects. */
  readonly over: Promise<unknown>;
}

export interface PanesOptions {
  readonly inner: Backend;
  readonly keeper: Keeper;
  readonly tmux: readonly string[];
  readonly session: string;
  /** The interactive shell. Default: tmux' own choice. */
  readonly shell: string | undefined;
  notice(text: string): void;
}

/** A shell that has just been started, or where a command has just ended, may take so long until it shows its prompt. */
const PROMPT_MS = 10_000;
const AFTER_MS = 2_000;
/** In a pane that was found something may just be ending. */
const FOUND_MS = 300;
/** A prompt that ends at the left margin is waited for so long, once. */
const SHOWN_MS = 2_000;
/** A shell has done what was typed within this time; the prompt is where it then is. */
const DONE_MS = 1_000;

/** Characters of a command that a notice names. */
const MOST_NAMED = 60;

interface Pane extends PaneId {
  /** Where the prompt ends, when it was last seen. */
  column?: number;
  /** What was typed last and has not ended yet, as people see it. */
  runs?: string;
  /** Until when it is expected to show its prompt. */
  settlesMs: number;
}

/** Opens nothing yet: the session is made or found when it is first needed, and again when it has gone. */
export function createPanes({ inner, keeper, tmux, session, shell, notice }: PanesOptions): Panes {
  let control: Control | undefined;
  let opening: Promise<Control> | undefined;
  let pane: Pane | undefined;
  /** The session has just been made, and so its shell started. */
  let isFresh = false;
  /** Said of the pane that is replaced. */
  let replaced: string | undefined;
  let choosing: Promise<unknown> = Promise.resolve();
  let closed = false;

  const open = async (): Promise<Control> => {
    await control?.close();
    isFresh = await ensureSession(keeper, { tmux, session, shell, cwd: inner.workDir });
    if (isFresh && pane !== undefined) {
      replaced = "The tmux session had ended and was made again";
      pane = undefined;
    }
    control = await openControl(inner, { tmux, session });
    return control;
  };
  const connected = async (): Promise<Control> => {
    if (control?.isOpen === true) return control;
    opening ??= open().finally(() => (opening = undefined));
    return opening;
  };
  const send = async (...words: readonly string[]) => (await connected()).send(words);
  const owned = ownedPanes({ keeper, tmux, session, shell, cwd: inner.workDir, send });

  const look = async ({ id, pid }: Pane): Promise<View | undefined> => {
    const [line = ""] = await send("display-message", "-p", "-t", id, VIEW);
    const [found, dead, inMode, x, width, ...command] = line.split(" ");
    if (found !== pid || dead === "1") return undefined;
    return { inMode: inMode === "1", x: Number(x), width: Number(width), command: command.join(" ") };
  };
  const standing = async ({ pid }: Pick<Pane, "pid">): Promise<Standing> => {
    const { out } = await keeper.ask(`hr_idle ${quoteWord(pid)}`);
    const [, state = "", name] = /^(idle|busy|gone|unknown)(?: (.*))?$/m.exec(out.toString()) ?? [];
    return { isIdle: state === "idle", mayBeIdle: state === "idle" || state === "unknown", shell: name };
  };

  /** The pane where commands are typed; chosen when there is none. Free ones that somebody works in are passed over, unless `mayBeBusy`. */
  const chosen = async (mayBeBusy: boolean, except?: string): Promise<Pane> => {
    if (pane !== undefined) return pane;
    const settlesIn = (milliseconds: number) => ({ settlesMs: Date.now() + milliseconds });
    const free = (await owned.takeFree()).map((each): Pane => ({
      ...each,
      ...settlesIn(isFresh ? PROMPT_MS : FOUND_MS),
    }));
    isFresh = false;
    let found: Pane | undefined;
    for (const each of free) {
      if (found === undefined && each.id !== except && (mayBeBusy || (await standing(each)).mayBeIdle)) found = each;
      else await owned.release([each]);
    }
    pane = found ?? { ...(await owned.open()), ...settlesIn(PROMPT_MS) };
    if (replaced !== undefined) notice(`${replaced}; commands are typed into pane ${pane.id} now.`);
    replaced = undefined;
    return pane;
  };
  const leave = async (left: Pane, why: string) => {
    if (pane !== left) return; // it went with its session
    pane = undefined;
    replaced = `Pane ${left.id} ${why}`;
    await owned.release([left]);
  };

  const prompt = async (except?: string): Promise<Prompt> => {
    for (let attempt = 0; attempt < 5; attempt++) {
      if (pane !== undefined && pane.id === except) await leave(pane, "did not take a command (somebody types there)");
      await connected();
      const now = await chosen(attempt === 0, except);
      const both = () => Promise.all([look(now), standing(now)]);
      let [view, stand] = await both();
      const shownMs = Date.now() + SHOWN_MS;
      // A shell may read before it has shown its first prompt: what is typed then would stand before that.
      const isBare = () => now.column === undefined && view?.x === 0 && Date.now() < shownMs;
      while (view !== undefined && ((!stand.mayBeIdle && Date.now() < now.settlesMs) || isBare())) {
        await pause(5);
        [view, stand] = await both();
      }
      if (view === undefined) {
        await leave(now, "was closed");
        continue;
      }
      if (!stand.mayBeIdle) {
        await leave(now, `is busy (${now.runs ?? view.command} runs in it)`);
        continue;
      }
      now.settlesMs = 0; // whatever runs here next is somebody's
      return {
        pane: now.id,
        type: (words, typed) => type(now, { ...view, shell: stand.shell ?? view.command }, words, typed),
        isIdle: async () => (await standing(now)).isIdle,
      };
    }
    throw new ToolFailure("tmux: no pane shows a prompt, and neither does a new one");
  };

  /** Where the cursor is when the shell has done what was typed: it reads again, and the cursor stays. */
  const settledColumn = async (now: Pane): Promise<number | undefined> => {
    const lateMs = Date.now() + DONE_MS;
    for (let before: number | undefined; ;) {
      const [view, { mayBeIdle }] = await Promise.all([look(now), standing(now)]);
      if (view === undefined || (mayBeIdle && view.x === before) || Date.now() > lateMs) return view?.x;
      before = mayBeIdle ? view.x : undefined;
      await pause(5);
    }
  };

  const type = async (
    now: Pane,
    view: View & { readonly shell: string },
    words: (up: number, column: number) => string,
    { shown, isAwaited, over }: Typed,
  ): Promise<void> => {
    const keys = (...each: readonly string[]) => send("send-keys", "-t", now.id, ...each);
    let { x } = view;
    if (view.inMode) await keys("-X", "cancel");
    const clearing = keys(...clearingKeys(view.shell));
    if (x !== now.column) {
      await clearing;
      x = (await settledColumn(now)) ?? x;
      now.column = x;
    }
    const length = words(9, 999).length;
    const line = words(Math.floor((x + length) / Math.max(1, view.width)) + 1, x + 1);
    const runs = clip(shown.split("\n")[0] ?? "", MOST_NAMED);
    now.runs = runs;
    void over.then(() => {
      if (isAwaited) now.settlesMs = Date.now() + AFTER_MS;
      if (now.runs === runs) delete now.runs;
    });
    await Promise.all([clearing, keys("-l", line.padEnd(length)), keys("Enter")]);
  };

  /** One after the other: choosing a pane may make one. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    if (closed) return Promise.reject(new ToolFailure("the backend is closed: nothing can be started on it any more"));
    const done = choosing.then(work);
    choosing = done.catch(() => undefined);
    return done;
  };

  return {
    prompt: (except) =>
      inTurn(() =>
        prompt(except).catch(async (error: unknown) => {
          if (control?.isOpen === true) throw error;
          return prompt(except); // the server or the session has ended meanwhile
        }),
      ),
    window: (name, argv, cwd) => owned.openFor(argv, { name, cwd }),
    main: () =>
      inTurn(async () => {
        const now = await chosen(true);
        if ((await look(now)) !== undefined) return now.id;
        await leave(now, "was closed");
        return (await chosen(true)).id;
      }),
    async close() {
      closed = true;
      await choosing;
      if (pane !== undefined && control?.isOpen === true) await owned.release([pane]);
      await control?.close();
    },
  };
}

/** What tmux knows of a pane. */
interface View {
  readonly inMode: boolean;
  readonly x: number;
  readonly width: number;
  readonly command: string;
}

/** What the system knows of a pane's shell. */
interface Standing {
  readonly isIdle: boolean;
  /** It is, or that cannot be seen. */
  readonly mayBeIdle: boolean;
  /** Its program's name, when it is idle. What tmux says of that is late by a moment. */
  readonly shell: string | undefined;
}

const VIEW = "#{pane_pid} #{pane_dead} #{pane_in_mode} #{cursor_x} #{pane_width} #{pane_current_command}";
