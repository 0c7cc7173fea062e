import { resolve } from "node:path";
import { findTarget } from "../machine/targets.ts";
import type { ThreadSummary } from "../core/contract/activity.ts";
import type { Toolkit } from "../core/contract/toolkit.ts";
import { machineOf } from "../core/call/park.ts";
import { oneLine } from "../core/output/terminal-text.ts";
import { quoteWords } from "../core/util/quote.ts";
import { localTime } from "./local-time.ts";
import type { AgentOptions } from "./options.ts";

/**
 * Returns the thread with this id.
 *
 * @throws Error when there is no such thread.
 */
export async function findThread({ store }: Toolkit, id: string): Promise<ThreadSummary> {
  const found = (await store.threads()).find(({ thread }) => thread === id);
  if (found !== undefined) return found;
  throw new Error(`there is no thread ${id}. /resume lists those of this folder`);
}

/**
 * The command that continues a thread, in any folder, with the options of this run. Approval (`--yes`) is not part of
 * it.
 */
export function commandToContinue(thread: string, options: AgentOptions): string {
  return quoteWords(["handrail", "chat", "--resume", thread, ...flagsOf(options)]);
}

/** Returns the options that choose the place, the toolset and the model, as words of a command line. */
export function flagsOf(options: AgentOptions): readonly string[] {
  const { target, targets, workDir, config, tmux, tmuxSession = tmux && "handrail" } = options;
  const [targetFlag = ""] = findTarget(target, targets)?.kind.commandLine?.flag.split(" ") ?? [];
  const all = {
    ...(targetFlag !== "" && { [targetFlag]: target }),
    "--work-dir": target === undefined ? workDir && resolve(options.io.cwd, workDir) : workDir,
    "--config": config && resolve(options.io.cwd, config),
    "--preset": options.preset,
    "--tmux-session": tmuxSession,
    "--autonomy": options.autonomy,
    "--sandbox": options.sandbox,
    "--model": options.model,
    "--base-url": options.baseUrl,
    "--agent": options.agent,
  };
  return Object.entries(all).flatMap(([flag, value]) => (typeof value === "string" ? [flag, value] : []));
}

/**
 * Returns a line for each thread of this target and working directory: its id, when it changed, its first words. The
 * newest is last.
 */
export async function listThreads(toolkit: Toolkit): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const { thread, changedMs, title = "" } of await threadsHere(toolkit)) {
    lines.push(`${thread}  ${localTime(changedMs).slice(0, 16)}  ${oneLine(title, 80)}`);
  }
  return lines.length > 0 ? lines : ["(no threads in this folder)"];
}

/** Returns the threads that were not started by a call, newest last. */
async function threadsHere({ store, backend }: Toolkit): Promise<readonly ThreadSummary[]> {
  return (await store.threads()).filter(
    ({ target, workDir, parent }) =>
      machineOf(target ?? "") === machineOf(backend.name) && workDir === backend.workDir && parent === undefined,
  );
}
