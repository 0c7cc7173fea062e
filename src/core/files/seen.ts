import type { FileInfo } from "../contract/backend.ts";
import type { SeenFile, SeenFiles, SeenVersion } from "../contract/seen.ts";

/** The maximum size of a file whose content is remembered, to show later what changed. */
const MAX_CONTENT = 256 * 1024;

/** How many files are remembered, and how much of their content. The oldest are forgotten first. */
const MAX_FILES = 1_000;
const MAX_TOTAL = 16 * 1024 * 1024;

/** Remembers what the tools of one toolkit last saw of each file. */
export function createSeenFiles(): SeenFiles {
  const seen = new Map<string, SeenFile>();
  let total = 0;

  const forget = (path: string) => {
    total -= seen.get(path)?.content?.length ?? 0;
    seen.delete(path);
  };

  const keep = ({ path, version }: Pick<FileInfo, "path" | "version">, content?: Uint8Array, written?: string) => {
    const before = seen.get(path);
    forget(path);
    const small = content !== undefined && content.length <= MAX_CONTENT ? Buffer.from(content) : undefined;
    const kept = small ?? (before?.version === version ? before.content : undefined); // seen whole before
    total += kept?.length ?? 0;
    seen.set(path, {
      version,
      ...(kept !== undefined && { content: kept }),
      ...(written !== undefined && { written }),
    });
    for (const oldest of seen.keys()) {
      if (seen.size <= MAX_FILES && total <= MAX_TOTAL) break;
      forget(oldest);
    }
  };

  return {
    remember: (file, content) => keep(file, content, seen.get(file.path)?.written),
    wrote: (file, content) => keep(file, content, file.version),
    recall: (path) => seen.get(path),
  };
}

/**
 * What one call sees of files whose thread may have seen them in another process: what that process passed on counts
 * more than what this one remembers. `changed` returns what the call has seen itself.
 */
export function seenElsewhere(
  own: SeenFiles,
  elsewhere: readonly SeenVersion[] = [],
): { readonly seen: SeenFiles; readonly changed: () => readonly SeenVersion[] } {
  const given = new Map(elsewhere.map(({ path, ...state }) => [path, state]));
  const changed = new Map<string, SeenVersion>();
  const recall = (path: string): SeenFile | undefined => {
    const [here, there] = [own.recall(path), changed.has(path) ? undefined : given.get(path)];
    return there === undefined || here?.version === there.version ? here : there;
  };
  const keep = (path: string, version: string, written: string | undefined) =>
    changed.set(path, { path, version, ...(written !== undefined && { written }) });
  return {
    seen: {
      recall,
      remember(file, content) {
        keep(file.path, file.version, recall(file.path)?.written);
        own.remember(file, content);
      },
      wrote(file, content) {
        keep(file.path, file.version, file.version);
        own.wrote(file, content);
      },
    },
    changed: () => [...changed.values()],
  };
}
