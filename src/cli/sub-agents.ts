import { type SubAgentOptions, type SubAgents, withSubAgents } from "../agent/agent.ts";
import { type LoadedModel, type ModelSettings, loadModel } from "../agent/models/load.ts";
import { keyFile } from "../app/config/state.ts";
import type { AgentChoice } from "../app/config/values.ts";
import { sandboxedBy } from "../core/contract/containment.ts";
import type { Tool } from "../core/contract/tool.ts";
import type { Toolkit } from "../core/contract/toolkit.ts";
import { BUILT_IN } from "../tools/presets/built-in.ts";
import { chosenTools, sourceChoice } from "../tools/presets/choose.ts";
import { messageOf } from "../core/util/errors.ts";
import { usualModel } from "./keys.ts";
import type { GlobalOptions } from "./options.ts";
import { loadedSettings, toolChoice } from "./settings.ts";
import { warn } from "./say.ts";

/** The configured agents, with their models loaded. */
export interface ConfiguredAgents {
  /** The API keys of their models, which must be masked. */
  readonly keys: readonly string[];
  /** Returns the agents as `createAgent` takes them. */
  of(toolkit: Toolkit): SubAgents;
}

/** The configured agents for callers that are no agents, and the model of agents that have none of their own. */
export interface Delegation {
  readonly keys: readonly string[];
  /** Returns the toolkit with `delegate`. Closing it does not close the given one. */
  over(toolkit: Toolkit): Toolkit;
}

/** As `loadDelegation`, for a configuration that has agents. */
export async function delegationOf(options: GlobalOptions, models: "all" | "none"): Promise<Delegation> {
  const { settings } = await loadedSettings(options);
  const chosen =
    models === "none" ? undefined : (settings.model ?? (await usualModel(options.io, () => {}).catch(() => undefined)));
  const load = (model: ModelSettings) =>
    loadModel(model, { keyFile: keyFile(options.io.env), env: options.io.env }).catch((error: unknown) => {
      warn(options.io, [messageOf(error)]);
      return undefined;
    });
  const loaded = chosen && (await load(chosen));
  const agents = await loadSubAgents(options, models);
  const limits = {
    ...(chosen?.context !== undefined && { context: chosen.context }),
    ...(chosen?.price !== undefined && { price: chosen.price }),
  };
  return {
    keys: [...agents.keys, ...(loaded?.keys ?? [])],
    over: (toolkit) =>
      withSubAgents(toolkit, {
        agents: agents.of(toolkit),
        limits,
        ...(loaded !== undefined && { model: loaded.model }),
      }),
  };
}

/** Loads the models of the configured agents. Omits an agent whose model cannot be loaded, and prints why to stderr. */
export async function loadSubAgents(options: GlobalOptions, models: "all" | "none" = "all"): Promise<ConfiguredAgents> {
  const { settings } = await loadedSettings(options);
  const { memory } = settings;
  const loaded: { readonly name: string; readonly agent: AgentChoice; readonly own?: LoadedModel }[] = [];
  for (const [name, agent] of Object.entries(settings.agents)) {
    try {
      const own =
        models === "none"
          ? undefined
          : agent.model && (await loadModel(agent.model, { keyFile: keyFile(options.io.env), env: options.io.env }));
      loaded.push({ name, agent, ...(own !== undefined && { own }) });
    } catch (error) {
      const why = `agent ${name} is not available: ${messageOf(error)}`;
      warn(options.io, [why]);
    }
  }

  /**
   * Returns the tools of a toolset: built-in tools, and the tools that plugins and servers provide at the time of the
   * call.
   */
  const toolsOf = (preset: string, toolkit: Toolkit): (() => readonly Tool[]) => {
    const { sandbox, terminal, shell } = toolkit.backend;
    const choice = { ...toolChoice(options.io, settings), preset };
    const own = chosenTools(choice, {
      ...{ sandboxed: sandboxedBy(sandbox), terminal: terminal !== undefined, hasSources: true },
      ...(shell !== undefined && { shell }),
      ...(memory.scope !== undefined && { memoryScope: memory.scope }),
    });
    const { choose } = sourceChoice(choice);
    const isForeign = ({ name, touches }: Tool) => touches.includes("foreign") || !Object.hasOwn(BUILT_IN, name);
    return () => [...own, ...[...toolkit.tools.values()].filter(isForeign).flatMap((tool) => choose(tool) ?? [])];
  };

  return {
    keys: loaded.flatMap(({ own }) => own?.keys ?? []),
    of(toolkit) {
      const all = loaded.map(({ name, agent, own }): [string, SubAgentOptions] => {
        const { model, toolset, instructions, limits } = agent;
        const { context, price } = model ?? {};
        const given: SubAgentOptions = {
          ...(own !== undefined && { model: own.model }),
          ...(instructions !== undefined && { instructions }),
          ...(memory.coreBytes !== undefined && { coreBytes: memory.coreBytes }),
          limits: { ...limits, ...(context !== undefined && { context }), ...(price !== undefined && { price }) },
        };
        if (toolset === undefined) return [name, given];
        const tools = toolsOf(toolset, toolkit);
        return [name, Object.defineProperty(given, "tools", { enumerable: true, get: tools })];
      });
      return Object.fromEntries(all);
    },
  };
}
