import type { Backend, Terminal } from "../../contract/backend.ts";
import type { PaneOptions } from "./pane-terminal.ts";

/** A pane of tmux. */
export interface Pane extends PaneOptions {
  /** As `$TMUX_PANE` says it: "%1". */
  readonly id: string;
}

/**
 * A backend of this machine beside a pane of tmux: that can be looked at and typed into; commands run as ever, and not in it. What is typed there is
 * not contained, whatever contains the commands. Whether there is such a pane is seen when it is first used.
 */
export function besidePane(inner: Backend, { id, ...options }: Pane): Backend {
  const { workDir, home } = inner;
  // tmux itself is spoken to from outside of any sandbox.
  const spawn: Backend["spawn"] = (command) => inner.spawn({ ...command, within: "none" });
  let opened: Promise<Terminal> | undefined;
  const terminal = () => {
    opened ??= import("./pane-terminal.ts").then(({ paneTerminal }) =>
      paneTerminal({ workDir, home, spawn }, id, options),
    );
    return opened;
  };
  return {
    name: inner.name,
    workDir,
    home,
    ...(inner.shell !== undefined && { shell: inner.shell }),
    ...(inner.programFolders !== undefined && { programFolders: inner.programFolders }),
    files: inner.files,
    ...(inner.outside !== undefined && { outside: inner.outside }),
    spawn: (command) => inner.spawn(command),
    search: (query) => inner.search(query),
    find: (query) => inner.find(query),
    terminal: {
      attach: `tmux attach -t ${id}`,
      isPersons: true,
      capture: async (captureOptions) => (await terminal()).capture(captureOptions),
      sendKeys: async (keys) => (await terminal()).sendKeys(keys),
      dispatch: async (command) => (await terminal()).dispatch(command),
    },
    ...(inner.sandbox !== undefined && { sandbox: inner.sandbox }),
    ...(inner.detached !== undefined && { detached: inner.detached }),
    notices: () => inner.notices?.() ?? [],
    close: () => inner.close(),
  };
}
