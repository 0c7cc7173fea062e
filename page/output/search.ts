import { signal } from "@preact/signals";
import { messageOf } from "../../src/core/util/errors.ts";
import { get, part } from "../state/api.ts";

/** Searches an output on the server, from the beginning, only as far as needed. */
export type OutputSearch = ReturnType<typeof createSearch>;

interface Found {
  readonly hits: readonly { readonly offset: number }[];
  readonly next?: number;
}

/** @param id the id of a saved output */
export function createSearch(id: string) {
  /** The text that is searched; "" for none. */
  const text = signal("");
  /** Offsets in bytes of the lines found so far, and which of them is shown; -1 if none is. */
  const hits = signal<readonly number[]>([]);
  const index = signal(-1);
  /** How many bytes were searched so far; `undefined` once the end was reached. */
  const searchedTo = signal<number | undefined>(undefined);
  const isBusy = signal(false);
  const failure = signal("");
  let current = new AbortController();

  /** Resolves to the hit with this index, or to the last one; `undefined` without hits, or after another `begin`. */
  const show = async (wanted: number): Promise<number | undefined> => {
    const { signal: gone } = current;
    isBusy.value = true;
    try {
      while (searchedTo.value !== undefined && hits.value.length <= wanted) {
        const query = new URLSearchParams({ text: text.value, from: String(searchedTo.value) });
        const found = await get<Found>(`/api/outputs/${part(id)}/search?${query}`, gone);
        if (gone.aborted) return undefined;
        hits.value = [...hits.value, ...found.hits.map(({ offset }) => offset)];
        searchedTo.value = found.next;
      }
    } catch (error) {
      if (gone.aborted) return undefined;
      failure.value = messageOf(error);
    }
    isBusy.value = false;
    index.value = Math.min(wanted, hits.value.length - 1);
    return hits.value[index.value];
  };

  return {
    ...{ text, hits, index, searchedTo, isBusy, failure },
    /** Starts a search and shows the first hit. */
    async begin(wanted: string): Promise<number | undefined> {
      current.abort();
      current = new AbortController();
      [text.value, hits.value, index.value, failure.value, isBusy.value] = [wanted, [], -1, "", false];
      searchedTo.value = wanted === "" ? undefined : 0;
      return wanted === "" ? undefined : await show(0);
    },
    /** Shows the next or the previous hit; stops at the first and the last. */
    move: async (step: 1 | -1) => (isBusy.value ? undefined : await show(Math.max(0, index.value + step))),
    close: () => current.abort(),
  };
}
