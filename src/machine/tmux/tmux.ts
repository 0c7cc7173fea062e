import { createHash } from "node:crypto";
import { hostname } from "node:os";
import type { Backend, Terminal } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { pause } from "../../core/util/abort.ts";
import { randomName } from "../../core/util/identifier.ts";
import { shared } from "../../core/util/promises.ts";
import { quoteWord, quoteWords } from "../../core/util/quote.ts";
import { requireClosedTmux } from "./own-programs.ts";
import { type Commands, createCommands } from "./commands.ts";
import { type HelperShell, openHelperShell } from "./helper-shell.ts";
import { type Panes, createPanes } from "./panes.ts";
import READY from "../shell/ready.sh";
import KEEP from "./keep.sh";
import RUNNER from "./runner.sh";
import { OWNER, WINDOW_OWNER } from "./owned-panes.ts";
import { type At, type RunScript, capture, paneAt, sendKeys } from "./pane-io.ts";

export interface TmuxOptions {
  /**
   * The name of a session of the person's own server: letters, digits, "-" and "_". An existing session is used again.
   * Default: the session "handrail" of a server for Handrail alone.
   */
  readonly session?: string;
  /** The interactive shell, as a command line of sh: "zsh", "busybox sh". Default: tmux's `default-shell`. */
  readonly shell?: string;
  /** The name of the server's socket, as tmux's `-L`. Default: with `session` the person's, otherwise `OWN_SOCKET`. */
  readonly socket?: string;
}

/** Nobody else's sessions are on this server, whatever their names are. */
const OWN_SOCKET = "handrail-sessions";

/** The name of the socket for one state folder: toolkits with other state share no screen, also on a shared host. */
export function ownSocket(stateFolder: string): string {
  return `handrail-${createHash("sha256").update(`${hostname()}\0${stateFolder}`).digest("hex").slice(0, 10)}`;
}

/** How long closing may take; the grace after TERM is two seconds. After this, `inner` ends the rest. Milliseconds. */
const LEAVING_MS = 6_000;

/** The first version with all features that are used: client flags (`no-output`) and `-N` of capture-pane. */
const OLDEST = [3, 2] as const;

/**
 * Runs the commands of another backend in a live terminal: types them into a tmux pane on its target, which people can
 * attach to. Output and exit codes are not read from the screen. Everything else is the inner backend's.
 *
 * @throws ToolFailure if tmux is missing, older than 3.2 or unusable, or the inner backend has a sandbox.
 */
