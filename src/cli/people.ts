import type { Command } from "commander";

/**
 * Refuses a command that gives a person's answers if a model may have started it.
 *
 * @throws Error when this process descends from a command that Handrail started.
 */
export async function requirePerson(_: Command, action: Command): Promise<void> {
  const { isStartedByHandrail } = await import("../backends/local/spawner/marks.ts");
  if (!isStartedByHandrail()) return;
  const names: string[] = [];
  for (let each: Command | null = action; each !== null; each = each.parent) names.unshift(each.name());
  throw new Error(
    `\`${names.join(" ")}\` is for people, but a model's command started this process. ` +
      "Run it in your own terminal.",
  );
}
