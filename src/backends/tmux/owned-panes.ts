import { quoteWord, quoteWords } from "../../util/shell.ts";
import type { Keeper } from "./keeper.ts";
import { OWNER, WINDOW_OWNER } from "./session.ts";

/** A pane of the session, and the process that tmux has started in it. */
export interface PaneId {
  readonly id: string;
  readonly pid: string;
}

/** Which panes of the session are whose. Every pane that was opened for commands bears the folder of the backend that has it, or says that it is free. */
export interface OwnedPanes {
  /** Takes those that nobody has who lives. */
  takeFree(): Promise<readonly PaneId[]>;
  /** Lets others take them. One that has gone is left at that. */
  release(panes: readonly PaneId[]): Promise<void>;
  /** Opens one more, with an interactive shell in it, and takes it. */
  open(): Promise<PaneId>;
  /** Opens one for a program alone, which is gone when that ends. Resolves to its id. */
  openFor(argv: readonly string[], as: { readonly name: string; readonly cwd: string }): Promise<string>;
}

export interface OwnedPanesOptions {
  readonly keeper: Keeper;
  readonly tmux: readonly string[];
  readonly session: string;
  /** The interactive shell. Default: tmux' own choice. */
  readonly shell: string | undefined;
  /** Where that starts. */
  readonly cwd: string;
  /** A command of tmux, by the client that is held open; resolves to the lines it wrote. */
  send(...words: readonly string[]): Promise<readonly string[]>;
}

export function ownedPanes({ keeper, tmux, session, shell, cwd, send }: OwnedPanesOptions): OwnedPanes {
  /** At once, whoever else tries. (Not by the client that is held open: what `if-shell` runs is answered there besides, as one more.) */
  const claim = async (id: string, from: string): Promise<boolean> => {
    const mine = `set-option -p -t ${id} ${OWNER} ${quoteWord(keeper.folder)}`;
    const tried = ["if-shell", "-F", "-t", id, `#{==:#{${OWNER}},${from}}`, mine];
    const { out } = await keeper.ask(
      quoteWords([...tmux, ...tried, ";", "display-message", "-p", "-t", id, `#{${OWNER}}`]),
    );
    return out.toString().trim() === keeper.folder;
  };
  const windowIn = (folder: string, name: string) => [
    "new-window",
    "-d",
    "-t",
    `=${session}:`,
    "-c",
    folder,
    "-n",
    name,
  ];

  return {
    async takeFree() {
      const format = `#{pane_id} #{pane_pid} #{pane_dead} #{${OWNER}}`;
      const lines = await send("list-panes", "-s", "-t", `=${session}`, "-F", format);
      const taken: PaneId[] = [];
      for (const [id = "", pid = "", dead, owner = ""] of lines.map((line) => line.split(" "))) {
        if (dead === "1" || owner === "" || owner === keeper.folder) continue;
        if (owner !== "free" && (await lives(keeper, owner))) continue;
        if (await claim(id, owner)) taken.push({ id, pid });
      }
      return taken;
    },
    async release(panes) {
      await Promise.all(
        panes.map(({ id }) => send("set-option", "-p", "-t", id, OWNER, "free").catch(() => undefined)),
      );
    },
    async open() {
      const program = shell === undefined ? [] : [`exec ${shell}`];
      const [line = ""] = await send(...windowIn(cwd, "handrail"), "-P", "-F", "#{pane_id} #{pane_pid}", ...program);
      const [id = "", pid = ""] = line.split(" ");
      await send("set-option", "-p", "-t", id, OWNER, keeper.folder);
      return { id, pid };
    },
    async openFor(argv, as) {
      const [id = ""] = await send(...windowIn(as.cwd, as.name), "-P", "-F", "#{pane_id}", ...argv);
      const options = [
        ["remain-on-exit", "off"],
        [WINDOW_OWNER, keeper.folder],
      ];
      await Promise.all(
        options.map((option) => send("set-option", "-p", "-t", id, ...option).catch(() => undefined)), // it may have ended already
      );
      return id;
    },
  };
}

/** Whether the backend lives that has this folder. */
async function lives(keeper: Keeper, folder: string): Promise<boolean> {
  const pid = `read -r hr_pid <${quoteWord(`${folder}/keeper`)}`;
  return (await keeper.ask(`{ ${pid}; } 2>/dev/null && kill -0 "$hr_pid" 2>/dev/null`)).status === 0;
}
