import type { ThreadSummary } from "../contract/activity.ts";
import type { Toolkit } from "../contract/toolkit.ts";
import { oneLine } from "../output/terminal-text.ts";

/**
 * The thread that `--continue` or `--resume ID` names; `undefined` without them.
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
  throw new Error(`there is no thread ${resume}. \`handrail run --resume\` lists those of this folder`);
}

/** A line for each thread of this target and working directory: its id, when it changed, its first words. The newest is last. */
export async function listThreads(toolkit: Toolkit): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const { thread, changedMs, title = "" } of await threadsHere(toolkit)) {
    lines.push(`${thread}  ${new Date(changedMs).toISOString().slice(0, 16)}  ${oneLine(title, 80)}`);
  }
  return lines.length > 0 ? lines : ["(no threads in this folder)"];
}

/** Those that no call has started, the newest last. */
async function threadsHere({ store, backend }: Toolkit): Promise<readonly ThreadSummary[]> {
  return (await store.threads()).filter(
    ({ target, workDir, parent }) => target === backend.name && workDir === backend.workDir && parent === undefined,
  );
}
