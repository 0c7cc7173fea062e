/** What `npm run bench` measures, in the order it is shown. */
import { AGENT } from "./agent.mjs";
import { API } from "./api.mjs";
import { DISPATCH } from "./dispatch.mjs";
import { DISTANCE } from "./distance.mjs";
import { ELSEWHERE } from "./elsewhere.mjs";
import { EVENTS } from "./events.mjs";
import { FILES } from "./files.mjs";
import { LATENCY } from "./latency.mjs";
import { MEMORY } from "./memory.mjs";
import { POLICY } from "./policy.mjs";
import { PROCESSES } from "./processes.mjs";
import { SANDBOX } from "./sandbox.mjs";
import { SEARCH } from "./search.mjs";
import { START } from "./start.mjs";
import { TERMINAL } from "./terminal.mjs";
import { WEB } from "./web.mjs";

/** @type {readonly import("./shared.mjs").Workload[]} */
export const WORKLOADS = [
  ...DISPATCH,
  ...AGENT,
  ...EVENTS,
  ...MEMORY,
  ...API,
  ...POLICY,
  ...PROCESSES,
  ...SANDBOX,
  ...SEARCH,
  ...FILES,
  ...LATENCY,
  ...ELSEWHERE,
  ...DISTANCE,
  ...TERMINAL,
  ...WEB,
  ...START,
];
