/** How many characters are remembered per place. The oldest are dropped. */
const MOST_CHARACTERS = 4_096;
const MOST_PLACES = 64;

/** Typed text that is not a complete line yet, by place: a pane or a job. */
export interface UnfinishedLines {
  /**
   * Adds text that is about to be typed, and returns what was typed before. `moves`: the text also moves the cursor in
   * the line. Synchronous, so that of two simultaneous calls the second sees the first.
   */
  add(place: string, script: string, moves: boolean): Piece;
  /** Forgets the text of a place, after it was cleared. */
  forget(place: string): void;
}

export interface Piece {
  /** What was typed before, as far as it was typed through this object; "" for nothing. */
  readonly before: string;
  /** Whether the cursor may be away from the end. */
  readonly moved: boolean;
  takeBack(): void;
}

interface Line {
  readonly typed: string;
  readonly moved: boolean;
}

const NOTHING: Line = { typed: "", moved: false };

/** Remembers the parts of a line until it is complete (`isWhole`): a screen does not always show them. */
export function createUnfinishedLines(isWhole: (script: string) => boolean): UnfinishedLines {
  const places = new Map<string, Line>();
  const remember = (place: string, line: Line) => {
    places.delete(place); // re-inserted: the most recently used place is dropped last
    if (line.typed === "" && !line.moved) return;
    places.set(place, line);
    const [oldest] = places.keys();
    if (places.size > MOST_PLACES && oldest !== undefined) places.delete(oldest);
  };
  return {
    add(place, script, moves) {
      const before = places.get(place) ?? NOTHING;
      const typed = openLine(`${before.typed}${script}`, isWhole);
      const isDone = typed === "" && script.endsWith("\n");
      const line = { typed, moved: !isDone && (before.moved || moves) };
      remember(place, line);
      return {
        before: before.typed,
        moved: before.moved,
        takeBack() {
          if (places.get(place) === line || (line.typed === "" && !places.has(place))) remember(place, before);
        },
      };
    },
    forget: (place) => void places.delete(place),
  };
}

/** The part that no shell has run yet: the text after the last line end, or an entire unfinished script. */
function openLine(typed: string, isWhole: (script: string) => boolean): string {
  const end = typed.lastIndexOf("\n") + 1;
  const done = typed.slice(0, end);
  return (done.endsWith("\\\n") || !isWhole(done) ? typed : typed.slice(end)).slice(-MOST_CHARACTERS);
}
