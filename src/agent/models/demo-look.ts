import { type Conversation, type Step, firstLine } from "./demo-conversation.ts";

/**
 * Returns the next reply: lists the folder, reads its README, and says what it has seen.
 *
 * @param offer what else the model can do
 */
export function lookStep({ rounds, can, mustEnd }: Conversation, offer: string): Step {
  const [listing, readme] = rounds.flat();
  if (mustEnd) return { say: "I stop here, at the limit of this turn." };
  if (listing === undefined) {
    const call = can.list();
    return { say: "First I look at the folder.", ...(call !== undefined && { calls: [call] }) };
  }
  if (listing.failed) return { say: `The folder could not be listed: ${firstLine(listing.output)}` };
  const listed = namesIn(listing.output);
  const name = listed.find((each) => /^readme/i.test(each));
  const reading = name === undefined ? undefined : can.read(name);
  if (reading !== undefined && readme === undefined) return { say: "I read what this is.", calls: [reading] };
  const begins = readme === undefined ? "" : ` ${name} begins: ${firstLine(readme.output)}`;
  const shown = listed.length === 0 ? "is empty" : `has ${listed.length} entries: ${listed.slice(0, 10).join(", ")}`;
  return { say: `This folder ${shown}.${begins}${offer}` };
}

/** Returns the names in a listing, without what tools write around it. */
function namesIn(listing: string): readonly string[] {
  const names = listing.split("\n").map((line) =>
    line
      .replace(/^[\d-]{10} [\d:]{5} +\S+ {2}/, "")
      .trim()
      .replace(/\/$/, ""),
  );
  return names.filter((name) => name !== "" && !/^(exit code: \d+|stdout:|stderr:|\(.*\)|\[.*\])$/.test(name));
}
