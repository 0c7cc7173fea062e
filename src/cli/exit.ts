/** Exit codes of the command line. */
export const EXIT = { ok: 0, notSucceeded: 1, usage: 2 } as const;
