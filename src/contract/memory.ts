/** The kinds of memories (seed 003). Those that are `core` are also in an agent's instructions. */
export const MEMORY_CATEGORIES = ["core", "daily", "conversation"] as const;
export type MemoryCategory = (typeof MEMORY_CATEGORIES)[number];

/** Who shares memories: everything that the user runs, or only what works in the same folder of the same backend. */
export const MEMORY_SCOPES = ["user", "workspace"] as const;
export type MemoryScope = (typeof MEMORY_SCOPES)[number];

/** Characters (UTF-16 units) that a key may have, and a memory. */
export const MAX_MEMORY_KEY = 200;
export const MAX_MEMORY_CONTENT = 16_384;

/** Something to remember. */
export interface NewMemory {
  /** Of 1 to 200 characters. White space in it becomes single spaces. */
  readonly key: string;
  /** Of 1 to 16,384 characters. */
  readonly content: string;
  readonly category: MemoryCategory;
  /** Milliseconds since 1970. Default: now. */
  readonly storedMs?: number;
}

/** Something that is remembered. */
export interface Memory extends Required<NewMemory> {
  /** Grows with each memory that is stored, and is never given twice. */
  readonly id: number;
}

/** Memories of one scope. They outlive the toolkit. Every method rejects with a sentence when their file cannot be used. */
export interface Memories {
  readonly scope: MemoryScope;
  /**
   * Stores all of these or none, with secrets masked; resolves when they are on the disk. The same key replaces. Rejects with a RangeError for a
   * key or content that is empty or too long.
   */
  store(memories: readonly NewMemory[]): Promise<void>;
  /** Finds what fits the words of a query, the best first. `*` and a query of spaces give the newest. */
  recall(query: string, limit: number): Promise<readonly Memory[]>;
  /** The newest first. With `before`, those whose id is smaller. */
  list(options: {
    readonly limit: number;
    readonly before?: number;
    readonly category?: MemoryCategory;
  }): Promise<readonly Memory[]>;
  get(key: string): Promise<Memory | undefined>;
  /** Removes a memory. Resolves to false when there is none of that key. */
  forget(key: string): Promise<boolean>;
}
