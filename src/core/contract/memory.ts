/** The categories of memories. Memories of the category `core` are part of an agent's instructions. */
export const MEMORY_CATEGORIES = ["core", "daily", "conversation"] as const;
export type MemoryCategory = (typeof MEMORY_CATEGORIES)[number];

/** Who shares a memory: all workspaces of the user, or only sessions in the same folder of the same backend. */
export const MEMORY_SCOPES = ["user", "workspace"] as const;
export type MemoryScope = (typeof MEMORY_SCOPES)[number];

/** The longest key and the longest content, in UTF-16 units. */
export const MAX_MEMORY_KEY = 200;
export const MAX_MEMORY_CONTENT = 16_384;

/** A memory to store. */
export interface NewMemory {
  /** 1 to 200 characters. White space in it becomes single spaces. */
  readonly key: string;
  /** 1 to 16,384 characters. */
  readonly content: string;
  readonly category: MemoryCategory;
  /** Milliseconds since 1970. Default: now. */
  readonly storedMs?: number;
}

/** A stored memory. */
export interface Memory extends Required<NewMemory> {
  /** Grows with each stored memory, and is never reused. */
  readonly id: number;
}

/** Memories of one scope. They outlive the toolkit. Methods reject with a sentence when the file cannot be used. */
export interface Memories {
  readonly scope: MemoryScope;
  /**
   * Stores either all of the memories or none, with secrets masked. Resolves when they are on the disk. Replaces a
   * stored memory with the same key. Rejects with a RangeError for a key or content that is empty or too long.
   */
  store(memories: readonly NewMemory[]): Promise<void>;
  /** Finds memories by the words of a query, best first. `*` and an empty query return the newest. */
  recall(query: string, limit: number): Promise<readonly Memory[]>;
  /** Newest first. With `before`, only memories with smaller ids. */
  list(options: {
    readonly limit: number;
    readonly before?: number;
    readonly category?: MemoryCategory;
  }): Promise<readonly Memory[]>;
  get(key: string): Promise<Memory | undefined>;
  /** Removes a memory. Resolves to false when there is none with this key. */
  forget(key: string): Promise<boolean>;
}
