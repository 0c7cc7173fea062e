import type { Store } from "../../core/contract/activity.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { Job, RecordedJob } from "../../core/contract/job.ts";

/** How long the process that runs a job may take to open a port, in milliseconds. */
const ANSWER_MS = 15_000;

/** Opens a port of a job of this process. Resolves to the address for a person's browser. @throws ToolFailure */
export async function openPort({ id, ended, process }: Job, port: number): Promise<string> {
  if (ended !== undefined) throw new ToolFailure(`job ${id} has ended`);
  if (process.openPort !== undefined) return process.openPort(port);
  throw new ToolFailure(`job ${id} does not run in this machine's sandbox, so no port of it is closed off`, {
    hint: `Open http://localhost:${port} on the machine where it runs.`,
  });
}

/**
 * Asks the process that runs a job to open a port of the job. `by` is where a person asked. Resolves to the address for
 * a browser on this machine. @throws ToolFailure
 */
export async function requestPort(store: Store, of: RecordedJob, port: number, by: string): Promise<string> {
  const { id, call, thread, job, ended } = of;
  if (ended !== undefined) throw new ToolFailure(`job ${id} has ended`);
  const at = Date.now();
  await store.commit({ type: "port.requested", call, thread, at, job, port, by });
  const signal = AbortSignal.timeout(ANSWER_MS);
  for await (const event of store.events({ call, types: ["port.opened"], follow: true, signal })) {
    if (event.type !== "port.opened" || event.job !== job || event.port !== port || event.at < at) continue;
    if (event.url !== undefined) return event.url;
    throw new ToolFailure(event.problem ?? `port ${port} could not be opened`);
  }
  throw new ToolFailure(`no running process of Handrail has job ${id}, so its port ${port} cannot be opened`);
}
