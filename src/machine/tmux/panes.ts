import type { Backend } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { pause } from "../../core/util/abort.ts";
import { quoteWord, quoteWords } from "../../core/util/quote.ts";
import { clip } from "../../core/util/text.ts";
import { closedFailure } from "../process/run.ts";
import { clearingKeys } from "./clearing-keys.ts";
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
  /** As `Terminal.folder`. While another program runs in the pane: the folder that was found last. */
  folder(): Promise<string>;
  /** Releases the panes; they stay open. Never rejects. */
  close(): Promise<void>;
}

/** A pane that waits for a command. */
export interface Prompt {
  readonly pane: string;
  /**
   * Types a short ASCII line and Enter. `words` gets the lines up and the column where the line begins, and the name of
   * the pane's shell.
   */
  type(words: (up: number, column: number, shell: string) => string, typed: Typed): Promise<void>;
  /** Whether the shell is at its prompt; false if unknown. Rejects with a `ToolFailure` if it is unreachable. */
  isIdle(): Promise<boolean>;
}

/** A command that is typed into a pane. */
export interface Typed {
  /** The command as people see it. */
  readonly shown: string;
  /** Whether a caller waits for the command's end, so that the prompt returns soon before the next command. */
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
  /** The time until which the pane's prompt is expected. */
  settlesMs: number;
  /** The folder of the pane when it was chosen, which may be that of another workspace; until it is changed. */
  begun?: string;
}

