import type { Limits } from "../agent/agent.ts";
import { type ModelSettings, parseModel } from "../agent/models/load.ts";
import type { GlobalOptions } from "./options.ts";
import { loadedSettings } from "./settings.ts";

/** The settings of an agent, from files and options. */
export interface AgentSettings {
  readonly model: ModelSettings | undefined;
  /** The toolset of the named agent. */
  readonly preset?: string;
  readonly instructions?: string;
  /** The size of core memories in the instructions, in bytes. */
  readonly coreBytes?: number;
  readonly limits: Limits;
  /** `tools.disable`. Applied here too, because an agent adds tools to those of its toolkit. */
  readonly disable: readonly string[];
  /** What has no effect in a project's file. `toolkitOptions` prints this too. */
  readonly notices: readonly string[];
}

/**
 * Combines the model, toolset and instructions: options override the named agent (`--agent`), which overrides the
 * configuration.
 *
 * @throws Error when there is no agent of that name, or the model is not PROVIDER:NAME of a known provider.
 */
export async function agentSettings(
  options: GlobalOptions & { readonly model?: string; readonly baseUrl?: string; readonly agent?: string },
): Promise<AgentSettings> {
  const { settings, notices } = await loadedSettings(options); // `toolkitOptions` prints the notices
  const agent = options.agent === undefined ? undefined : settings.agents[options.agent];
  if (options.agent !== undefined && agent === undefined) {
    const names = Object.keys(settings.agents).join(", ") || "none; write them under agents in the configuration";
    throw new Error(`there is no agent "${options.agent}". Agents: ${names}`);
  }
  const configured = agent?.model ?? settings.model;
  const named = options.model === undefined ? undefined : parseModel(options.model);
  // A model of the same provider uses the same connection settings.
  const model = named?.provider === configured?.provider ? { ...configured, ...named } : named;
  const chosen = named === undefined ? configured : (model as ModelSettings);
  return {
    model: chosen && { ...chosen, ...(options.baseUrl !== undefined && { baseUrl: options.baseUrl }) },
    ...(agent?.toolset !== undefined && options.preset === undefined && { preset: agent.toolset }),
    ...(agent?.instructions !== undefined && { instructions: agent.instructions }),
    ...(settings.memory.coreBytes !== undefined && { coreBytes: settings.memory.coreBytes }),
    disable: settings.tools.disable,
    notices,
    limits: {
      ...agent?.limits,
      ...(chosen?.context !== undefined && { context: chosen.context }),
      ...(chosen?.price !== undefined && { price: chosen.price }),
    },
  };
}
