import { ToolFailure } from "../../contract/failure.ts";
import { quoteWords } from "../../util/shell.ts";
import type { Keeper } from "./keeper.ts";

/** The option of a pane that says whose it is: the folder of the backend, or "free". */
export const OWNER = "@handrail";
/** The same of a pane that one command has to itself; nobody takes that one over. */
export const WINDOW_OWNER = "@handrail-command";

/** Whether the session had to be made. A server that is started gets the environment of a person, without what is there because nobody sits in front of commands. */
export async function ensureSession(
  keeper: Keeper,
  {
    tmux,
    session,
    shell,
    cwd,
  }: {
    readonly tmux: readonly string[];
    readonly session: string;
    readonly shell: string | undefined;
    readonly cwd: string;
  },
): Promise<boolean> {
  const target = `=${session}`;
  const create = [
    ...[...tmux, "-u", "new-session", "-d", "-s", session, "-n", "handrail", "-x", "200", "-y", "50", "-c", cwd],
    ...(shell === undefined ? [] : [`exec ${shell}`]),
    ...[";", "set-option", "-p", "-t", `${target}:`, OWNER, "free"],
  ];
  const made = `{ ${quoteWords(create)} && echo made; }`;
  const has = quoteWords([...tmux, "has-session", "-t", target]);
  // A server that is just ending, or that several start at once, is asked again in a moment.
  const { status, out } = await keeper.ask(`(
unset HANDRAIL_PROCESS TMUX TMUX_PANE PAGER GIT_PAGER MANPAGER GIT_TERMINAL_PROMPT
exec 4<&-
umask "$hr_umask"
${has} 2>/dev/null || ${made} || ${has} || { sleep 1; ${made}; } || ${has}
)`);
  if (status !== 0) throw new ToolFailure(`tmux could not make the session ${session}: ${out.toString().trim()}`);
  return /^made$/m.test(out.toString());
}
