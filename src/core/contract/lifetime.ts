/**
 * How long a process may run:
 * - "call": until its call ends. Lost with the connection to the backend.
 * - "toolkit": until the backend is closed, or Handrail's process dies (on a remote host ten minutes later). A lost
 *   connection does not end it.
 * - "detached": until it ends or is killed. Only on a backend with `detached`, where a later backend finds it again.
 */
export type Lifetime = "call" | "toolkit" | "detached";

/** The lifetime of a process that outlives its call. */
export type JobLifetime = Exclude<Lifetime, "call">;
