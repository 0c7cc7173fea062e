import { type Signal, signal } from "@preact/signals";
import { get, part } from "../state/api.ts";

/** Searches an output on the server, from the beginning, only as far as needed. */
export interface OutputSearch {
  /** The text that is searched; "" for none. */
  readonly text: Signal<string>;
  /** Offsets in bytes of the lines found so far. */
  readonly hits: Signal<readonly number[]>;
  /** The index of the hit that is shown; -1 if none is. */
  readonly index: Signal<number>;
  /** Bytes searched so far; `undefined` once the end was reached. */
  readonly searchedTo: Signal<number | undefined>;
  readonly isBusy: Signal<boolean>;
  readonly failure: Signal<string>;
  /** Starts a search. Resolves to the first hit; `undefined` if there is none or another search was started. */
  begin(text: string): Promise<number | undefined>;
  /** Moves to the next or the previous hit; stops at the first and the last. */
  move(step: 1 | -1): Promise<number | undefined>;
  close(): void;
}

interface Found {
  readonly hits: readonly { readonly offset: number }[];
  readonly next?: number;
}

/** @param id the id of a saved output */
export function createSearch(id: string): OutputSearch {
  const text = signal("");
  const hits = signal<readonly number[]>([]);
  const index = signal(-1);
  const searchedTo = signal<number | undefined>(undefined);
  const isBusy = signal(false);
  const failure = signal("");
  let current = new AbortController();

  /** Searches until there is one more hit, or the end. */
  const more = async ({ signal: gone }: AbortController): Promise<void> => {
    const before = hits.value.length;
    isBusy.value = true;
    try {
      while (searchedTo.value !== undefined && hits.value.length === before) {
        const query = new URLSearchParams({ text: text.value, from: String(searchedTo.value) });
        const found = await get<Found>(`/api/outputs/${part(id)}/search?${query}`, gone);
        if (gone.aborted) return;
        hits.value = [...hits.value, ...found.hits.map(({ offset }) => offset)];
        searchedTo.value = found.next;
      }
    } catch (error) {
      if (!gone.aborted) failure.value = error instanceof Error ? error.message : String(error);
    }
    if (!gone.aborted) isBusy.value = false;
  };

  return {
    ...{ text, hits, index, searchedTo, isBusy, failure },
    async begin(wanted) {
      current.abort();
      const own = new AbortController();
      current = own;
      [text.value, hits.value, index.value, failure.value] = [wanted, [], -1, ""];
      searchedTo.value = wanted === "" ? undefined : 0;
      isBusy.value = false;
      if (wanted === "") return undefined;
      await more(own);
      if (own.signal.aborted || hits.value.length === 0) return undefined;
      index.value = 0;
      return hits.value[0];
    },
    async move(step) {
      if (isBusy.value) return undefined;
      if (index.value + step >= hits.value.length && searchedTo.value !== undefined) await more(current);
      const next = Math.max(0, Math.min(hits.value.length - 1, index.value + step));
      index.value = hits.value.length === 0 ? -1 : next;
      return hits.value[index.value];
    },
    close: () => current.abort(),
  };
}
