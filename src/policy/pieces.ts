/** What is remembered of one place, in characters. The oldest goes first. */
const MOST_CHARACTERS = 4_096;
const MOST_PLACES = 64;

/** What was let through to be typed and is no whole line yet, by place: a pane or a job. */
export interface Pieces {
  /**
   * Adds what is about to be typed, and resolves to what stood there before. `moves`: it goes elsewhere in the line as
   * well. Nothing is waited for: of two that come at once the second sees the first.
   */
  add(place: string, script: string, moves: boolean): Piece;
  /** What stands there was taken back. */
  forget(place: string): void;
}

export interface Piece {
  /** What stands there already, as far as it was typed through this; "" for nothing. */
  readonly before: string;
  /** Somebody may stand at another place of it than its end. */
  readonly moved: boolean;
  takeBack(): void;
}

interface Line {
  readonly typed: string;
  readonly moved: boolean;
}

const NOTHING: Line = { typed: "", moved: false };

/** Remembers what a line is typed in, until it is whole (`isWhole`): a screen does not always show it. */
export function createPieces(isWhole: (script: string) => boolean): Pieces {
  const places = new Map<string, Line>();
  const remember = (place: string, line: Line) => {
    places.delete(place); // the one that was used last is the last to go
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

/** What of it no shell has run yet: what is behind the last line end, or all of an unfinished script. */
function openLine(typed: string, isWhole: (script: string) => boolean): string {
  const end = typed.lastIndexOf("\n") + 1;
  const done = typed.slice(0, end);
  return (done.endsWith("\\\n") || !isWhole(done) ? typed : typed.slice(end)).slice(-MOST_CHARACTERS);
}
