import type { ToolContext } from "../../core/contract/tool.ts";
import { displayPath, isInside } from "../../core/util/paths.ts";
import { shownPath } from "./shown-path.ts";

/** How many folders a notice names. */
const NAMED = 3;

/** The existing paths below a real folder that are closed to the call, as shown to the model. */
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

/** The notice about closed paths; none when there are none. */
export function closedNotice(paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return [];
  const more = paths.length - NAMED;
  const named = paths.slice(0, NAMED).map(shownPath).join(", ") + (more > 0 ? ` and ${more} more` : "");
  return [`Left out, since the policy does not allow ${paths.length === 1 ? "it" : "them"}: ${named}.`];
}
