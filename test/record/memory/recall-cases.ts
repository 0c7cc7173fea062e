import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import type { Memories } from "../../../src/core/contract/memory.ts";
import { type MemoriesOptions, openMemories } from "../../../src/record/memory/memories.ts";
import { afterFile } from "../../support/after-file.ts";

interface Expected {
  readonly memories: readonly { readonly key: string; readonly days: number; readonly content: string }[];
  readonly queries: readonly {
    readonly kind: string;
    readonly query: string;
    /** The first hits, in this order. */
    readonly first?: readonly string[];
    /** There must be no other hits. */
    readonly only?: boolean;
    readonly absent?: readonly string[];
    /** Each hit must have one of these words, and there must be as many as requested. */
    readonly every?: string;
  }[];
}

const { memories, queries } = JSON.parse(
  readFileSync(new URL("expected-hits.json", import.meta.url), "utf8"),
) as Expected;
const NOW = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const COMMON = "the of to and is in a for on with that it was at by from server note weekly review team build".split(
  " ",
);

/** Memories of common words and some of their own, so many that for no common word all are read. */
function others(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    key: `other.${index}`,
    content: Array.from({ length: 12 }, (__, at) =>
      at % 4 === 3 ? `zq${(index * 7 + at) % 499}` : COMMON[(index * at + at) % COMMON.length],
    ).join(" "),
    category: "daily" as const,
    storedMs: NOW - ((count - index) / count) * 500 * DAY_MS,
  }));
}

async function remembering(count: number, options: Partial<MemoriesOptions>): Promise<Memories> {
  const store = openMemories({
    ...{ file: "none", scope: "user", mask: (text: string) => text, now: () => NOW },
    ...options,
  });
  afterFile(store.close);
  const known = memories.map(({ days, ...rest }) => {
    return { ...rest, category: "core" as const, storedMs: NOW - days * DAY_MS };
  });
  await store.store([...known, ...others(count)].toSorted((one, other) => one.storedMs - other.storedMs));
  return store;
}

/** What queries find, in a database that `open` gives for this many other memories. */
export function recallCases(open: (count: number) => Promise<Partial<MemoriesOptions>>): void {
  describe.each([[0], [1_500]])("among %i others", (count) => {
    let store: Memories;
    beforeAll(async () => {
      store = await remembering(count, await open(count));
    }, 60_000);

    test.for(queries)("$kind: $query", async ({ query, first = [], only = false, absent = [], every }) => {
      const hits = await store.recall(query, 5);
      const keys = hits.map(({ key }) => key);
      expect(keys.slice(0, only ? undefined : first.length)).toEqual(first);
      expect(keys.filter((key) => absent.includes(key))).toEqual([]);
      if (every === undefined) return;
      expect(hits.length).toBe(5);
      for (const { content } of hits) expect(content.toLowerCase()).toMatch(new RegExp(`\\b(?:${every})\\b`));
    });
  });
}
