import type { LanguageModelV3 } from "@ai-sdk/provider";
import { type Limits, buildInstructions } from "../agent/agent.ts";
import { type LoadedModel, type ModelSettings, loadModel } from "../agent/models/load.ts";
import { keyFile } from "../config/state.ts";
import type { Approver } from "../contract/policy.ts";
import type { Toolkit } from "../contract/toolkit.ts";
import { createToolkit } from "../toolkit.ts";
import { messageOf } from "../util/errors.ts";
import { agentSettings } from "./agent-settings.ts";
import type { GlobalOptions } from "./options.ts";
import { toolkitOptions } from "./settings.ts";
import { listThreads, threadFor } from "./threads.ts";

/** The options of commands that start an agent. */
export interface AgentOptions extends GlobalOptions {
  readonly model?: string;
  readonly baseUrl?: string;
  readonly agent?: string;
  /** true: no id was given. */
  readonly resume?: string | true;
  readonly continue?: true;
  readonly showPrompt?: true;
  readonly maxRounds?: number;
  readonly maxTime?: number;
  readonly maxTokens?: number;
}

/** What `createAgent` takes, as the options and files have it. */
export interface AgentParts {
  readonly model: LanguageModelV3;
  readonly toolkit: Toolkit;
  readonly instructions: string;
  readonly limits: Limits;
  /** The thread to continue; `undefined`: a new one. */
  readonly thread: string | undefined;
  /** Closes the toolkit. What goes wrong with that is printed. */
  close(): Promise<void>;
}

/**
 * Loads the model and opens the toolkit. With `--show-prompt` or `--resume` alone it prints what these ask for and returns `undefined`.
 *
 * @throws Error with the next step: no model, no key, no such agent or thread, and what `createToolkit` throws.
 */
export async function openParts(
  options: AgentOptions,
  approver: Approver | undefined,
): Promise<AgentParts | undefined> {
  const { preset, instructions: own, coreBytes, ...settings } = await agentSettings(options);
  const onlyPrints = options.showPrompt === true || options.resume === true;
  const loaded = onlyPrints ? undefined : await modelFor(settings.model);
  const toolkit = await createToolkit({
    ...(await toolkitOptions({ ...options, ...(preset !== undefined && { preset }) })),
    mask: { values: loaded?.keys ?? [] },
    ...(approver !== undefined && { approver }),
  });
  const close = () =>
    toolkit.close().catch((error: unknown) => void process.stderr.write(`handrail: ${messageOf(error)}\n`));
  try {
    const instructions = await buildInstructions(toolkit, {
      ...(own !== undefined && { own }),
      ...(coreBytes !== undefined && { coreBytes }),
    });
    if (loaded !== undefined) {
      const limits = { ...settings.limits, ...limitsOf(options) };
      return { model: loaded.model, toolkit, instructions, limits, thread: await threadFor(toolkit, options), close };
    }
    const printed = options.showPrompt ? instructions : (await listThreads(toolkit)).join("\n");
    process.stdout.write(`${printed}\n`);
  } catch (error) {
    await close();
    throw error;
  }
  await close();
  return undefined;
}

/** Loads a model with the user's keys. Fails like `loadModel`, and where none is chosen. */
export async function modelFor(settings: ModelSettings | undefined): Promise<LoadedModel> {
  if (settings !== undefined) return await loadModel(settings, { keyFile: keyFile() });
  throw new Error(
    "no model is chosen. Pass --model PROVIDER:NAME (openai, anthropic, google, openai-compatible), or set model in the configuration. " +
      "--model demo needs no key.",
  );
}

function limitsOf({ maxRounds, maxTime, maxTokens }: AgentOptions): Limits {
  return {
    ...(maxRounds !== undefined && { rounds: maxRounds }),
    ...(maxTime !== undefined && { timeMs: maxTime * 1_000 }),
    ...(maxTokens !== undefined && { tokens: maxTokens }),
  };
}
