/** The id of a call. Unique in a store. */
export type CallId = string;
/** The id of a thread. Calls without one belong to "main". */
export type ThreadId = string;
