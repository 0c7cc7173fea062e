import { type Agent, type AgentEvent, createAgent } from "../../agent/agent.ts";
import { openParts } from "../agent-parts.ts";
import { approveAll, terminalApprover } from "../approver.ts";
import { callSubject } from "../call-title.ts";
import { EXIT } from "../exit.ts";
import type { AgentOptions } from "../options.ts";
import { startedWith } from "../resume.ts";
import { isPlain, plainView } from "../plain.ts";
import { type RunView, jsonView, textView } from "../run-view.ts";
import { untilStopped } from "../signals.ts";
import { readStdin } from "../stdin.ts";
import { warn } from "../say.ts";
import { commandToContinue } from "../threads.ts";
import { inWorktree } from "../worktree.ts";

export interface RunOptions extends AgentOptions {
  readonly json?: true;
}

/**
 * Gives an agent one prompt and shows its work: text on stdout and progress on stderr, or with `json` each event as a
 * line of JSON. Without a prompt, continues a turn whose calls were parked. Exit code 0 when the model has given its
 * answer, 1 when the turn ended in another way, or a call was denied because nobody could be asked.
 */
export async function run(words: string | undefined, options: RunOptions): Promise<number | void> {
  return await inWorktree(options, (own) => runHere(words, own));
}

async function runHere(words: string | undefined, options: RunOptions): Promise<number | void> {
  const parts = await openParts(options, options.yes ? approveAll : terminalApprover(options.io));
  if (parts === undefined) return;
  const { thread, options: resumed, name } = parts;
  const { model, toolkit, instructions, limits, disable, agents, skills } = parts;
  const stopped = untilStopped(options.io);
  try {
    const prompt = words ?? (options.io.stdin.isTTY ? "" : (await readStdin(options.io)).trim());
    const hasParked = thread !== undefined && (await toolkit.store.parked({ thread: thread.thread })).length > 0;
    if (prompt === "" && !hasParked)
      throw new Error('there is no prompt. Give one: handrail run "what to do", or write it to stdin');
    if (thread !== undefined && !options.json)
      warn(options.io, [`continues thread ${thread.thread}: ${thread.title ?? ""}`]);
    const agent = await createAgent({
      ...{ model, toolkit, instructions, limits, disable, agents, skills, startedWith: startedWith(resumed) },
      ...(name !== undefined && { name }),
      ...(thread !== undefined && { thread: thread.thread }),
    });
    const toContinue = commandToContinue(agent.thread, resumed);
    const subjectOf = (tool: string, input: string) => callSubject(agent.tools, tool, input);
    const worded = isPlain(options.io, options)
      ? plainView(options.io, toContinue, subjectOf)
      : textView(options.io, toContinue);
    const view = options.json ? jsonView(options.io, agent.thread) : worded;
    return await follow(agent, prompt === "" ? undefined : prompt, view, stopped.signal);
  } finally {
    await parts.close();
    stopped.release();
  }
}

/** Follows until the turn has ended, and the turns that jobs start. */
async function follow(agent: Agent, prompt: string | undefined, view: RunView, signal: AbortSignal): Promise<number> {
  const events = agent.events();
  const stop = () => void agent.close();
  signal.addEventListener("abort", stop, { once: true });
  void (prompt === undefined ? agent.resume() : agent.send(prompt));
  let end: Extract<AgentEvent, { type: "end" }> | undefined;
  let unasked = 0;
  for await (const event of events) {
    await view.show(event);
    if (event.type !== "end") continue;
    end = event;
    unasked += event.unasked;
    if (event.reason !== "done" || event.waitingFor.length === 0) break;
  }
  signal.removeEventListener("abort", stop);
  await agent.close();
  return end?.reason === "done" && unasked === 0 && !signal.aborted ? EXIT.ok : EXIT.notSucceeded;
}
