// All that starts and stops processes on this machine, in one piece: it is loaded at the first start.
export { detachedIn, removeOldJobs, startJob } from "./jobs.ts";
export { spawnLocal } from "./spawn.ts";
export { spawner } from "./spawner/connection.ts";
