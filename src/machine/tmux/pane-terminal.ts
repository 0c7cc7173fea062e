import type { Backend, Command, Terminal } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { pause } from "../../core/util/abort.ts";
import { randomName } from "../../core/util/identifier.ts";
import { type Base, absolutePath } from "../../core/util/paths.ts";
import { quoteWord, quoteWords } from "../../core/util/quote.ts";
import { spawnOwn } from "./own-programs.ts";
import { clearingKeys } from "./clearing-keys.ts";
import { shownCommand } from "./shown.ts";
import { type RunScript, capture, paneAt, sendKeys } from "./pane-io.ts";
import TYPE_LINE from "./type-line.sh";

/** Shells in which half-typed input is cleared. In other programs the keys would mean something else. */
const SHELL = /^(?:bash|zsh|dash|sh|ash|busybox|fish|ksh|ksh93|mksh)$/;
/**
 * How long the cursor must stay for the keys to count as processed; at most `LONGEST_CLEARING_MS` are waited for. If
 * that is too short, only the shown command is misplaced. Milliseconds.
 */
const STAYS_MS = 50;
const LONGEST_CLEARING_MS = 1_000;

export interface PaneOptions {
  /** The socket of the server: the first part of `$TMUX`. Default: the one that tmux would use. */
  readonly socketPath?: string;
}

/** The name of the window that commands are typed into. */
const WINDOW = "handrail";

/** The option of tmux that marks its pane. */
const MARK = "@handrail";

/**
 * The pane in which this process runs (`$TMUX_PANE`), as a terminal. Commands are never typed into it, since Handrail
 * itself may read there: they get a window of their own in the person's session, which is the default for what follows.
 *
 * @throws ToolFailure if there is no such pane
 */
export async function paneTerminal(
  inner: Pick<Backend, "spawn" | "workDir" | "home" | "access" | "isFar">,
  pane: string,
  { socketPath }: PaneOptions = {},
): Promise<Terminal> {
  const tmux = ["tmux", ...(socketPath === undefined ? [] : ["-S", socketPath])];
  const run: RunScript = async (script) => {
    const process = await spawnOwn(inner, { argv: ["sh", "-c", script] });
    const exit = await process.exit;
    const out = Buffer.from(await process.output.read(0, process.output.kept));
    await process.output.dispose();
    return { status: exit.how === "exited" ? exit.code : 1, out };
  };
  const at = (target = pane) => ({ tmux, target });
  const shows = async (id: string, format: string) =>
    (await run(quoteWords([...tmux, "display-message", "-p", "-t", id, format]))).out.toString().trim();
  const cursorStays = async (id: string) => {
    const lateMs = performance.now() + LONGEST_CLEARING_MS;
    let before: string | undefined;
    for (let same = 0; same < 2 && performance.now() < lateMs; await pause(STAYS_MS)) {
      const now = await shows(id, "#{cursor_x} #{cursor_y}");
      same = now === before ? same + 1 : 0;
      before = now;
    }
  };
  await paneAt(run, at());
  /** The pane of Handrail's own window in the person's session, also one that an earlier process has opened. */
  const ownPane = async () => {
    const panes = quoteWords([...tmux, "list-panes", "-s", "-t", pane, "-F", `#{pane_id} #{${MARK}}`]);
    return /^(%\d+) 1$/m.exec((await run(panes)).out.toString())?.[1];
  };
  const openWindow = async () => {
    const { status, out } = await run(newWindow(tmux, pane, inner.workDir));
    const id = out.toString().trim();
    if (status !== 0) throw new ToolFailure(`tmux could not open a window beside pane ${pane}: ${id}`);
    const lateMs = performance.now() + LONGEST_CLEARING_MS;
    // Until the shell shows its prompt.
    while (performance.now() < lateMs && (await shows(id, "#{cursor_x}")) === "0") await pause(STAYS_MS);
    return id;
  };
  const usual = async (target?: string) => at(target ?? (await ownPane()));
  return {
    attach: quoteWords([...tmux, "attach", "-t", pane]),
    isPersons: true,
    capture: async (options = {}) => capture(run, await usual(options.target), options),
    sendKeys: async (keys) => sendKeys(run, await usual(keys.target), keys),
    async dispatch(command) {
      const id = (await ownPane()) ?? (await openWindow());
      const runs = await shows(id, "#{pane_current_command}");
      if (SHELL.test(runs)) {
        await sendKeys(run, at(id), { keys: clearingKeys(runs) });
        await cursorStays(id);
      }
      const { status, out } = await run(typing(command, { inner, tmux: [...tmux, "-u"], pane: id }));
      if (status !== 0) throw new ToolFailure(`it could not be typed into pane ${id}: ${out.toString().trim()}`);
      return { pane: id, window: WINDOW };
    },
  };
}

/** A script that opens a window behind the others in the session of a pane, and prints the id of its pane. */
function newWindow(tmux: readonly string[], pane: string, folder: string): string {
  const session = quoteWords([...tmux, "display-message", "-p", "-t", pane, "#{session_id}"]);
  const open = quoteWords([...tmux, "new-window", "-d", "-P", "-F", "#{pane_id}", "-n", WINDOW, "-c", folder, "-t"]);
  const mark = quoteWords([...tmux, "set-option", "-p", "-t"]);
  return `hr_pane=$(${open} "$(${session}):") || { echo "$hr_pane"; exit 1; }
${mark} "$hr_pane" ${quoteWord(MARK)} 1 && echo "$hr_pane"`;
}

/** A script that types a line, which runs a file that removes itself, shows the command and executes it. */
function typing(
  command: Command,
  { inner, tmux, pane }: { readonly inner: Base; readonly tmux: readonly string[]; readonly pane: string },
): string {
  const { argv, cwd = ".", env = {} } = command;
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const file = [
    'rm -f -- "$0"',
    `printf '\\033[%sA\\033[%sG\\033[J%s\\n' "$1" "$2" ${quoteWord(shownCommand(command))}`,
    `cd -P ${quoteWord(absolutePath(cwd, inner))} || exit`,
    `exec ${quoteWords([...(variables.length === 0 ? [] : ["env", ...variables]), ...argv])}`,
    "",
  ].join("\n");
  return `hr_text=${quoteWord(file)} hr_pane=${quoteWord(pane)} hr_name=${randomName(8)}
set -- ${quoteWords(tmux)}
${TYPE_LINE}`;
}
