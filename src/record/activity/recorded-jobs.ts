import type { CallEvent, StoredEvent } from "../../core/contract/activity.ts";
import type { RecordedJob } from "../../core/contract/job.ts";
import type { Dialect } from "../db/dialect.ts";
import { type Work, all } from "../db/work.ts";

type Ended = Extract<CallEvent, { type: "job.ended" }>;

/** The jobs in these events, in the order of their start. */
export function recordedJobs(events: readonly StoredEvent[]): readonly RecordedJob[] {
  const endings = new Map<string, Ended>();
  for (const event of events) if (event.type === "job.ended") endings.set(keyOfJob(event), event);
  return events
    .filter((event) => event.type === "job.started")
    .map((event) => {
      const { id, call, job, thread, command, lifetime, at } = event;
      const ending = endings.get(keyOfJob(event));
      const ended = ending === undefined ? undefined : { exit: ending.exit, atMs: ending.at };
      return { id, call, job, thread, command, startedMs: at, lifetime, ended };
    });
}

/** The jobs in a database. */
export function* jobsIn({ indexed }: Dialect): Work<readonly RecordedJob[]> {
  const rows = yield* all<{ id: number; body: string }>(
    `SELECT id, body FROM events ${indexed("events_jobs")} WHERE type IN ('job.started', 'job.ended') ORDER BY id`,
  );
  return recordedJobs(rows.map(({ id, body }) => Object.assign(JSON.parse(body) as StoredEvent, { id })));
}

function keyOfJob({ call, job }: Pick<Ended, "call" | "job">): string {
  return JSON.stringify([call, job]);
}
