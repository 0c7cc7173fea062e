/** Names one call in its thread, its events and its approval. Unique in a store. */
export type CallId = string;
/** Names a conversation. A call without one belongs to "main". */
export type ThreadId = string;
