import type { Backend, Terminal } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { pause } from "../../util/abort.ts";
import { randomName } from "../../util/identifier.ts";
import { quoteWord, quoteWords } from "../../util/shell.ts";
import { type Commands, createCommands } from "./commands.ts";
import { type Keeper, openKeeper } from "./keeper.ts";
import { type Panes, createPanes } from "./panes.ts";
import { RUNNER } from "./runner-script.ts";
import { OWNER, WINDOW_OWNER } from "./session.ts";
import { type At, type RunScript, capture, paneAt, sendKeys } from "./terminal.ts";

export interface TmuxOptions {
  /** The session's name: letters, digits, "-" and "_". Found again where it is there. Default "handrail". */
  readonly session?: string;
  /** The interactive shell, as sh reads it: "zsh", "busybox sh". Default: the `default-shell` of tmux there. */
  readonly shell?: string;
  /** The name of the server's socket, as tmux' `-L`. Default: the person's own server. */
  readonly socket?: string;
}

/** Where nobody answers any more, what runs ends with the inner backend. Stopping who is deaf to TERM takes some two seconds. */
const LEAVING_MS = 6_000;

/** The first version that has all that is used: flags of clients (`no-output`) and `-N` of capture-pane. */
const OLDEST = [3, 2] as const;

/**
 * Commands of another backend in a live terminal: they are typed into a pane of tmux there, to which people attach. Output and exit codes do not come from the screen.
 * Everything else is the inner backend's.
 *
 * @throws ToolFailure when there is no tmux, an older one than 3.2, it may not be used, or the inner backend has a sandbox.
 */
export async function tmux(
  inner: Backend,
  { session = "handrail", shell, socket }: TmuxOptions = {},
): Promise<Backend> {
  if (!/^[\w-]+$/.test(session)) {
    throw new ToolFailure(`a tmux session is named with letters, digits, - and _, got ${JSON.stringify(session)}`);
  }
  if (inner.sandbox !== undefined) {
    throw new ToolFailure(
      "commands in a terminal that people share are not contained, so tmux takes the backend without a sandbox",
    );
  }
  const program = ["tmux", ...(socket === undefined ? [] : ["-L", socket])];
  const token = randomName(8);
  const notices: string[] = [];
  let hasSessions = false;
  let closed: Promise<void> | undefined;
  const commands: Commands = createCommands({
    inner,
    keeper: () => keeper,
    panes: () => panes,
    family: `:tmux-${token}.`,
    hasSessions: () => hasSessions,
    async type(pane, text) {
      await sendKeys((script) => keeper.ask(script), { tmux: program, target: pane }, { text });
    },
  });
  const keeper: Keeper = await openKeeper({ inner, token, heard: commands.heard, reopened: () => commands.ask() });
  try {
    hasSessions = await requireTmux(keeper, inner);
    await keeper.ask(`printf %s ${quoteWord(RUNNER)} >"$F/run"`);
  } catch (error) {
    await keeper.ask(REMOVE).catch(() => undefined);
    await keeper.close();
    throw error;
  }
  const notice = (text: string) => void notices.push(text);
  const panes: Panes = createPanes({ inner, keeper, tmux: program, session, shell, notice });

  const run = (script: string) => keeper.ask(script);
  const targeted = async (target: string | undefined) => ({ tmux: program, target: target ?? (await panes.main()) });
  const terminal: Terminal = {
    attach: quoteWords([...(inner.access?.program ?? []), ...program, "attach", "-t", session]),
    capture: async (options = {}) => capture(run, await targeted(options.target), options),
    sendKeys: async (keys) => sendKeys(run, await targeted(keys.target), keys),
    dispatch: (command) => commands.dispatch(command),
    isOwn: async (target) => isOwnPane(run, { tmux: program, target }, keeper.folder),
  };

  const leave = async () => {
    await commands.close();
    await panes.close();
    await keeper.ask(REMOVE).catch(() => undefined);
    await keeper.close();
  };
  const close = async () => {
    await Promise.race([leave(), pause(LEAVING_MS, undefined, { keepsAlive: false })]);
    await inner.close();
  };

  return {
    name: `tmux(${inner.name})`,
    workDir: inner.workDir,
    home: inner.home,
    ...(inner.shell !== undefined && { shell: inner.shell }),
    ...(inner.access !== undefined && { access: inner.access }),
    ...(inner.programFolders !== undefined && { programFolders: inner.programFolders }),
    files: inner.files,
    spawn: (command) => (command.lifetime === "detached" ? inner.spawn(command) : commands.spawn(command)),
    search: (query) => inner.search(query),
    find: (query) => inner.find(query),
    terminal,
    ...(inner.detached !== undefined && { detached: inner.detached }),
    notices: () => [...(inner.notices?.() ?? []), ...notices.splice(0)],
    close() {
      closed ??= close();
      return closed;
    },
  };
}

/** A pane that was opened for commands bears their backend's folder. */
async function isOwnPane(run: RunScript, at: At, folder: string): Promise<boolean> {
  const pane = await paneAt(run, at);
  const { status, out } = await run(
    quoteWords([...at.tmux, "display-message", "-p", "-t", pane, `#{${OWNER}} #{${WINDOW_OWNER}}`]),
  );
  return status === 0 && out.toString().trim().split(" ").includes(folder);
}

/** Runners of what was dispatched have opened their files already. */
const REMOVE = 'kill "$hr_listener" 2>/dev/null; rm -rf "$F"';

/** Whether there is `setsid` beside tmux. */
async function requireTmux(keeper: Keeper, inner: Backend): Promise<boolean> {
  const { out } = await keeper.ask(
    "command -v tmux >/dev/null && tmux -V; command -v setsid >/dev/null && echo setsid; :",
  );
  const said = out.toString();
  const [, major, minor] = /(\d+)\.(\d+)/.exec(said) ?? [];
  if (!said.startsWith("tmux ")) {
    throw new ToolFailure(`there is no tmux on ${inner.name}`, {
      hint: "Install it there (apt-get install tmux, apk add tmux, dnf install tmux, brew install tmux), or work without --tmux.",
    });
  }
  const [oldMajor, oldMinor] = OLDEST;
  if (major !== undefined && (Number(major) < oldMajor || (Number(major) === oldMajor && Number(minor) < oldMinor))) {
    throw new ToolFailure(
      `tmux on ${inner.name} is too old: expected ${OLDEST.join(".")} or newer, got ${said.split("\n")[0]}`,
      {
        hint: "Install a newer one there, or work without --tmux.",
      },
    );
  }
  return /^setsid$/m.test(said);
}