export async function tmux(
  inner: Backend,
  { session: named, shell, socket = named === undefined ? OWN_SOCKET : undefined }: TmuxOptions = {},
): Promise<Backend> {
  const session = named ?? "handrail";
  if (!/^[\w-]+$/.test(session)) {
    throw new ToolFailure(`expected a tmux session name of letters, digits, - and _; got ${JSON.stringify(session)}`);
  }
  if (inner.sandbox !== undefined) {
    throw new ToolFailure("commands in a shared terminal are not contained, so tmux needs a backend without a sandbox");
  }
  requireClosedTmux(inner);
  const program = ["tmux", ...(socket === undefined ? [] : ["-L", socket])];
  const token = randomName(8);
  const notices: string[] = [];
  let facts: Facts;
  const commands: Commands = createCommands({
    inner,
    helper: () => helper,
    panes: () => panes,
    markPrefix: `:tmux-${token}.`,
    hasSessions: () => facts.hasSessions,
    async type(pane, text) {
      await sendKeys((script) => helper.ask(script), { tmux: program, target: pane }, { text });
    },
  });
  const helper: HelperShell = await openHelperShell({
    inner,
    token,
    heard: commands.heard,
    reopened: () => commands.ask(),
  });
  try {
    facts = await requireTmux(helper, inner);
    await helper.ask(`printf %s ${quoteWord(READY)} >"$F/ready"; printf %s ${quoteWord(RUNNER)} >"$F/run"
printf %s ${quoteWord(KEEP)} >"$F/keep"`);
  } catch (error) {
    await helper.ask(REMOVE).catch(() => undefined);
    await helper.close();
    throw error;
  }
  const notice = (text: string) => void notices.push(text);
  const panes: Panes = createPanes({ inner, helper, tmux: program, session, shell, notice });

  const run = (script: string) => helper.ask(script);
  const targeted = async (target: string | undefined) => ({ tmux: program, target: target ?? (await panes.main()) });
  const terminal: Terminal = {
    attach: quoteWords([
      ...(inner.access?.program ?? []),
      ...["tmux", "-S", `${facts.sockets}/${socket ?? "default"}`, "attach", "-t", session],
    ]),
    capture: async (options = {}) => capture(run, await targeted(options.target), options),
    sendKeys: async (keys) => sendKeys(run, await targeted(keys.target), keys),
    dispatch: (command) => commands.dispatch(command),
    folder: () => panes.folder(),
    isOwn: async (target) => isOwnPane(run, { tmux: program, target }, helper.folder),
  };

  const leave = async () => {
    await commands.close();
    await panes.close();
    await helper.ask(REMOVE).catch(() => undefined);
    await helper.close();
  };
  const close = shared(async () => {
    await Promise.race([leave(), pause(LEAVING_MS, undefined, { keepsAlive: false })]);
    await inner.close();
  });

  return {
    name: `tmux(${inner.name})`,
    workDir: inner.workDir,
    home: inner.home,
    ...(inner.shell !== undefined && { shell: inner.shell }),
    ...(inner.isFar === true && { isFar: true }),
    ...(inner.access !== undefined && { access: inner.access }),
    ...(inner.programFolders !== undefined && { programFolders: inner.programFolders }),
    files: inner.files,
    spawn: (command) => (command.lifetime === "detached" ? inner.spawn(command) : commands.spawn(command)),
    search: (query) => inner.search(query),
    find: (query) => inner.find(query),
    terminal,
    ...(inner.detached !== undefined && { detached: inner.detached }),
    ...(inner.lacks !== undefined && { lacks: inner.lacks }),
    notices: () => [...(inner.notices?.() ?? []), ...notices.splice(0)],
    close,
  };
}

/** Whether a pane was opened for commands of the backend with this folder. */
async function isOwnPane(run: RunScript, at: At, folder: string): Promise<boolean> {
  const pane = await paneAt(run, at);
  const { status, out } = await run(
    quoteWords([...at.tmux, "display-message", "-p", "-t", pane, `#{${OWNER}} #{${WINDOW_OWNER}}`]),
  );
  return status === 0 && out.toString().trim().split(" ").includes(folder);
}

/** Removes the folder. Runners of dispatched commands have opened their files already. */
const REMOVE = 'kill "$hr_listener" 2>/dev/null; rm -rf "$F"';

interface Facts {
  /** Whether the target has `setsid`. */
  readonly hasSessions: boolean;
  /** The folder of tmux's sockets (tmux(1), ENVIRONMENT). */
  readonly sockets: string;
}

/** @throws ToolFailure without a usable tmux. */
async function requireTmux(helper: HelperShell, inner: Backend): Promise<Facts> {
  const { out } = await helper.ask(`command -v tmux >/dev/null && tmux -V
command -v setsid >/dev/null && echo setsid
(cd -P "\${TMUX_TMPDIR:-/tmp}" 2>/dev/null || cd -P /tmp; printf 'sockets %s/tmux-%s\n' "$PWD" "$(id -u)")`);
  const output = out.toString();
  const [, major, minor] = /(\d+)\.(\d+)/.exec(output) ?? [];
  if (!output.startsWith("tmux ")) {
    throw new ToolFailure(`there is no tmux on ${inner.name}`, {
      hint:
        "Install it on that host (apt-get install tmux, apk add tmux, dnf install tmux, brew install tmux), " +
        "or omit --tmux.",
    });
  }
  const [oldMajor, oldMinor] = OLDEST;
  if (major !== undefined && (Number(major) < oldMajor || (Number(major) === oldMajor && Number(minor) < oldMinor))) {
    const found = `expected ${OLDEST.join(".")} or newer, got ${output.split("\n")[0]}`;
    const hint = "Install a newer version, or omit --tmux.";
    throw new ToolFailure(`tmux on ${inner.name} is too old: ${found}`, { hint });
  }
  return { hasSessions: /^setsid$/m.test(output), sockets: /^sockets (.*)$/m.exec(output)?.[1] ?? "" };
}
