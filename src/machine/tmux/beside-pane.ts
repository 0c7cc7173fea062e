import type { Backend } from "../../core/contract/backend.ts";
import { shared } from "../../core/util/promises.ts";
import type { PaneOptions } from "./pane-terminal.ts";

/** A pane of tmux. */
export interface Pane extends PaneOptions {
  /** As in `$TMUX_PANE`: "%1". */
  readonly id: string;
}

/**
 * Adds a tmux pane to a backend of this machine. Tools can read the pane and type into it. Commands do not run in it,
 * and typed text is not contained. The first use fails if the pane does not exist.
 */
export function besidePane(inner: Backend, { id, ...options }: Pane): Backend {
  const { workDir, home } = inner;
  // The tmux client runs outside of any sandbox.
  const spawn: Backend["spawn"] = (command) => inner.spawn({ ...command, within: "none" });
  const terminal = shared(async () =>
    (await import("./pane-terminal.ts")).paneTerminal({ workDir, home, spawn }, id, options),
  );
  return {
    ...inner,
    terminal: {
      attach: `tmux attach -t ${id}`,
      isPersons: true,
      capture: async (captureOptions) => (await terminal()).capture(captureOptions),
      sendKeys: async (keys) => (await terminal()).sendKeys(keys),
      dispatch: async (command) => (await terminal()).dispatch(command),
    },
  };
}
