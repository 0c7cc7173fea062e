import type { ActivityEvent, Store } from "../contract/activity.ts";
import type { Backend, Exit, OpenFile } from "../contract/backend.ts";
import type { Alarms, Refusal } from "../contract/containment.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { CallId, ThreadId } from "../contract/identity.ts";
import type { Job, JobEnd, Jobs, Notices } from "../contract/job.ts";
import { describeExit } from "../output/describe-exit.ts";
import { describeRefusals } from "../output/describe-refusals.ts";
import { logFile } from "../output/log-file.ts";
import { formatSize } from "../output/size.ts";
import { clip, plural } from "../util/text.ts";

/** More at once are a mistake: a model that starts the same server again and again. */
const MOST_RUNNING = 32;
/** Of so many jobs that have ended the output is kept. */
const MOST_ENDED = 32;

const NO_NOTICES: readonly string[] = [];

const CLOSED = "the toolkit is closed: no job can be started any more";

type StartedBy = Parameters<Jobs["start"]>[2];

export interface JobsOptions {
  readonly backend: Pick<Backend, "spawn" | "detached">;
  readonly store: Pick<Store, "append">;
  /** "call": the toolkit is closed after one call, so only detached jobs are started. Default "toolkit". */
  readonly lifetime?: "call" | "toolkit";
  /** Bytes of output that are kept of jobs that have ended; of the last one all is kept. Default 1 GiB. */
  readonly mostEndedBytes?: number;
  /** Counts what the sandbox refuses jobs. */
  readonly alarms?: Alarms;
}

/** The jobs of a toolkit, what is to be told of them, and their output as files. */
export interface JobKeeper extends Jobs {
  readonly notices: Notices;
  /** The output of job 3, from the id "job-3"; of split streams its stderr from "job-3-errors". `undefined` when that is no job's. */
  openOutput(id: string): Promise<OpenFile | undefined>;
  /** Stops a job that this call has started; does nothing when there is none. */
  stop(call: CallId, job: string): void;
  /** Stops all but the detached ones and lets go of their output. Never rejects. */
  close(): Promise<void>;
}

