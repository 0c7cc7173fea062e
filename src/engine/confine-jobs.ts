import type { Process } from "../contract/backend.ts";
import type { ApprovedCall } from "../contract/call.ts";
import type { Effect } from "../contract/effect.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { Job, JobCommand, Jobs } from "../contract/job.ts";
import type { ToolJobs } from "../contract/tool.ts";

/** What confinement knows of a call. */
export interface CallBounds {
  readonly allowed: readonly Effect[];
  /** @throws ToolFailure when the call is over. */
  alive(): void;
  /** The command in its real folder. Rejects when the call did not declare it. */
  runs(command: JobCommand): Promise<JobCommand>;
  /** What keeps the process with this call; `undefined` when this call did not start it in a live terminal. */
  tieOf(process: Process): Tie | undefined;
}

/** What binds a process to the call that started it. */
export interface Tie {
  /** When the process was started. Milliseconds since 1970. */
  readonly startedMs: number;
  /** From now on the process does not end with the call, nor when the call is stopped. */
  cut(): void;
}

/** The toolkit's jobs, as one call may use them: it starts what it declared, and touches the jobs it named. */
export function jobsOfCall(
  jobs: Jobs,
  { request, tool }: ApprovedCall,
  { allowed, alive, runs, tieOf }: CallBounds,
): ToolJobs {
  /** True when the effect lets this call do it. */
  type Declares = (effect: Extract<Effect, { kind: "terminal" }>) => boolean;

  const confined = (job: Job): Job => {
    const may = (what: string, declares: Declares) => {
      alive();
      if (allowed.some((effect) => effect.kind === "terminal" && effect.job === job.id && declares(effect))) return;
      throw new ToolFailure(`tool "${tool.name}" tried to ${what} job ${job.id}, which this call did not declare`);
    };
    const { id, command, startedMs, lifetime, process } = job;
    return {
      id,
      command,
      startedMs,
      lifetime,
      get ended() {
        return job.ended;
      },
      process: {
        id: process.id,
        output: process.output,
        errors: process.errors,
        exit: process.exit,
        ...(process.place !== undefined && { place: process.place }),
        ...(process.awaitsInput !== undefined && { awaitsInput: process.awaitsInput }),
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
      const checked = await runs(command);
      // Not under the call's signal: the job is meant to outlive it.
      return confined(await jobs.start(checked, script, { call: request.id, thread: request.thread }));
    },
    async adopt(process, script) {
      alive();
      const tie = tieOf(process);
      if (tie === undefined) {
        throw new ToolFailure(
          `tool "${tool.name}" tried to let a process go on that this call did not start in a live terminal`,
        );
      }
      const { startedMs } = tie;
      const job = await jobs.adopt(process, script, { call: request.id, thread: request.thread, startedMs });
      tie.cut();
      return confined(job);
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
