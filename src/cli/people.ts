/**
 * Refuses a command that gives a person's answers if a model may have started it.
 *
 * @param words how the command is called: "handrail trust"
 * @throws Error when this process descends from a command that Handrail started.
 */
export async function requirePerson(words: string): Promise<void> {
  const { isStartedByHandrail } = await import("../machine/spawner/marks.ts");
  if (!isStartedByHandrail()) return;
  throw new Error(
    `\`${words}\` is for people, but a model's command started this process. Run it in your own terminal.`,
  );
}
