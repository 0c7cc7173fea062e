import { type Agent, type AgentEvent, type Limits, buildInstructions, createAgent } from "../../agent/agent.ts";
import { type ModelSettings, loadModel } from "../../agent/models/load.ts";
import type { ThreadSummary } from "../../contract/activity.ts";
import type { Toolkit } from "../../contract/toolkit.ts";
import { keyFile } from "../../config/state.ts";
import { oneLine } from "../../output/terminal-text.ts";
import { createToolkit } from "../../toolkit.ts";
import { messageOf } from "../../util/errors.ts";
import { approveAll, terminalApprover } from "../approver.ts";
import { agentSettings } from "../agent-settings.ts";
import { EXIT } from "../exit.ts";
import { readStdin } from "../stdin.ts";
import type { GlobalOptions } from "../options.ts";
import { toolkitOptions } from "../settings.ts";
import { untilStopped } from "../signals.ts";
import { type RunView, jsonView, textView } from "../run-view.ts";

export interface RunOptions extends GlobalOptions {
  readonly model?: string;
  readonly baseUrl?: string;
  readonly agent?: string;
  readonly json?: true;
  /** true: no id was given. */
  readonly resume?: string | true;
  readonly continue?: true;
  readonly showPrompt?: true;
  readonly maxRounds?: number;
  readonly maxTime?: number;
  readonly maxTokens?: number;
}

/**
 * Gives an agent one prompt and shows its work: the text on stdout, progress on stderr, or with `json` each event as a line of JSON. Exit code 0: the
 * model has given its answer; 1: the turn ended in another way.
 */
export async function run(words: string | undefined, options: RunOptions): Promise<void> {
  const { preset, instructions: own, coreBytes, ...settings } = await agentSettings(options);
  const { model, keys } =
    options.showPrompt || options.resume === true ? { model: undefined, keys: [] } : await modelFor(settings.model);
  const approver = options.yes ? approveAll : terminalApprover();
  const given = await toolkitOptions({ ...options, ...(preset !== undefined && { preset }) });
  const toolkit = await createToolkit({
    ...given,
    mask: { values: keys },
    ...(approver !== undefined && { approver }),
  });
  const stopped = untilStopped();
  try {
    const instructions = await buildInstructions(toolkit, {
      ...(own !== undefined && { own }),
      ...(coreBytes !== undefined && { coreBytes }),
    });
    if (options.showPrompt) return void process.stdout.write(`${instructions}\n`);
    if (options.resume === true) return await listThreads(toolkit);
    if (model === undefined) return;
    const thread = await threadFor(toolkit, options);
    const prompt = words ?? (process.stdin.isTTY ? "" : (await readStdin()).trim());
    if (prompt === "") throw new Error('there is no prompt. Give one: handrail run "what to do", or write it to stdin');
    const limits = { ...settings.limits, ...limitsOf(options) };
    const agent = await createAgent({ model, toolkit, instructions, ...(thread !== undefined && { thread }), limits });
    const view = options.json ? jsonView(agent.thread) : textView(agent.thread);
    await follow(agent, prompt, view, stopped.signal);
  } finally {
    await toolkit.close().catch((error: unknown) => process.stderr.write(`handrail: ${messageOf(error)}\n`));
    stopped.release();
  }
}

async function modelFor(settings: ModelSettings | undefined) {
  if (settings !== undefined) return await loadModel(settings, { keyFile: keyFile() });
  throw new Error(
    "no model is chosen. Pass --model PROVIDER:NAME (openai, anthropic, google, openai-compatible), or set model in the configuration. " +
      "--model demo needs no key.",
  );
}

/** Until the turn has ended, and those that jobs start. */
async function follow(agent: Agent, prompt: string, view: RunView, signal: AbortSignal): Promise<void> {
  const events = agent.events();
  const stop = () => void agent.close();
  signal.addEventListener("abort", stop, { once: true });
  void agent.send(prompt);
  let end: Extract<AgentEvent, { type: "end" }> | undefined;
  for await (const event of events) {
    view.show(event);
    if (event.type !== "end") continue;
    end = event;
    if (event.reason !== "done" || event.waitingFor.length === 0) break;
  }
  signal.removeEventListener("abort", stop);
  await agent.close();
  process.exitCode = end?.reason === "done" && !signal.aborted ? EXIT.ok : EXIT.notSucceeded;
}

function limitsOf({ maxRounds, maxTime, maxTokens }: RunOptions): Limits {
  return {
    ...(maxRounds !== undefined && { rounds: maxRounds }),
    ...(maxTime !== undefined && { timeMs: maxTime * 1_000 }),
    ...(maxTokens !== undefined && { tokens: maxTokens }),
  };
}

/** The thread to continue; `undefined`: a new one. */
async function threadFor(toolkit: Toolkit, { resume, continue: latest }: RunOptions): Promise<string | undefined> {
  if (typeof resume !== "string" && latest === undefined) return undefined;
  const threads = await threadsHere(toolkit);
  if (latest) {
    const last = threads.at(-1);
    if (last !== undefined) return last.thread;
    throw new Error(`there is no thread to continue in ${toolkit.backend.workDir}. Leave out --continue to start one`);
  }
  const all = await toolkit.store.threads();
  if (all.some(({ thread }) => thread === resume)) return String(resume);
  throw new Error(`there is no thread ${String(resume)}. \`handrail run --resume\` lists those of this folder`);
}

/** Those of this target and working directory that no call has started, the newest last. */
async function threadsHere({ store, backend }: Toolkit): Promise<readonly ThreadSummary[]> {
  return (await store.threads()).filter(
    ({ target, workDir, parent }) => target === backend.name && workDir === backend.workDir && parent === undefined,
  );
}

async function listThreads(toolkit: Toolkit): Promise<void> {
  const threads = await threadsHere(toolkit);
  if (threads.length === 0) process.stdout.write("(no threads in this folder)\n");
  for (const { thread, changedMs, title = "" } of threads) {
    process.stdout.write(`${thread}  ${new Date(changedMs).toISOString().slice(0, 16)}  ${oneLine(title, 80)}\n`);
  }
}
