import type { Backend } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { pause } from "../../util/abort.ts";
import { quoteWord } from "../../util/quote.ts";
import { clip } from "../../util/text.ts";
import { closedFailure } from "../process/run.ts";
import { clearingKeys } from "./clearing-keys.ts";
import { type Control, ControlEnded, openControl } from "./control.ts";
import type { HelperShell } from "./helper-shell.ts";
import { type PaneId, ownedPanes } from "./owned-panes.ts";
import { ensureSession } from "./session.ts";

/** Our session and its panes. */
export interface Panes {
  /** Resolves to a pane whose shell is at its prompt, for one typed command. Not `except`. */
  prompt(except?: string): Promise<Prompt>;
  /** Runs a program in a new window, which closes when the program ends. Resolves to its pane. */
  window(name: string, argv: readonly string[], cwd: string): Promise<string>;
  /** The pane where commands are typed. */
  main(): Promise<string>;
  /** Releases the panes; they stay open. Never rejects. */
  close(): Promise<void>;
}

/** A pane that waits for a command. */
export interface Prompt {
  readonly pane: string;
  /**
   * Types a short ASCII line and Enter. `words` returns the line; it gets the number of lines up and the column where
   * the line begins.
   */
  type(words: (up: number, column: number) => string, typed: Typed): Promise<void>;
  /**
   * Whether the shell is at its prompt; false if that is unknown. Rejects with a `ToolFailure` if it is unreachable.
   */
  isIdle(): Promise<boolean>;
}

/** A command that is typed into a pane. */
export interface Typed {
  /** The command as people see it. */
  readonly shown: string;
  /** True: a caller waits for its end, so the prompt returns soon before the next command. */
  readonly isAwaited: boolean;
  /** Resolves when the command has ended. Never rejects. */
  readonly over: Promise<unknown>;
}

export interface PanesOptions {
  readonly inner: Backend;
  readonly helper: HelperShell;
  readonly tmux: readonly string[];
  readonly session: string;
  /** The interactive shell. Default: tmux's `default-shell`. */
  readonly shell: string | undefined;
  notice(text: string): void;
}

/** How long a new shell may take to show its prompt; `AFTER_MS`: a shell whose command has just ended. Milliseconds. */
const PROMPT_MS = 10_000;
const AFTER_MS = 2_000;
/** How long to wait in a pane that was found, where a command may be ending. Milliseconds. */
const FOUND_MS = 300;
/** How long to wait, once, for a prompt when the cursor is at the left margin. Milliseconds. */
const SHOWN_MS = 2_000;
/** How long a shell may take to process clearing keys, before the cursor counts as settled. Milliseconds. */
const DONE_MS = 1_000;

/** Characters of a command that a notice names. */
const MOST_NAMED = 60;

interface Pane extends PaneId {
  /** The column where the prompt ended when last seen. */
  column?: number;
  /** The last typed command that has not ended, as people see it. */
  runs?: string;
  /** Time until which its prompt is expected. */
  settlesMs: number;
}

