import { hasTerminal, isContained } from "../../backends/targets.ts";
import type { DefinitionFormat, Toolset } from "../../contract/toolkit.ts";
import { definitions, paramsHint, toolset } from "../../engine/toolset.ts";
import { chosenTools } from "../../tools/presets/choose.ts";
import type { GlobalOptions } from "../options.ts";
import { placeOf, settingsFrom, toolChoice } from "../settings.ts";

/** Prints the toolset: a table for people, or JSON for the receiver named. */
export async function tools({
  format,
  ...options
}: GlobalOptions & { format: "table" | DefinitionFormat }): Promise<void> {
  const settings = await settingsFrom(options);
  const place = { ...placeOf(options), sandbox: settings.policy.sandbox };
  const conditions = { sandboxed: isContained(place), terminal: hasTerminal(place) };
  const set = toolset(chosenTools(toolChoice(settings), conditions));
  const text = format === "table" ? table(set) : JSON.stringify(definitions(set, format) ?? [], null, 2);
  process.stdout.write(`${text}\n`);
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
