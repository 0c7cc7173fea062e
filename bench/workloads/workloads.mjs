/** The workloads of `npm run bench`, in display order. */
import { DISPATCH } from "./dispatch.mjs";
import { DISTANCE } from "./distance.mjs";
import { FILES } from "./files.mjs";
import { LATENCY } from "./latency.mjs";
import { PROCESSES } from "./processes.mjs";
import { SANDBOX } from "./sandbox.mjs";
import { SEARCH } from "./search.mjs";
import { START } from "./start.mjs";
import { TERMINAL } from "./terminal.mjs";
import { UNDO } from "./undo.mjs";

/** @type {readonly import("./shared.mjs").Workload[]} */
export const WORKLOADS = [
  ...DISPATCH,
  ...PROCESSES,
  ...SANDBOX,
  ...SEARCH,
  ...FILES,
  ...LATENCY,
  ...DISTANCE,
  ...TERMINAL,
  ...UNDO,
  ...START,
];