/** Opens nothing yet: the session is created or found at the first use, and again after it has ended. */
export function createPanes({ inner, helper, tmux, session, shell, notice }: PanesOptions): Panes {
  let control: Control | undefined;
  let opening: Promise<Control> | undefined;
  let pane: Pane | undefined;
  /** The session, and so its shell, was just created. */
  let isFresh = false;
  /** The reason for the notice about a replaced pane. */
  let replaced: string | undefined;
  let choosing: Promise<unknown> = Promise.resolve();
  let closed = false;

  const open = async (): Promise<Control> => {
    await control?.close();
    isFresh = await ensureSession(helper, { tmux, session, shell, cwd: inner.workDir });
    if (isFresh && pane !== undefined) {
      replaced = "The tmux session had ended and was created again";
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
  const owned = ownedPanes({ helper, tmux, session, shell, cwd: inner.workDir, send });

  const { look, standing, type } = typist(helper, send);

  /** The pane where commands are typed; chooses one if there is none. Skips busy panes unless `mayBeBusy`. */
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
    if (pane !== left) return; // the pane ended with its session
    pane = undefined;
    replaced = `Pane ${left.id} ${why}`;
    await owned.release([left]);
  };

  const prompt = async (except?: string): Promise<Prompt> => {
    for (let attempt = 0; attempt < 5; attempt++) {
      if (pane !== undefined && pane.id === except)
        await leave(pane, "did not accept a command (somebody is typing there)");
      await connected();
      const now = await chosen(attempt === 0, except);
      const both = () => Promise.all([look(now), standing(now)]);
      let [view, stand] = await both();
      const shownMs = Date.now() + SHOWN_MS;
      // A shell may read before its first prompt: a command typed then would appear before the prompt.
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
      now.settlesMs = 0; // another command in this pane is a person's
      return {
        pane: now.id,
        type: (words, command) => typed(now, { ...view, shell: stand.shell ?? view.command }, words, command),
        isIdle: async () => (await standing(now)).isIdle,
      };
    }
    throw new ToolFailure("tmux: no pane shows a prompt, and neither does a new one");
  };

  /** Whether a line arrived whose client ended meanwhile shows at the start of its command. */
  const typed: typeof type = (...line) =>
    type(...line).catch((error: unknown) => {
      if (!(error instanceof ControlEnded)) throw error;
    });

  /** Does the work again through another client if the client, the session or the server ended meanwhile. */
  const unlessEnded = <T>(work: () => Promise<T>): Promise<T> =>
    work().catch((error: unknown) => {
      if (!(error instanceof ControlEnded) && control?.isOpen === true) throw error;
      return work();
    });
  /** Runs one after another, since choosing a pane may create one. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    if (closed) return Promise.reject(closedFailure());
    const done = choosing.then(work);
    choosing = done.catch(() => undefined);
    return done;
  };

  return {
    prompt: (except) => inTurn(() => unlessEnded(() => prompt(except))),
    // A command starts once: of two windows for it, the later one closes at once.
    window: (name, argv, cwd) => unlessEnded(() => owned.openFor(argv, { name, cwd })),
    main: () =>
      inTurn(() =>
        unlessEnded(async () => {
          const now = await chosen(true);
          if ((await look(now)) !== undefined) return now.id;
          await leave(now, "was closed");
          return (await chosen(true)).id;
        }),
      ),
    async close() {
      closed = true;
      await choosing;
      if (pane !== undefined && control?.isOpen === true) await owned.release([pane]);
      await control?.close();
    },
  };
}

/** Sees panes, and types into them. */
interface Typist {
  /** Resolves to `undefined` if the pane was closed. */
  look(pane: Pane): Promise<View | undefined>;
  standing(pane: Pick<Pane, "pid">): Promise<Standing>;
  type(
    pane: Pane,
    view: View & { readonly shell: string },
    words: (up: number, column: number) => string,
    typed: Typed,
  ): Promise<void>;
}

function typist(helper: HelperShell, send: (...words: readonly string[]) => Promise<readonly string[]>): Typist {
  const look: Typist["look"] = async ({ id, pid }) => {
    const [line = ""] = await send("display-message", "-p", "-t", id, VIEW);
    const [found, dead, inMode, x, width, ...command] = line.split(" ");
    if (found !== pid || dead === "1") return undefined;
    return { inMode: inMode === "1", x: Number(x), width: Number(width), command: command.join(" ") };
  };
  const standing: Typist["standing"] = async ({ pid }) => {
    const { out } = await helper.ask(`hr_idle ${quoteWord(pid)}`);
    const [, state = "", name] = /^(idle|busy|gone|unknown)(?: (.*))?$/m.exec(out.toString()) ?? [];
    return { isIdle: state === "idle", mayBeIdle: state === "idle" || state === "unknown", shell: name };
  };

  /**
   * Resolves to the column of the cursor after the shell has processed the typed keys: it reads again and the cursor
   * stays.
   */
  const settledColumn = async (now: Pane): Promise<number | undefined> => {
    const lateMs = Date.now() + DONE_MS;
    for (let before: number | undefined; ;) {
      const [view, { mayBeIdle }] = await Promise.all([look(now), standing(now)]);
      if (view === undefined || (mayBeIdle && view.x === before) || Date.now() > lateMs) return view?.x;
      before = mayBeIdle ? view.x : undefined;
      await pause(5);
    }
  };

  const type: Typist["type"] = async (now, view, words, { shown, isAwaited, over }) => {
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
  return { look, standing, type };
}

/** The state of a pane as tmux reports it. */
interface View {
  readonly inMode: boolean;
  readonly x: number;
  readonly width: number;
  readonly command: string;
}

/** The state of a pane's shell as the system reports it. */
interface Standing {
  readonly isIdle: boolean;
  /** True if it is idle, or that is unknown. */
  readonly mayBeIdle: boolean;
  /** The name of its program when it is idle. tmux reports that a moment late. */
  readonly shell: string | undefined;
}

const VIEW = "#{pane_pid} #{pane_dead} #{pane_in_mode} #{cursor_x} #{pane_width} #{pane_current_command}";