/** Opens nothing yet: the session is created or found at the first use, and again after the session has ended. */
export function createPanes({ inner, helper, tmux, session, shell, notice }: PanesOptions): Panes {
  let pane: Pane | undefined;
  /** The session, and so its shell, was just created. */
  let isFresh = false;
  /** The reason for the notice about a replaced pane. */
  let replaced: string | undefined;
  let choosing: Promise<unknown> = Promise.resolve();
  let folder = inner.workDir;
  let closed = false;

  const send = async (...words: readonly string[]): Promise<readonly string[]> => {
    const { status, out } = await helper.ask(quoteWords([...tmux, "-u", ...words]));
    const text = out.toString().trimEnd();
    if (status !== 0) throw new ToolFailure(`tmux: ${text || "it failed"}`);
    return text === "" ? [] : text.split("\n");
  };
  const owned = ownedPanes({ helper, session, shell, cwd: inner.workDir, send });
  const { look, type } = typist(helper, tmux);

  const pathOf = async ({ id }: PaneId): Promise<string | undefined> => {
    const [path] = await send("display-message", "-p", "-t", id, "#{pane_current_path}").catch(() => []);
    return path?.startsWith("/") === true ? path : undefined;
  };
  const requireSession = async () => {
    isFresh = await ensureSession(helper, { tmux, session, shell, cwd: inner.workDir });
    if (isFresh && replaced !== undefined) replaced = "The tmux session had ended and was created again";
  };
  /** The pane where commands are typed; chooses one if there is none. Skips busy panes unless `mayBeBusy`. */
  const chosen = async (mayBeBusy: boolean, except?: string): Promise<Pane> => {
    if (pane !== undefined) return pane;
    await requireSession();
    const settlesIn = (milliseconds: number) => ({ settlesMs: Date.now() + milliseconds });
    const free = (await owned.takeFree()).map((each): Pane => ({
      ...each,
      ...settlesIn(isFresh ? PROMPT_MS : FOUND_MS),
    }));
    let found: Pane | undefined;
    for (const each of free) {
      if (found === undefined && each.id !== except && (mayBeBusy || (await look(each))?.mayBeIdle)) found = each;
      else await owned.release([each]);
    }
    pane = found ?? { ...(await owned.open()), ...settlesIn(PROMPT_MS) };
    const begun = await pathOf(pane);
    if (begun !== undefined) pane.begun = begun;
    if (replaced !== undefined) notice(`${replaced}; commands are typed into pane ${pane.id} now.`);
    replaced = undefined;
    return pane;
  };
  const leave = async (left: Pane, why: string) => {
    pane = undefined;
    replaced = `Pane ${left.id} ${why}`;
    await owned.release([left]);
  };

  const prompt = async (except?: string): Promise<Prompt> => {
    for (let attempt = 0; attempt < 5; attempt++) {
      if (pane !== undefined && pane.id === except)
        await leave(pane, "did not accept a command (somebody is typing there)");
      const now = await chosen(attempt === 0, except);
      let view = await look(now);
      const shownMs = Date.now() + SHOWN_MS;
      // A shell may read before its first prompt: a command typed then would appear before the prompt.
      const isBare = () => now.column === undefined && view?.x === 0 && Date.now() < shownMs;
      while (view !== undefined && ((!view.mayBeIdle && Date.now() < now.settlesMs) || isBare())) {
        await pause(5);
        view = await look(now);
      }
      if (view === undefined) {
        await leave(now, "was closed");
        continue;
      }
      if (!view.mayBeIdle) {
        await leave(now, `is busy (${now.runs ?? view.command} runs in it)`);
        continue;
      }
      now.settlesMs = 0; // another command in this pane is a person's
      const seen = view;
      return {
        pane: now.id,
        type: (words, command) => type(now, seen, words, command),
        isIdle: async () => (await look(now))?.isIdle === true,
      };
    }
    throw new ToolFailure("tmux: no pane shows a prompt, and neither does a new one");
  };

  /** Does the work again if the session or the server has ended meanwhile. */
  const twice = <T>(work: () => Promise<T>): Promise<T> =>
    work().catch(async () => {
      await requireSession();
      return work();
    });
  /** Runs one after another, since choosing a pane may create one. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    if (closed) return Promise.reject(closedFailure());
    const done = choosing.then(() => twice(work));
    choosing = done.catch(() => undefined);
    return done;
  };

  return {
    prompt: (except) => inTurn(() => prompt(except)),
    // A command starts once: of two windows for it, the later one closes at once.
    window: (name, argv, cwd) => twice(() => owned.openFor(argv, { name, cwd })),
    main: () =>
      inTurn(async () => {
        const now = await chosen(true);
        if ((await look(now)) !== undefined) return now.id;
        await leave(now, "was closed");
        return (await chosen(true)).id;
      }),
    folder: () =>
      inTurn(async () => {
        const now = await chosen(true);
        let view = await look(now);
        while (view?.mayBeIdle === false && Date.now() < now.settlesMs) {
          await pause(5);
          view = await look(now);
        }
        const path = view?.mayBeIdle === true ? await pathOf(now) : undefined;
        if (path === undefined) return folder;
        if (path === now.begun) return (folder = inner.workDir);
        delete now.begun;
        const info = await inner.files.stat(path);
        return (folder = info?.kind === "folder" ? info.path : inner.workDir);
      }),
    async close() {
      closed = true;
      await choosing;
      if (pane !== undefined) await owned.release([pane]);
    },
  };
}

/** Sees panes, and types into them. */
function typist(helper: HelperShell, tmux: readonly string[]) {
  /** Resolves to `undefined` if the pane was closed. Rejects with a `ToolFailure` if the target is unreachable. */
  const look = async ({ id, pid }: PaneId): Promise<View | undefined> => {
    const shows = quoteWords([...tmux, "-u", "display-message", "-p", "-t", id, VIEW]);
    const { out } = await helper.ask(`${shows} 2>/dev/null\nhr_idle ${quoteWord(pid)}`);
    const [line = "", idle = ""] = out.toString().split("\n");
    const [found, dead, inMode, x, width, ...command] = line.split(" ");
    if (found !== pid || dead === "1") return undefined;
    const [, state = "", shell = command.join(" ")] = /^(idle|busy|gone|unknown)(?: (.*))?$/.exec(idle) ?? [];
    return {
      ...{ inMode: inMode === "1", x: Number(x), width: Number(width), command: command.join(" "), shell },
      isIdle: state === "idle",
      mayBeIdle: state === "idle" || state === "unknown",
    };
  };
  const send = (commands: readonly (readonly string[])[]) =>
    helper.ask(quoteWords([...tmux, "-u", ...commands.flatMap((words, at) => [...(at === 0 ? [] : [";"]), ...words])]));

  /** The column of the cursor when the shell has processed the typed keys: it reads again and the cursor stays. */
  const settledColumn = async (now: Pane): Promise<number | undefined> => {
    const lateMs = Date.now() + DONE_MS;
    for (let before: number | undefined; ;) {
      const view = await look(now);
      if (view === undefined || (view.mayBeIdle && view.x === before) || Date.now() > lateMs) return view?.x;
      before = view.mayBeIdle ? view.x : undefined;
      await pause(5);
    }
  };

  /** Whether the line arrived shows at the start of its command. */
  const type = async (now: Pane, view: View, words: Parameters<Prompt["type"]>[0], typed: Typed): Promise<void> => {
    const { shown, isAwaited, over } = typed;
    const keys = (...each: readonly string[]) => ["send-keys", "-t", now.id, ...each];
    let { x } = view;
    let before = [...(view.inMode ? [keys("-X", "cancel")] : []), keys(...clearingKeys(view.shell))];
    if (x !== now.column) {
      await send(before);
      before = [];
      x = (await settledColumn(now)) ?? x;
      now.column = x;
    }
    const length = words(9, 999, view.shell).length;
    const line = words(Math.floor((x + length) / Math.max(1, view.width)) + 1, x + 1, view.shell);
    const runs = clip(shown.split("\n")[0] ?? "", MOST_NAMED);
    now.runs = runs;
    void over.then(() => {
      if (isAwaited) now.settlesMs = Date.now() + AFTER_MS;
      if (now.runs === runs) delete now.runs;
    });
    await send([...before, keys("-l", line.padEnd(length)), keys("Enter")]);
  };
  return { look, type };
}

/** The state of a pane as tmux reports it, and of its shell as the system does. */
interface View {
  readonly inMode: boolean;
  readonly x: number;
  readonly width: number;
  readonly command: string;
  readonly isIdle: boolean;
  /** Whether the pane is idle, or may be idle. */
  readonly mayBeIdle: boolean;
  /** The name of the shell's program. When it is idle, the system's: tmux reports that a moment late. */
  readonly shell: string;
}

const VIEW = "#{pane_pid} #{pane_dead} #{pane_in_mode} #{cursor_x} #{pane_width} #{pane_current_command}";
