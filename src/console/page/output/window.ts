import { type Signal, batch, signal } from "@preact/signals";
import { get, part } from "../state/api.ts";

/** Consecutive lines of an output. */
export interface Piece {
  readonly lines: readonly string[];
  /** The byte at which each line begins. */
  readonly offsets: readonly number[];
  readonly start: number;
  /** The byte after the last line. */
  readonly end: number;
  /** Size of the whole output, in bytes. */
  readonly size: number;
}

/** The part of an output that is in memory: a few pieces around the reading position. */
export interface OutputWindow {
  readonly pieces: Signal<readonly Piece[]>;
  readonly size: Signal<number>;
  /** Why the last request failed; "" if it succeeded. */
  readonly failure: Signal<string>;
  /** Replaces all pieces with the lines from the one that contains this byte. */
  jump(at: number): Promise<void>;
  jumpToEnd(): Promise<void>;
  /** Adds a piece on one side, and drops the farthest piece on the other. Only one request runs at a time. */
  extend(where: "after" | "before"): Promise<void>;
  /** Reads the last piece again, because the output may have grown. */
  refresh(): Promise<void>;
  close(): void;
}

/** The number of pieces, of 64 KiB each, that are kept. */
const KEPT = 6;
/** Beyond the end of any output. */
const END = Number.MAX_SAFE_INTEGER;

/** @param id the id of a saved output */
export function createWindow(id: string): OutputWindow {
  const pieces = signal<readonly Piece[]>([]);
  const size = signal(0);
  const failure = signal("");
  const closed = new AbortController();
  let isBusy = false;
  /** Counts jumps: answers to requests before the last jump are dropped. */
  let jumps = 0;

  const load = async (query: string, use: (piece: Piece) => void) => {
    const asked = jumps;
    try {
      const piece = await get<Piece>(`/api/outputs/${part(id)}/lines?${query}`, closed.signal);
      if (asked !== jumps) return;
      batch(() => {
        size.value = piece.size;
        failure.value = "";
        use(piece);
      });
    } catch (error) {
      if (!closed.signal.aborted) failure.value = error instanceof Error ? error.message : String(error);
    }
  };
  const alone = async (work: () => Promise<void>) => {
    if (isBusy) return;
    isBusy = true;
    await work().finally(() => (isBusy = false));
  };
  const restart = (query: string) => {
    jumps += 1;
    return load(query, (piece) => (pieces.value = [piece]));
  };

  return {
    ...{ pieces, size, failure },
    jump: (at) => restart(`at=${at}`),
    jumpToEnd: () => restart(`before=${END}`),
    extend: (where) =>
      alone(async () => {
        const [first, last] = [pieces.value[0], pieces.value.at(-1)];
        if (first === undefined || last === undefined) return;
        if (where === "before") {
          if (first.start === 0) return;
          await load(`before=${first.start}`, (piece) => (pieces.value = [piece, ...pieces.value].slice(0, KEPT)));
        } else {
          if (last.end >= size.value) return;
          await load(`from=${last.end}`, (piece) => {
            if (piece.lines.length > 0) pieces.value = [...pieces.value, piece].slice(-KEPT);
          });
        }
      }),
    refresh: () =>
      alone(async () => {
        const last = pieces.value.at(-1);
        if (last === undefined) return;
        await load(`from=${last.start}`, (piece) => {
          if (piece.end !== last.end) pieces.value = [...pieces.value.slice(0, -1), piece];
        });
      }),
    close: () => closed.abort(),
  };
}
