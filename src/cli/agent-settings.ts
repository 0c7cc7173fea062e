import type { Limits } from "../agent/agent.ts";
import { type ModelSettings, parseModel } from "../agent/models/load.ts";
import type { GlobalOptions } from "./options.ts";
import { loadedSettings } from "./settings.ts";

/** What files and options say of an agent. */
export interface AgentSettings {
  readonly model: ModelSettings | undefined;
  /** The toolset of the agent that is named. */
  readonly preset?: string;
  readonly instructions?: string;
  /** Bytes of core memories in the instructions. */
  readonly coreBytes?: number;
  readonly limits: Limits;
}

/**
 * Puts together the model, toolset and instructions: options over the named agent (`--agent`), over the configuration.
 *
 * @throws Error when there is no agent of that name, and for a model that is not PROVIDER:NAME of a known provider.
 */
export async function agentSettings(
  options: GlobalOptions & { readonly model?: string; readonly baseUrl?: string; readonly agent?: string },
): Promise<AgentSettings> {
  const { settings } = await loadedSettings(options); // `toolkitOptions` prints the notices
  const agent = options.agent === undefined ? undefined : settings.agents[options.agent];
  if (options.agent !== undefined && agent === undefined) {
    const names = Object.keys(settings.agents).join(", ") || "none; write them under agents in the configuration";
    throw new Error(`there is no agent "${options.agent}". Agents: ${names}`);
  }
  const configured = agent?.model ?? settings.model;
  const named = options.model === undefined ? undefined : parseModel(options.model);
  // A model of the same provider is reached in the same way.
  const model = named?.provider === configured?.provider ? { ...configured, ...named } : named;
  const chosen = named === undefined ? configured : (model as ModelSettings);
  return {
    model: chosen && { ...chosen, ...(options.baseUrl !== undefined && { baseUrl: options.baseUrl }) },
    ...(agent?.toolset !== undefined && options.preset === undefined && { preset: agent.toolset }),
    ...(agent?.instructions !== undefined && { instructions: agent.instructions }),
    ...(settings.memory.coreBytes !== undefined && { coreBytes: settings.memory.coreBytes }),
    limits: chosen?.context === undefined ? {} : { context: chosen.context },
  };
}
