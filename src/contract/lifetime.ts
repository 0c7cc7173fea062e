/**
 * How long a process may live:
 * - "call": until its call ends. It is lost with the connection to the backend.
 * - "toolkit": until the backend is closed, or our own process dies (on a remote host ten minutes later). A lost connection does not end it.
 * - "detached": until it ends by itself or is killed. Only on a backend that has `detached`, where a later backend finds it again.
 */
export type Lifetime = "call" | "toolkit" | "detached";

/** The lifetime of a process that outlives its call. */
export type JobLifetime = Exclude<Lifetime, "call">;
