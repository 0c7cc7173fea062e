/**
 * The common parts of workloads: their form, their targets, toolkits. Targets are those of the project's performance
 * notes.
 */
import { join } from "node:path";
import { asText, createToolkit } from "handrail";

/**
 * @typedef {object} Workload
 * @property {string} name
 * @property {string} what
 * @property {number} [rounds]
 * @property {string} [unit]
 * @property {number} [scale] from milliseconds of a run to the unit
 * @property {{ text: string, met(measured: { ours: number, ratio: number }): boolean }} target
 * @property {(folder: string) => Promise<{ ours(): unknown, ceiling?(): unknown, peer?(): unknown, measuresItself?:
 *   boolean, cleanUp?(): unknown }>} prepare
 */

/** @param {number} most */
export const atMost = (most) => ({
  text: `<= ${most}x`,
  met: (/** @type {{ ratio: number }} */ { ratio }) => ratio <= most,
});
/** @param {number} most @param {string} unit */
export const within = (most, unit) => ({
  text: `<= ${most} ${unit}`,
  met: (/** @type {{ ours: number }} */ { ours }) => ours <= most,
});

/**
 * @param {string} workDir
 * @param {readonly import("handrail").Tool[]} tools
 */
export function toolkitIn(workDir, tools) {
  return createToolkit({
    tools,
    workDir,
    policy: { autonomy: "full" },
    stateDir: join(workDir, "..", "handrail-bench-state"),
  });
}

/** @param {Promise<import("handrail").ToolResult>} call */
export async function ok(call) {
  const result = await call;
  if (result.status !== "ok") throw new Error(`the call ended as ${result.status}: ${asText(result)}`);
}
