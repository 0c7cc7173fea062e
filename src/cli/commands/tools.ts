import { hasTerminal, sandboxedAt } from "../../machine/targets.ts";
import type { DefinitionFormat, Toolset } from "../../core/contract/toolkit.ts";
import { definitions } from "../../core/call/definitions.ts";
import { paramsHint, toolset } from "../../core/call/toolset.ts";
import { chosenTools } from "../../tools/presets/choose.ts";
import { loadDelegation } from "../delegation.ts";
import type { GlobalOptions } from "../options.ts";
import { hasSources, loadedSettings, placeOf, settingsFrom, toolChoice, toolkitOptions } from "../settings.ts";
import { pause } from "../../core/util/abort.ts";
import { START_MS, untilStopped } from "../signals.ts";
import { say, sayJson } from "../say.ts";
import type { Io } from "../io.ts";

/** Prints the toolset: as a table for people, or as JSON in the named format. */
export async function run({
  format,
  ...options
}: GlobalOptions & { format: "table" | DefinitionFormat }): Promise<void> {
  const { settings } = await loadedSettings(options);
  const hasAgents = Object.keys(settings.agents).length > 0;
  if (hasAgents || hasSources(settings, options)) return await fromToolkit(format, options);
  await settingsFrom(options); // prints notices about settings without effect
  const place = { ...placeOf(options), sandbox: settings.policy.sandbox };
  const { scope } = settings.memory;
  const conditions = {
    sandboxed: sandboxedAt(place),
    terminal: hasTerminal(place),
    ...(scope !== undefined && { memoryScope: scope }),
  };
  const set = toolset(chosenTools(toolChoice(options.io, settings), conditions));
  print(options.io, set, format);
}

/** Prints the toolset including `delegate`, plugins and MCP servers. Starts the programs, and ends them again. */
async function fromToolkit(format: "table" | DefinitionFormat, options: GlobalOptions): Promise<void> {
  const { createToolkit } = await import("../../app/toolkit.ts");
  const stopped = untilStopped(options.io);
  const toolkit = await createToolkit({ ...(await toolkitOptions(options, { sources: true })), lifetime: "call" });
  try {
    await Promise.race([toolkit.ready, pause(START_MS, stopped.signal, { keepsAlive: false })]);
    print(options.io, (await loadDelegation(options, "none")).over(toolkit).tools, format);
  } finally {
    await toolkit.close();
    stopped.release();
  }
}

function print(io: Io, set: Toolset, format: "table" | DefinitionFormat): void {
  if (format === "table") say(io, table(set));
  else sayJson(io, definitions(set, format) ?? [], 2);
}

function table(set: Toolset): string {
  if (set.size === 0) return "(no tools)";
  const rows = [...set.values()].map((tool) => [tool.name, paramsHint(tool), firstSentence(tool.description)]);
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function firstSentence(text: string): string {
  return /^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? text;
}
