import type { GlobalOptions } from "./options.ts";
import { loadedSettings } from "./settings.ts";
import type { Delegation } from "./sub-agents.ts";

/**
 * Loads what `delegate` needs at a shell or for an MCP client. `models: "none"` loads no model, to list the tools.
 * Without agents in the configuration, or if it disables `delegate`, toolkits stay as they are, and no code of models is
 * loaded.
 */
export async function loadDelegation(options: GlobalOptions, models: "all" | "none" = "all"): Promise<Delegation> {
  const { settings } = await loadedSettings(options);
  if (Object.keys(settings.agents).length === 0 || settings.tools.disable.includes("delegate"))
    return { keys: [], over: (toolkit) => toolkit };
  return await (await import("./sub-agents.ts")).delegationOf(options, models);
}
