import { Type } from "typebox";
import { ToolFailure } from "../core/contract/failure.ts";
import { type ToolOptions, defineTool } from "../core/contract/tool.ts";

/** Removes a schedule. Its runs stay in the log. */
export const cronRemove = (options: ToolOptions = {}) =>
  defineTool({
    name: "cron_remove",
    title: "Remove schedule",
    description: "Remove a scheduled job. A run that has started continues.",
    ...options,
    paramsHint: "job_id (required)",
    touches: ["state"],
    input: Type.Object(
      { job_id: Type.String({ minLength: 1, description: "The id, as cron_list shows it" }) },
      { additionalProperties: false },
    ),
    mend: (raw) => (typeof raw === "string" ? { job_id: raw } : raw),
    effects: ({ job_id: id }) => [
      { kind: "state", store: "schedule", change: true, about: `Remove the schedule ${id}` },
    ],
    async run({ job_id: id }, { schedules }) {
      const removed = await schedules.remove(id.trim());
      if (removed !== undefined) return `Removed job ${removed.id} "${removed.name}"`;
      const known = (await schedules.list()).map((each) => each.id);
      throw new ToolFailure(`there is no scheduled job ${JSON.stringify(id)} in this workspace`, {
        hint: known.length === 0 ? "There are none." : `Expected one of ${known.join(", ")}.`,
      });
    },
  });
