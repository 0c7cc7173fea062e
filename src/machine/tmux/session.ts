import { ToolFailure } from "../../core/contract/failure.ts";
import { quoteWords } from "../../core/util/quote.ts";
import { UNATTENDED } from "../local/environment.ts";
import type { HelperShell } from "./helper-shell.ts";
import { OWNER, type OwnedPanesOptions } from "./owned-panes.ts";

/** Creates the session if there is none; true if it did. A new server gets the person's environment. */
export async function ensureSession(
  helper: HelperShell,
  { tmux, session, shell, cwd }: Pick<OwnedPanesOptions, "session" | "shell" | "cwd"> & { tmux: readonly string[] },
): Promise<boolean> {
  const target = `=${session}`;
  const create = [
    ...[...tmux, "-u", "new-session", "-d", "-s", session, "-n", "handrail", "-x", "200", "-y", "50", "-c", cwd],
    ...(shell === undefined ? [] : [`exec ${shell}`]),
    ...[";", "set-option", "-p", "-t", `${target}:`, OWNER, "free"],
  ];
  const made = `{ ${quoteWords(create)} && echo made; }`;
  const has = quoteWords([...tmux, "has-session", "-t", target]);
  // Tries again after a second: a server may be ending, or several clients may start one at once.
  const { status, out } = await helper.ask(`(
unset HANDRAIL_PROCESS TMUX TMUX_PANE ${Object.keys(UNATTENDED).join(" ")}
exec 4<&-
umask "$hr_umask"
${has} 2>/dev/null || ${made} || ${has} || { sleep 1; ${made}; } || ${has}
)`);
  if (status !== 0) throw new ToolFailure(`tmux could not make the session ${session}: ${out.toString().trim()}`);
  return /^made$/m.test(out.toString());
}
