import type { Command } from "commander";

/**
 * Refuses a command that gives a person's answers if a model may have started it.
 *
 * @throws Error when this process descends from a command that Handrail started.
 */
export async function requirePerson(_: Command, action: Command): Promise<void> {
  const { isStartedByHandrail } = await import("../backends/spawner/marks.ts");
  if (!isStartedByHandrail()) return;
  throw new Error(
    `\`${namesOf(action).join(" ")}\` is for people, but a model's command started this process. ` +
      "Run it in your own terminal.",
  );
}

/** Returns the words that a command is called with: "handrail", its groups and its own name. */
export function namesOf(command: Command): readonly string[] {
  return command.parent === null ? [command.name()] : [...namesOf(command.parent), command.name()];
}
