import { findTarget, requireContainment } from "../../machine/targets.ts";
import { searchWay } from "../../machine/shell/search.ts";
import { tmux } from "../../machine/tmux/tmux.ts";
import type { Settings } from "../../app/config/settings.ts";
import type { Backend } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { createLookUps } from "../../policy/look-ups.ts";
import { pathJudge } from "../../policy/paths.ts";
import { createToolkit } from "../../app/toolkit.ts";
import { randomName } from "../../core/util/identifier.ts";
import type { GlobalOptions } from "../options.ts";
import { placeOf, toolkitOptionsOf } from "../settings.ts";
import { type Check, type Finding, inTemporaryFolder } from "./check.ts";
import { outputOf } from "./output-of.ts";
import { settingsOf } from "./settings.ts";

/** Uploading ripgrep (6 MB) over a slow connection may take this long, in milliseconds. */
const DEADLINE_MS = 60_000;

/**
 * Checks where tools would work: on this machine or on the named target. The target must be reachable and the policy
 * must allow the folder. On a target and in a terminal, a command is run. Leaves only ripgrep behind, as any search
 * does.
 */
export const work = (options: GlobalOptions): readonly Check[] => [
  {
    name: "work folder",
    group: "work",
    required: true,
    fix: fixOf(options),
    deadlineMs: DEADLINE_MS,
    run: (signal) => inTemporaryFolder((folder) => workFolder(options, folder, signal)),
  },
];

async function workFolder(options: GlobalOptions, stateDir: string, signal: AbortSignal): Promise<Finding> {
  try {
    const settings = await settingsOf(options);
    const toolkit = await openToolkit(options, settings, stateDir);
    try {
      return (await refused(toolkit.backend, settings)) ?? (await tried(toolkit.backend, options, signal));
    } finally {
      await toolkit.close();
    }
  } catch (error) {
    if (!(error instanceof ToolFailure)) throw error;
    // An error without a hint means that the folder cannot be worked in.
    const fix = error.hint ?? (options.workDir === undefined ? fixOf(options) : OTHER_FOLDER);
    return { status: "broken", detail: error.message, fix };
  }
}

const OTHER_FOLDER = "handrail … --work-dir FOLDER   (with each command)";

/** A killed tmux server leaves its socket behind. */
const END_SERVER = `path=$(tmux -L "$0" display-message -p "#{socket_path}") &&
  tmux -L "$0" kill-server && rm -f "$path"`;

function isLive({ tmux: live, tmuxSession }: GlobalOptions): boolean {
  return live === true || tmuxSession !== undefined;
}

function fixOf({ target, targets }: GlobalOptions): string {
  const named = findTarget(target, targets);
  return named?.kind.commandLine?.fix(named) ?? OTHER_FOLDER;
}

/**
 * Opens a toolkit as other commands do, but without its terminal and with its own state. Throws what keeps them from
 * starting.
 */
async function openToolkit(options: GlobalOptions, settings: Settings, stateDir: string): Promise<Toolkit> {
  const { terminal: _, passEnv = [], ...rest } = toolkitOptionsOf(settings, options);
  requireContainment({ ...placeOf(options), sandbox: settings.policy.sandbox });
  return createToolkit({
    ...rest,
    stateDir,
    outputOwner: "doctor",
    passEnv: [...passEnv, "TMUX_TMPDIR"], // the folder of the tmux server's socket
    ...(isLive(options) && { sandbox: "off" }),
  });
}

/** Returns a finding if the policy denies the folder itself, in which case no call succeeds. */
async function refused(
  backend: Backend,
  { policy: { workspaceOnly, allowedRoots, forbiddenPaths } }: Settings,
): Promise<Finding | undefined> {
  const judge = pathJudge({ workspaceOnly, allowedRoots, forbiddenPaths }, backend)(createLookUps(backend.files));
  const { verdict, reason = "" } = await judge("cwd", ".", undefined);
  if (verdict !== "deny") return undefined;
  return { status: "broken", detail: `tools would work in ${backend.workDir}. ${reason}`, fix: OTHER_FOLDER };
}

async function tried(inner: Backend, options: GlobalOptions, signal: AbortSignal): Promise<Finding> {
  if (!isLive(options)) return { status: "ok", detail: await found(inner, inner, signal) };
  // Uses a separate server, so that the session in which people may be working is not touched.
  const socket = `handrail-doctor-${randomName(8)}`;
  const { tmuxSession: session } = options;
  const live = await tmux(inner, { socket, ...(session !== undefined && { session }) });
  try {
    return { status: "ok", detail: await found(inner, live, signal) };
  } finally {
    await outputOf(inner, ["sh", "-c", END_SERVER, socket], signal).catch(() => undefined);
    await live.close();
  }
}

/** Whether commands are contained on another host, as the end of a sentence. */
async function containment({ sandbox }: Backend): Promise<string> {
  const state = await sandbox?.state();
  if (state === undefined) return "";
  return state.works ? ", in the sandbox" : `, not in the sandbox: ${state.reason} ${state.fix}`;
}

async function found(inner: Backend, backend: Backend, signal: AbortSignal): Promise<string> {
  const { name, workDir, shell = "bash" } = backend;
  const isHere = inner.access === undefined;
  if (isHere && backend === inner && inner.sandbox !== undefined) {
    // Another check runs a command on this machine. Whether the sandbox works depends on the folder too.
    const state = await inner.sandbox.state();
    return `tools work in ${workDir}${state.works ? "" : `, not in the sandbox: ${state.reason} ${state.fix}`}`;
  }
  const asked = performance.now();
  await backend.files.stat("/");
  const answered = performance.now() - asked;
  const { written } = await outputOf(backend, ["sh", "-c", "echo out"], signal);
  if (written !== "out\n") throw new Error(`a command wrote ${JSON.stringify(written)}, not "out"`);
  const search = (await searchWay(inner)) ?? "ripgrep";
  return (
    `${name} answers in ${answered.toFixed(1)} ms; tools work in ${workDir}, commands run in ${shell}, searches ` +
    `with ${search}${backend === inner ? await containment(inner) : ""}`
  );
}
