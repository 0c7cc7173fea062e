import type { FindFacts } from "./probe.ts";

/**
 * Arguments of find in the words of the find there: `-print0` and `-mindepth 1` are not in POSIX. Whatever else is asked for is left as it is.
 *
 * `args` begin with the paths.
 */
export function findWith(
  { print, hasDepths }: FindFacts,
  paths: readonly string[],
  args: readonly string[],
): readonly string[] {
  const written = args.flatMap((arg) => (arg === "-print0" ? print : [arg]));
  const at = written.indexOf("-mindepth");
  if (hasDepths || at === -1 || written[at + 1] !== "1") return written;
  // The path itself is at the depth 0.
  const notThese = paths.flatMap((path) => ["!", "-path", path.replace(/[\\*?[\]]/g, "\\$&")]);
  return [...written.slice(0, at), ...notThese, "(", ...written.slice(at + 2), ")"];
}
