/** A process that has ended has written all when nothing has come for so long … */
const QUIET_MS = 150;

/** … and after so long at the latest, since a child of it may hold its output and write for ever. What was in its pipes has long come. */
const LONGEST_MS = 2_000;

/** What is seen of the output of a process that has ended. */
export interface Drainage {
  /** Nobody can write any more. */
  readonly isFilled: boolean;
  /** More has come since the look before. */
  readonly isGrowing: boolean;
}

/** Judges, look by look from the end of a process on, whether all that it wrote is there. */
export function drainJudge(): (seen: Drainage) => boolean {
  let firstMs: number | undefined;
  let quietMs = 0;
  return ({ isFilled, isGrowing }) => {
    const now = performance.now();
    // Quiet counts from the first look: what it wrote last may be on its way into the file.
    if (firstMs === undefined || isGrowing) quietMs = now;
    firstMs ??= now;
    return isFilled || now - quietMs >= QUIET_MS || now - firstMs >= LONGEST_MS;
  };
}
