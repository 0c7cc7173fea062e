import type { ToolContext } from "../../contract/tool.ts";
import { displayPath, isInside } from "../../util/paths.ts";
import { shownPath } from "./shown-path.ts";

/** So many are named. */
const NAMED = 3;

/** What below this real folder is closed to the call and is really there, as a model is shown it. */
export async function closedBelow(
  root: string,
  { backend, closed }: Pick<ToolContext, "backend" | "closed">,
): Promise<readonly string[]> {
  const below = closed.paths.filter((path) => path !== root && isInside(path, root));
  const there = await Promise.all(
    below.map(async (path) => (await backend.files.stat(path).catch(() => undefined)) !== undefined),
  );
  return below.filter((_, index) => there[index]).map((path) => displayPath(path, backend));
}

/** The notice of it; none when nothing was left out. */
export function closedNotice(paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return [];
  const more = paths.length - NAMED;
  const named = paths.slice(0, NAMED).map(shownPath).join(", ") + (more > 0 ? ` and ${more} more` : "");
  return [`Left out, as the policy does not open ${paths.length === 1 ? "it" : "them"} here: ${named}.`];
}
