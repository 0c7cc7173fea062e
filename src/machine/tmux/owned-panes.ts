import { quoteWord } from "../../core/util/quote.ts";
import type { HelperShell } from "./helper-shell.ts";

/** The option of a pane that names its owner: the folder of the backend, or "free". */
export const OWNER = "@handrail";
/** As `OWNER`, for a pane with a single command, which is never taken over. */
export const WINDOW_OWNER = "@handrail-command";

/** A pane of the session, and the process that tmux has started in it. */
export interface PaneId {
  readonly id: string;
  readonly pid: string;
}

export interface OwnedPanesOptions {
  readonly helper: HelperShell;
  readonly session: string;
  /** The interactive shell. Default: tmux's `default-shell`. */
  readonly shell: string | undefined;
  /** The folder in which the shell starts. */
  readonly cwd: string;
  /** Runs a tmux command. Resolves to its output lines. Rejects with a `ToolFailure` with tmux's message. */
  send(...words: readonly string[]): Promise<readonly string[]>;
}

/** Tracks which backend owns which pane. Each pane for commands names its backend's folder, or is marked free. */
export function ownedPanes({ helper, session, shell, cwd, send }: OwnedPanesOptions) {
  /** Claims a pane atomically. */
  const claim = async (id: string, from: string): Promise<boolean> => {
    const mine = `set-option -p -t ${id} ${OWNER} ${quoteWord(helper.folder)}`;
    const tried = ["if-shell", "-F", "-t", id, `#{==:#{${OWNER}},${from}}`, mine] as const;
    const shown = await send(...tried, ";", "display-message", "-p", "-t", id, `#{${OWNER}}`).catch(() => []);
    return shown[0] === helper.folder;
  };
  const windowIn = (folder: string, name: string) =>
    ["new-window", "-d", "-t", `=${session}:`, "-c", folder, "-n", name] as const;

  return {
    /** Claims panes whose owner has exited. */
    async takeFree(): Promise<readonly PaneId[]> {
      const format = `#{pane_id} #{pane_pid} #{pane_dead} #{${OWNER}}`;
      const lines = await send("list-panes", "-s", "-t", `=${session}`, "-F", format);
      const taken: PaneId[] = [];
      for (const [id = "", pid = "", dead, owner = ""] of lines.map((line) => line.split(" "))) {
        if (dead === "1" || owner === "" || owner === helper.folder) continue;
        if (owner !== "free" && (await lives(helper, owner))) continue;
        if (await claim(id, owner)) taken.push({ id, pid });
      }
      return taken;
    },
    /** Marks panes as free. Ignores panes that no longer exist. */
    async release(panes: readonly PaneId[]) {
      await Promise.all(
        panes.map(({ id }) => send("set-option", "-p", "-t", id, OWNER, "free").catch(() => undefined)),
      );
    },
    /** Opens and claims another pane, with an interactive shell. */
    async open(): Promise<PaneId> {
      const program = shell === undefined ? [] : [`exec ${shell}`];
      const [line = ""] = await send(...windowIn(cwd, "handrail"), "-P", "-F", "#{pane_id} #{pane_pid}", ...program);
      const [id = "", pid = ""] = line.split(" ");
      await send("set-option", "-p", "-t", id, OWNER, helper.folder);
      return { id, pid };
    },
    /** Opens a pane for a single program; it closes when that ends. Resolves to its id. */
    async openFor(argv: readonly string[], as: { readonly name: string; readonly cwd: string }): Promise<string> {
      const [id = ""] = await send(...windowIn(as.cwd, as.name), "-P", "-F", "#{pane_id}", ...argv);
      const options = [
        ["remain-on-exit", "off"],
        [WINDOW_OWNER, helper.folder],
      ];
      await Promise.all(
        // the pane may have closed already
        options.map((option) => send("set-option", "-p", "-t", id, ...option).catch(() => undefined)),
      );
      return id;
    },
  };
}

/** Whether the backend that owns this folder is alive. */
async function lives(helper: HelperShell, folder: string): Promise<boolean> {
  const pid = `read -r hr_pid <${quoteWord(`${folder}/helper`)}`;
  return (await helper.ask(`{ ${pid}; } 2>/dev/null && kill -0 "$hr_pid" 2>/dev/null`)).status === 0;
}
