import type { CallEvent } from "../core/contract/activity.ts";
import type { Backend } from "../core/contract/backend.ts";
import type { Effect } from "../core/contract/effect.ts";
import type { SeenVersion } from "../core/contract/seen.ts";
import { absolutePath } from "../core/util/paths.ts";

/** How many files are remembered. The oldest are forgotten first. */
const MAX_FILES = 1_000;

/**
 * How a thread has last seen the files of workers. Each of its calls may go to another worker of the name, so their
 * caller remembers.
 */
export interface SeenThere {
  /** Takes what an event of a delivered call tells. */
  heard(event: CallEvent): void;
  /** What the worker must know for a call with these effects. A path is known once a call has used it. */
  of(effects: readonly Effect[]): { readonly seen?: readonly SeenVersion[] };
}

export function createSeenThere(place: Pick<Backend, "workDir" | "home">): SeenThere {
  const files = new Map<string, SeenVersion>();
  const realPaths = new Map<string, string>();
  const keep = <Value>(map: Map<string, Value>, key: string, value: Value) => {
    map.delete(key);
    map.set(key, value);
    for (const oldest of map.keys()) {
      if (map.size <= MAX_FILES) break;
      map.delete(oldest);
    }
  };
  return {
    heard(event) {
      if (event.type === "call.finished") for (const file of event.seen ?? []) keep(files, file.path, file);
      if (event.type !== "call.approved") return;
      for (const effect of event.effects) {
        if ("real" in effect && "path" in effect) keep(realPaths, effect.path, effect.real);
      }
    },
    of(effects) {
      const named = effects.flatMap((effect) => (effect.kind === "read" || effect.kind === "write" ? effect.path : []));
      const paths = new Set(named.map((path) => realPaths.get(path) ?? absolutePath(path, place)));
      const seen = [...paths].flatMap((path) => files.get(path) ?? []);
      return seen.length === 0 ? {} : { seen };
    },
  };
}
