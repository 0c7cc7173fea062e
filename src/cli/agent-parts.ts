import type { LanguageModelV3 } from "@ai-sdk/provider";
import { join } from "node:path";
import {
  type Limits,
  type Skill,
  type SubAgents,
  buildInstructions,
  readSkills,
  withSubAgents,
} from "../agent/agent.ts";
import { type LoadedModel, type ModelSettings, loadModel } from "../agent/models/load.ts";
import { configFolder, homeOf, keyFile } from "../app/config/state.ts";
import type { McpChoices } from "../app/config/mcp.ts";
import type { ThreadSummary } from "../core/contract/activity.ts";
import type { Approver, Autonomy } from "../core/contract/policy.ts";
import type { Toolkit } from "../core/contract/toolkit.ts";
import type { McpSource } from "../tools/mcp/source.ts";
import { createToolkit } from "../app/toolkit.ts";
import { messageOf } from "../core/util/errors.ts";
import { agentSettings } from "./agent-settings.ts";
import { usualModel } from "./keys.ts";
import type { AgentOptions } from "./options.ts";
import { type Resumed, moved, notContinued, resumed } from "./resume.ts";
import { type ToolkitNeeds, keptKeys, tellHowToAttach, toolkitOptions } from "./settings.ts";
import { note, say, warn } from "./say.ts";
import { loadSubAgents } from "./sub-agents.ts";
import { listThreads } from "./threads.ts";
import type { Io } from "./io.ts";

/** The arguments of `createAgent`, as options and files set them. */
export interface AgentParts {
  readonly model: LanguageModelV3;
  readonly toolkit: Toolkit;
  readonly instructions: string;
  /** What `instructions` were built from: `InstructionsOptions`. */
  readonly builtFrom: { readonly own?: string; readonly coreBytes?: number };
  readonly limits: Limits;
  /** The autonomy of the policy. */
  readonly autonomy: Autonomy;
  readonly disable: readonly string[];
  /** The skills of the user and of the project. */
  readonly skills: readonly Skill[];
  /** The configured agents, and the name of this agent if it is one of them. */
  readonly agents: SubAgents;
  readonly name?: string;
  /** The given options, combined with those of the thread to continue. The given options win. */
  readonly options: AgentOptions;
  /** The thread to continue; `undefined` for a new one. */
  readonly thread: ThreadSummary | undefined;
  /** The MCP servers of the configuration. */
  readonly servers: readonly McpSource[];
  /** Closes the toolkit. Prints errors that occur. */
  close(): Promise<void>;
}

/**
 * Loads the model and opens the toolkit. `tell` is called with news about plugins and servers; `servers` are started in
 * addition to those of the configuration. With `--show-prompt`, or
 * `--resume` without an id, prints the requested text and returns `undefined`.
 *
 * @throws Error with the next step: no model, no key, no such agent or thread, and what `createToolkit` throws.
 */
export async function openParts(
  given: AgentOptions,
  approver: Approver | undefined,
  tell?: ToolkitNeeds["tell"],
  servers?: McpChoices,
): Promise<AgentParts | undefined> {
  const continued = await resumed(given);
  try {
    return await openWith(continued, approver, tell, servers);
  } catch (error) {
    throw notContinued(continued, error);
  }
}

async function openWith(
  { options, thread }: Resumed,
  approver: Approver | undefined,
  tell: ToolkitNeeds["tell"] = (text) => warn(options.io, [text]),
  added: McpChoices = {},
): Promise<AgentParts | undefined> {
  const { preset, instructions: own, coreBytes, notices, ...settings } = await agentSettings(options);
  const onlyPrints = options.showPrompt === true || options.resume === true;
  if (settings.model === undefined && !onlyPrints) warn(options.io, notices); // such as a model that needs trust
  const loaded = onlyPrints
    ? undefined
    : await modelFor(options.io, settings.model ?? (await usualModel(options.io, tell)));
  const given = await toolkitOptions(
    { ...options, ...(preset !== undefined && { preset }) },
    { sources: !onlyPrints, servers: added, tell },
  );
  const others = await loadSubAgents(options, onlyPrints ? "none" : "all");
  const toolkit = await createToolkit({
    ...given,
    mask: { values: [...(await keptKeys(options.io)), ...(loaded?.keys ?? []), ...others.keys] },
    ...(approver !== undefined && { approver }),
  });
  const close = () => toolkit.close().catch((error: unknown) => note(options.io, `handrail: ${messageOf(error)}`));
  try {
    const builtFrom = { ...(own !== undefined && { own }), ...(coreBytes !== undefined && { coreBytes }) };
    const agents = others.of(toolkit);
    const name = options.agent;
    const tools = settings.disable.includes("delegate")
      ? toolkit
      : withSubAgents(toolkit, { agents, ...(name !== undefined && { name }) });
    const instructions = await buildInstructions(tools, builtFrom);
    if (loaded !== undefined) {
      await tellHowToAttach(options.io, toolkit, tell);
      const limits = { ...settings.limits, ...limitsOf(options) };
      const elsewhere = thread && moved(thread, toolkit.backend);
      if (elsewhere !== undefined) tell(elsewhere);
      const servers = (given.sources ?? []).filter((source): source is McpSource => "prompts" in source);
      return {
        ...{ model: loaded.model, toolkit, instructions, builtFrom, limits, disable: settings.disable, close, servers },
        agents,
        skills: await skillsOf(options.io, options.target === undefined ? toolkit.backend.workDir : undefined, tell),
        ...(name !== undefined && { name }),
        ...{ options, thread, autonomy: given.policy?.autonomy ?? "supervised" },
      };
    }
    const printed = options.showPrompt ? instructions : (await listThreads(toolkit)).join("\n");
    say(options.io, printed);
  } catch (error) {
    await close();
    throw error;
  }
  await close();
  return undefined;
}

/** Where people and projects keep skills, in their home or the workspace: the open format names no single place. */
const SKILL_FOLDERS = [".agents/skills", ".claude/skills"];

/** Reads the user's skills and the project's. Of two skills with the same name, the user's counts. */
export async function skillsOf(
  io: Io,
  workspace: string | undefined,
  tell: (text: string) => void,
): Promise<readonly Skill[]> {
  const user = [join(configFolder(io.env), "skills"), ...SKILL_FOLDERS.map((folder) => join(homeOf(io.env), folder))];
  const project = workspace === undefined ? [] : SKILL_FOLDERS.map((folder) => join(workspace, folder));
  const folders = [
    ...user.map((path) => ({ path, by: "user" as const })),
    ...project.map((path) => ({ path, by: "project" as const, ...(workspace !== undefined && { within: workspace }) })),
  ];
  return readSkills(folders, tell);
}

/** Loads a model with the user's keys. Rejects like `loadModel`. */
export function modelFor(io: Io, settings: ModelSettings): Promise<LoadedModel> {
  return loadModel(settings, { keyFile: keyFile(io.env), env: io.env });
}

function limitsOf({ maxRounds, maxTime, maxTokens, maxCost }: AgentOptions): Limits {
  return {
    ...(maxRounds !== undefined && { rounds: maxRounds }),
    ...(maxTime !== undefined && { timeMs: maxTime * 1_000 }),
    ...(maxTokens !== undefined && { tokens: maxTokens }),
    ...(maxCost !== undefined && { cost: maxCost }),
  };
}