/** Keeps what runs in the background: starts it, hears of its end, records both. */
export function createJobs({
  backend,
  store,
  lifetime: longest = "toolkit",
  mostEndedBytes = 1_073_741_824,
  alarms,
}: JobsOptions): JobKeeper {
  const jobs = new Map<string, Job>();
  const notices: { readonly thread: ThreadId; readonly job: string; readonly text: string }[] = [];
  let started = 0;
  /** Those that are not among the jobs yet. */
  let starting = 0;
  let closed = false;

  const record = (event: ActivityEvent) => {
    try {
      store.append(event);
    } catch {
      // The call that started it says that nothing is recorded; the job is none the worse.
    }
  };

  const forget = (job: string) => {
    for (let index = notices.length - 1; index >= 0; index--) if (notices[index]?.job === job) notices.splice(index, 1);
  };

  const dropOldest = () => {
    const ended = [...jobs.values()].filter((job) => job.ended !== undefined).toReversed();
    let bytes = 0;
    for (const [index, { id, lifetime, process }] of ended.entries()) {
      if (lifetime !== "detached") bytes += process.output.kept + (process.errors?.kept ?? 0); // that of others is not ours to remove
      if (index === 0 || (index < MOST_ENDED && bytes <= mostEndedBytes)) continue;
      jobs.delete(id);
      void process.output.dispose();
      void process.errors?.dispose();
    }
  };

  const all = async (): Promise<readonly Job[]> => {
    for (const { id, label, startedMs, ended, endedMs, process } of (await backend.detached?.list()) ?? []) {
      if (jobs.has(id)) continue;
      const end = ended === undefined ? undefined : { exit: ended, atMs: endedMs ?? Date.now() };
      jobs.set(id, watched({ id, command: label, startedMs, lifetime: "detached", process }, end));
    }
    return [...jobs.values()];
  };

  const requireRoom = () => {
    const running = [...jobs.values()].filter((job) => job.ended === undefined);
    if (running.length + starting < MOST_RUNNING) return;
    throw new ToolFailure(`${plural(running.length + starting, "job")} are running, and more are not started`, {
      hint: `Stop one first: ${running.map(({ id }) => id).join(", ")}.`,
    });
  };

  /** From now on it is a job: its beginning and its end are recorded, and its end is told. */
  const kept = (facts: Omit<Job, "ended">, { call, thread }: StartedBy): Job => {
    const job = watched({ ...facts, call });
    const { id, lifetime, command, process } = job;
    jobs.set(id, job);
    record({ type: "job.started", call, thread, at: job.startedMs, job: id, command: clip(command, 4_096), lifetime });
    const finish = (exit: Exit, refusals: readonly Refusal[]) => {
      if (closed && lifetime === "detached") return; // it goes on, and ends in front of somebody else
      if (refusals.length > 0) {
        record({ type: "sandbox.refused", call, thread, at: Date.now(), job: id, refusals });
        const alarm = alarms?.(refusals);
        if (alarm !== undefined) record({ type: "sandbox.alarmed", call, thread, at: Date.now(), ...alarm });
      }
      record({ type: "job.ended", call, thread, at: Date.now(), job: id, exit });
      notices.push({ thread, job: id, text: endNotice(job, exit, refusals) });
      dropOldest();
    };
    const { exit, refusals } = process;
    if (refusals === undefined) void exit.then((how) => finish(how, []));
    else void Promise.all([exit, refusals]).then(([how, refused]) => finish(how, refused));
    return job;
  };

  return {
    async start(command, script, by) {
      if (closed) throw new ToolFailure(CLOSED);
      const { lifetime } = command;
      const isDetached = lifetime === "detached";
      if (longest === "call" && !isDetached) {
        throw new ToolFailure("nothing would keep this job: it would end with this one call", {
          hint: "Start it detached (`handrail jobs` then shows and stops it), or in a session that lasts, as `handrail mcp` is.",
        });
      }
      if (isDetached && backend.detached === undefined) {
        throw new ToolFailure("this backend cannot keep a process that outlives it", { hint: "Start it as a job." });
      }
      requireRoom();
      starting++;
      const process = await backend.spawn(command).finally(() => starting--);
      const id = isDetached ? process.id : String(++started);
      const job = kept({ id, command: script, startedMs: Date.now(), lifetime, process }, by);
      if (closed && !isDetached) await process.kill(); // it was closed while this started
      return job;
    },
    async adopt(process, script, by) {
      if (closed) throw new ToolFailure(CLOSED);
      if (longest === "call") throw new ToolFailure("nothing would keep this process: it ends with this one call");
      requireRoom();
      const { startedMs } = by;
      return kept({ id: String(++started), command: script, startedMs, lifetime: "toolkit", process }, by);
    },
    list: all,
    get: async (id) => jobs.get(id) ?? (await all()).find((job) => job.id === id),
    told: forget,
    notices: {
      take(thread) {
        if (notices.length === 0) return NO_NOTICES; // asked at every call
        const told = notices.filter((notice) => notice.thread === thread);
        for (const { job } of told) forget(job);
        return told.map(({ text }) => text);
      },
    },
    async openOutput(id) {
      const [, number, errors] = /^job-(\w+)(-errors)?$/.exec(id) ?? [];
      const job =
        number === undefined ? undefined : (jobs.get(number) ?? (await all()).find((each) => each.id === number));
      const log = errors === undefined ? job?.process.output : job?.process.errors;
      return job === undefined || log === undefined ? undefined : logFile(log, `output://${id}`, job.startedMs);
    },
    stop(call, id) {
      const job = jobs.get(id);
      if (job !== undefined && job.call === call) void job.process.kill();
    },
    async close() {
      closed = true;
      await Promise.all(
        [...jobs.values()].map(async ({ lifetime, process }) => {
          if (lifetime !== "detached") await process.kill();
          await Promise.all([process.output.dispose(), process.errors?.dispose()]);
        }),
      );
    },
  };
}

/** A job that knows when it has ended, and of an earlier end. */
function watched(job: Omit<Job, "ended">, earlier?: JobEnd): Job {
  let ended = earlier;
  if (earlier === undefined) void job.process.exit.then((exit) => (ended = { exit, atMs: Date.now() }));
  return {
    ...job,
    get ended() {
      return ended;
    },
  };
}

function endNotice({ id, command, startedMs, process }: Job, exit: Exit, refusals: readonly Refusal[]): string {
  const seconds = ((Date.now() - startedMs) / 1_000).toFixed(1);
  const { size } = process.errors ?? { size: 0 };
  const said = size === 0 ? "" : ` and ${formatSize(size)} of errors in output://job-${id}-errors`;
  const ended = `Job ${id} has ended: ${clip(command.replaceAll(/\s+/g, " "), 80)}. ${describeExit(exit)} after ${seconds} s, ${formatSize(process.output.size)} of output in output://job-${id}${said}`;
  return refusals.length === 0 ? ended : `${ended}. ${describeRefusals(refusals)}`;
}
