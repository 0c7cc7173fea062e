import { Type } from "typebox";
import { type Tool, defineTool } from "../core/contract/tool.ts";
import { ToolFailure } from "../core/contract/failure.ts";
import { describeExit } from "../core/output/describe-exit.ts";
import { formatSize } from "../core/output/size.ts";

/** Jobs that start a turn when they end, and the tool for them. */
export interface Waking {
  /** The tool with which a model registers a job. */
  readonly tool: Tool;
  /** Returns the ids of registered jobs that have not ended. */
  jobs(): readonly string[];
}

/** @param deliver called with a text for the model when a registered job has ended */
export function createWaking(deliver: (words: string) => void): Waking {
  const waited = new Set<string>();
  const tool = defineTool({
    name: "wake_on_job",
    title: "Wake when a job ends",
    description:
      "Ask to be woken when a background job ends, then finish your reply. When the job ends, a new turn starts and " +
      "reports how. Use this instead of waiting for a long job.",
    touches: ["terminal"],
    input: Type.Object({ id: Type.String({ minLength: 1, description: "The job" }) }, { additionalProperties: false }),
    effects: ({ id }) => [{ kind: "terminal", job: id }],
    async run({ id }, { jobs }) {
      const job = await jobs.get(id);
      if (job === undefined) {
        const known = (await jobs.list()).map((each) => each.id).join(", ");
        throw new ToolFailure(`there is no job ${id}`, {
          hint: known === "" ? "There are no jobs." : `Jobs: ${known}.`,
        });
      }
      if (job.ended !== undefined) return `Job ${id} has ended already: ${describeExit(job.ended.exit)}.`;
      if (waited.has(id)) return `You will be woken when job ${id} ends.`;
      waited.add(id);
      void job.process.exit.then((exit) => {
        waited.delete(id);
        jobs.told(id);
        const { size } = job.process.output;
        deliver(
          `[Job ${id} has ended: ${describeExit(exit)}. ${formatSize(size)} of output in output://job-${id}. ` +
            "You asked to be woken.]",
        );
      });
      return `You will be woken when job ${id} ends. Finish your reply now.`;
    },
  });
  return { tool, jobs: () => [...waited] };
}
