import type { FileInfo } from "../contract/backend.ts";
import type { SeenFile, SeenFiles } from "../contract/tool.ts";

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
