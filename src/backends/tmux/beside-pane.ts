import type { Backend } from "../../contract/backend.ts";
import { type PaneOptions, paneTerminal } from "./pane-terminal.ts";

/** A pane of tmux. */
export interface Pane extends PaneOptions {
  /** As `$TMUX_PANE` says it: "%1". */
  readonly id: string;
}

/**
 * A backend of this machine beside a pane of tmux: that can be looked at and typed into; commands run as ever, and not in it. What is typed there is
 * not contained, whatever contains the commands.
 *
 * @throws ToolFailure when there is no such pane.
 */
export async function besidePane(inner: Backend, { id, ...options }: Pane): Promise<Backend> {
  const { workDir, home } = inner;
  // tmux itself is spoken to from outside of any sandbox.
  const spawn: Backend["spawn"] = (command) => inner.spawn({ ...command, within: "none" });
  const terminal = await paneTerminal({ workDir, home, spawn }, id, options);
  return {
    name: inner.name,
    workDir,
    home,
    ...(inner.shell !== undefined && { shell: inner.shell }),
    files: inner.files,
    spawn: (command) => inner.spawn(command),
    helper: (program, args, options) => inner.helper(program, args, options),
    terminal,
    ...(inner.sandbox !== undefined && { sandbox: inner.sandbox }),
    ...(inner.detached !== undefined && { detached: inner.detached }),
    notices: () => inner.notices?.() ?? [],
    close: () => inner.close(),
  };
}
