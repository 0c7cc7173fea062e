import type { Command } from "../contract/backend.ts";
import type { ApprovedCall } from "../contract/call.ts";
import type { Effect } from "../contract/effect.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { Job, Jobs } from "../contract/job.ts";
import type { ToolJobs } from "../contract/tool.ts";

/** What confinement knows of a call. */
export interface CallBounds {
  readonly allowed: readonly Effect[];
  /** @throws ToolFailure when the call is over. */
  alive(): void;
  /** The command in its real folder. Rejects when the call did not declare it. */
  runs(command: Command, background: "job" | "detached"): Promise<Command>;
}

/** The toolkit's jobs, as one call may use them: it starts what it declared, and touches the jobs it named. */
export function jobsOfCall(
  jobs: Jobs,
  { request, tool }: ApprovedCall,
  { allowed, alive, runs }: CallBounds,
): ToolJobs {
  /** True when the effect lets this call do it. */
  type Declares = (effect: Extract<Effect, { kind: "terminal" }>) => boolean;

  const confined = (job: Job): Job => {
    const may = (what: string, declares: Declares) => {
      alive();
      if (allowed.some((effect) => effect.kind === "terminal" && effect.job === job.id && declares(effect))) return;
      throw new ToolFailure(`tool "${tool.name}" tried to ${what} job ${job.id}, which this call did not declare`);
    };
    const { id, command, startedMs, detached, process } = job;
    return {
      id,
      command,
      startedMs,
      detached,
      get ended() {
        return job.ended;
      },
      process: {
        id: process.id,
        output: process.output,
        errors: process.errors,
        exit: process.exit,
        write: async (text) => {
          may("write to", ({ types }) => types === text);
          return process.write(text);
        },
        endInput: async () => {
          may("end the input of", () => true);
          return process.endInput();
        },
        kill: async () => {
          may("stop", () => true);
          return process.kill();
        },
      },
    };
  };

  return {
    async start(command, script) {
      const checked = await runs(command, command.detached === undefined ? "job" : "detached");
      // Not under the call's signal: the job is meant to outlive it.
      return confined(await jobs.start(checked, script, { call: request.id, thread: request.thread }));
    },
    async list() {
      alive();
      return (await jobs.list()).map(confined);
    },
    async get(id) {
      alive();
      const job = await jobs.get(id);
      return job === undefined ? undefined : confined(job);
    },
    told: (id) => jobs.told(id),
  };
}
