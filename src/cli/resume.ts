import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { ThreadSummary } from "../core/contract/activity.ts";
import type { Backend } from "../core/contract/backend.ts";
import { ToolFailure } from "../core/contract/failure.ts";
import { messageOf, tried } from "../core/util/errors.ts";
import type { AgentOptions } from "./options.ts";
import { loadedSettings, storeOf } from "./settings.ts";
import { machineOf } from "../core/call/park.ts";
import { oneLine } from "../core/output/terminal-text.ts";
import { say } from "./say.ts";
import { sessionRows } from "./sessions.ts";
import { lineOnTerminal } from "./terminal.ts";
import { flagsOf } from "./threads.ts";
import type { Io } from "./io.ts";

/** The options of a command that may continue a thread, and that thread. */
export interface Resumed {
  /** The given options, and where they are absent, those with which the thread was started. `resume` is its id. */
  readonly options: AgentOptions;
  readonly thread?: ThreadSummary;
}

/**
 * Returns what is recorded with a new thread, so that it can be continued in the same way: options, and `from`, the
 * folder in which the program was started. Of the options that weaken the policy, none is recorded.
 */
export function startedWith(options: AgentOptions): { readonly [name: string]: string } {
  const { target, workDir, preset, agent, model, baseUrl, tmux, tmuxSession = tmux && "handrail" } = options;
  const { config, autonomy, sandbox } = options;
  const all = {
    ...{ from: realpathSync(options.io.cwd), target, workDir, preset, agent, model, baseUrl, tmuxSession },
    config: config && resolve(options.io.cwd, config),
    autonomy: autonomy === "readonly" ? autonomy : undefined,
    sandbox: sandbox === "on" ? sandbox : undefined,
  };
  return Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

/**
 * Finds the thread that `--resume ID` or `--continue` names, and restores its target, folder, toolset, agent, terminal
 * and model. Without these options, returns the given ones.
 *
 * @throws Error when there is no such thread; what `loadedSettings` throws.
 */
export async function resumed(options: AgentOptions): Promise<Resumed> {
  const { resume, continue: latest } = options;
  if (typeof resume !== "string" && !latest) return { options };
  const { settings } = await loadedSettings(options);
  const store = await storeOf(options.io, settings);
  const all = await store.threads();
  await store.close();
  const folder = realFolder(options.io, settings.tools.workDir ?? ".");
  const thread =
    typeof resume === "string"
      ? all.find((each) => each.thread === resume)
      : all.findLast((each) => each.parent === undefined && isHere(each, options, folder));
  if (thread !== undefined) return { options: { ...restored(thread, options), resume: thread.thread }, thread };
  if (typeof resume !== "string") {
    const where = options.target === undefined ? folder : options.target;
    throw new Error(`there is no thread to continue in ${where}. Leave out --continue to start one`);
  }
  throw new Error(
    `there is no thread ${resume}. \`handrail run --resume\` lists those of this folder, as /resume does in a chat`,
  );
}

/**
 * Lists the conversations of this folder on the terminal and lets the person choose one. Resolves to its id;
 * `undefined`: the person begins a new one, or there are none.
 */
export async function chooseThread(options: AgentOptions): Promise<string | undefined> {
  const { settings } = await loadedSettings(options);
  const folder = realFolder(options.io, options.target === undefined ? (settings.tools.workDir ?? ".") : ".");
  const store = await storeOf(options.io, settings);
  const rows = await sessionRows(store, folder, { columns: (options.io.stdout.columns ?? 80) - 4 });
  await store.close();
  if (rows.length === 0) say(options.io, "There are no threads in this folder yet.");
  for (const [index, { label }] of rows.entries())
    say(options.io, `${String(index + 1).padStart(2)}  ${label}`.trimEnd());
  for (let question = "Continue which one? Its number, or Enter for a new one: "; rows.length > 0;) {
    const answer = await lineOnTerminal(options.io, question, new AbortController().signal);
    const line = typeof answer === "string" ? "" : answer.line.trim();
    if (line === "") return undefined;
    const row = rows[Number(line) - 1];
    if (row !== undefined) return row.thread;
    question = `Expected a number from 1 to ${rows.length}, got ${oneLine(line, 40)}: `;
  }
  return undefined;
}

/** Returns the error for a thread whose original options no longer work, with what to do. */
export function notContinued({ options, thread }: Resumed, error: unknown): unknown {
  if (thread === undefined) return error;
  const hint = error instanceof ToolFailure && error.hint !== undefined ? `${error.hint} ` : "";
  const flags = flagsOf(options).join(" ");
  return new ToolFailure(
    `thread ${thread.thread} cannot be continued as it was started (${flags}): ${messageOf(error)}`,
    {
      hint:
        `${hint}Nothing was run. An option that you give replaces the recorded one; to continue the thread somewhere ` +
        `else, start \`handrail chat\` there and type /resume ${thread.thread}`,
    },
  );
}

/** Returns a sentence for a thread that continues in another place than before; `undefined` if it is the same. */
export function moved({ target, workDir }: ThreadSummary, { name, workDir: folder }: Backend): string | undefined {
  if (target === undefined || (machineOf(target) === machineOf(name) && workDir === folder)) return undefined;
  const [before, now] = [`${machineOf(target)}:${workDir}`, `${machineOf(name)}:${folder}`];
  return `This thread worked on ${before}. It continues on ${now}.`;
}

function restored({ target = "local", workDir, startedWith: recorded = {} }: ThreadSummary, options: AgentOptions) {
  const { from: _, target: named = machineOf(target), ...others } = recorded;
  const kept: { [name: string]: string } = others;
  if (workDir !== undefined) kept["workDir"] = workDir;
  if (named !== "local") kept["target"] = named;
  const isMoved = options.target !== undefined && options.target !== named;
  const replaced = [
    ...(isMoved ? ["workDir", "tmuxSession"] : []),
    ...(options.tmux ? ["tmuxSession"] : []),
    ...(options.agent === undefined ? [] : ["preset", "model", "baseUrl"]),
    ...(options.model === undefined ? [] : ["baseUrl"]),
  ];
  for (const name of replaced) delete kept[name];
  const { continue: __, ...given } = options;
  return { ...kept, ...given };
}

/** Whether `--continue` means this thread: it was started here, on the named target if there is one. */
function isHere({ target, workDir, startedWith: recorded = {} }: ThreadSummary, options: AgentOptions, folder: string) {
  if (options.target !== undefined) {
    return (recorded["target"] ?? target) === options.target && recorded["workDir"] === options.workDir;
  }
  const isLocal = machineOf(target ?? "") === "local";
  return isLocal ? workDir === folder : options.workDir === undefined && recorded["from"] === folder;
}

function realFolder(io: Io, path: string): string {
  return tried(() => realpathSync(resolve(io.cwd, path))) ?? resolve(io.cwd, path);
}
