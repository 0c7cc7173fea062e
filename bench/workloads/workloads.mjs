/** The workloads of `npm run bench`, in display order. */
import { AGENT } from "./agent.mjs";
import { API } from "./api.mjs";
import { BROWSER } from "./browser.mjs";
import { CONSOLE } from "./console.mjs";
import { DISPATCH } from "./dispatch.mjs";
import { DISTANCE } from "./distance.mjs";
import { ELSEWHERE } from "./elsewhere.mjs";
import { EVENTS } from "./events.mjs";
import { FILES } from "./files.mjs";
import { LATENCY } from "./latency.mjs";
import { MCP_CLIENT } from "./mcp-client.mjs";
import { MEMORY } from "./memory.mjs";
import { PARKED } from "./parked.mjs";
import { PLUGINS } from "./plugins.mjs";
import { POLICY } from "./policy.mjs";
import { POSTGRES } from "./postgres.mjs";
import { PROCESSES } from "./processes.mjs";
import { SANDBOX } from "./sandbox.mjs";
import { SEARCH } from "./search.mjs";
import { START } from "./start.mjs";
import { TERMINAL } from "./terminal.mjs";
import { UNDO } from "./undo.mjs";
import { WEB } from "./web.mjs";
import { WORKERS } from "./workers.mjs";

/** @type {readonly import("./shared.mjs").Workload[]} */
export const WORKLOADS = [
  ...DISPATCH,
  ...AGENT,
  ...EVENTS,
  ...MEMORY,
  ...API,
  ...PARKED,
  ...BROWSER,
  ...CONSOLE,
  ...PLUGINS,
  ...POSTGRES,
  ...POLICY,
  ...PROCESSES,
  ...SANDBOX,
  ...SEARCH,
  ...FILES,
  ...LATENCY,
  ...MCP_CLIENT,
  ...ELSEWHERE,
  ...DISTANCE,
  ...TERMINAL,
  ...UNDO,
  ...WEB,
  ...WORKERS,
  ...START,
];
