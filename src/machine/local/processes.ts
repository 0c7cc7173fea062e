// Everything that starts and stops processes on this machine, loaded together at the first start.
export { detachedIn, removeOldJobs, startJob } from "./jobs.ts";
export { spawnLocal } from "./spawn.ts";
export { spawner } from "../spawner/connection.ts";
