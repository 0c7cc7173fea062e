import { Type } from "typebox";
import { type ToolOptions, defineTool } from "../core/contract/tool.ts";
import { inWords, loadWords, timeWithZone } from "../record/schedule/timing.ts";
import { oneLine } from "../core/output/terminal-text.ts";

/** How many of a schedule's runs are listed. */
const RUNS_SHOWN = 3;

/** Lists the schedules of this folder, with their last runs. */
export const cronList = (options: ToolOptions = {}) =>
  defineTool({
    name: "cron_list",
    title: "List schedules",
    description: "List the scheduled jobs of this workspace, with their next time and how their last runs ended.",
    ...options,
    touches: ["state"],
    input: Type.Object({}, { additionalProperties: false }),
    effects: () => [{ kind: "state", store: "schedule", change: false }],
    async run(_, { schedules }) {
      await loadWords();
      const all = await schedules.list();
      return await Promise.all(
        all.map(async ({ id, name, timing, work, nextMs, paused }) => ({
          ...{ job_id: id, name, schedule: inWords(timing) },
          ...(work.command === undefined ? { prompt: work.prompt } : { command: work.command }),
          ...(nextMs !== undefined && { next: timeWithZone(nextMs, timing.tz) }),
          ...(paused !== undefined && { paused }),
          runs: (await schedules.runs({ schedule: id, limit: RUNS_SHOWN })).map((run) => ({
            ...{ run: run.id, state: run.state, planned: timeWithZone(run.plannedMs, timing.tz) },
            ...(run.note !== undefined && { note: oneLine(run.note, 200) }),
          })),
        })),
      );
    },
    render: (all) => (all.length === 0 ? "No scheduled jobs" : JSON.stringify(all, null, 1)),
  });
