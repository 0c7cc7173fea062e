import type { ThreadSummary } from "../contract/activity.ts";
import type { Toolkit } from "../contract/toolkit.ts";
import { oneLine } from "../output/terminal-text.ts";
import { quoteWords } from "../util/quote.ts";
import { localTime } from "./local-time.ts";

/**
 * Returns the thread that `--continue` or `--resume ID` names; `undefined` without these options.
 *
 * @throws Error when there is no such thread.
 */
export async function threadFor(
  toolkit: Toolkit,
  { resume, continue: latest }: { readonly resume?: string | true; readonly continue?: true },
): Promise<string | undefined> {
  if (latest) {
    const last = (await threadsHere(toolkit)).at(-1);
    if (last !== undefined) return last.thread;
    throw new Error(`there is no thread to continue in ${toolkit.backend.workDir}. Leave out --continue to start one`);
  }
  if (typeof resume !== "string") return undefined;
  const all = await toolkit.store.threads();
  if (all.some(({ thread }) => thread === resume)) return resume;
  throw new Error(
    `there is no thread ${resume}. \`handrail run --resume\` lists those of this folder, as /resume does in a chat`,
  );
}

/** The command that continues a thread, with the options that chose the model of this one. */
export function commandToContinue(
  thread: string,
  {
    model,
    baseUrl,
    agent,
  }: { readonly model?: string; readonly baseUrl?: string | undefined; readonly agent?: string },
): string {
  const options = Object.entries({ "--model": model, "--base-url": baseUrl, "--agent": agent });
  const given = options.flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]));
  return quoteWords(["handrail", "chat", "--resume", thread, ...given]);
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

/** The target without its sandbox: a thread is continued whether commands are contained or not. */
function machineOf(target: string): string {
  return target.replace(/^sandbox\((.*)\)$/, "$1");
}
