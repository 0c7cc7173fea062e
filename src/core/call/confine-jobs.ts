import type { Store } from "../contract/activity.ts";
import type { Process } from "../contract/backend.ts";
import type { ApprovedCall } from "../contract/call.ts";
import type { Effect } from "../contract/effect.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { Job, JobCommand, Jobs } from "../contract/job.ts";
import type { ToolJobs } from "../contract/tool.ts";
import { WHERE, parkedState } from "./recorded-result.ts";

/** The limits of a call. */
export interface CallBounds {
  readonly allowed: readonly Effect[];
  /** @throws ToolFailure when the call is over. */
  alive(): void;
  /** The command in its real folder. Rejects when the call did not declare it. */
  runs(command: JobCommand): Promise<JobCommand>;
  /** What ends the process with this call; `undefined` unless this call started the process in a live terminal. */
  tieOf(process: Process): Tie | undefined;
}

/** What ends a process with the call that started it. */
export interface Tie {
  /** When the process was started. Milliseconds since 1970. */
  readonly startedMs: number;
  /** Lets the process outlive the call, even a stopped one. */
  cut(): void;
}

/** Limits the toolkit's jobs to one call: it can start the commands it declared, and use the jobs it named. */
export function jobsOfCall(
  jobs: Jobs,
  store: Store,
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
    const { id, call, command, startedMs, lifetime, process } = job;
    return {
      id,
      ...(call !== undefined && { call }),
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
        ...(process.ports !== undefined && { ports: process.ports }), // a person opens them
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
      // Without the call's signal: a job outlives its call.
      return confined(await jobs.start(checked, script, { call: request.id, thread: request.thread }));
    },
    async adopt(process, script) {
      alive();
      const tie = tieOf(process);
      if (tie === undefined) {
        throw new ToolFailure(
          `tool "${tool.name}" tried to make a job of a process that this call did not start in a live terminal`,
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
    async parked(id) {
      alive();
      return parkedState(store, id, request.thread);
    },
    async allParked() {
      alive();
      const rows = await store.parked({ thread: request.thread });
      // Without those that come to a worker: nobody was asked about them.
      return rows.flatMap(({ call: id, name, state, question }) =>
        state === "ended" || question === "" ? [] : [{ id, name, text: WHERE[state] }],
      );
    },
    told: (id) => jobs.told(id),
    reachPort: (port) => jobs.reachPort(request.thread, port),
  };
}
