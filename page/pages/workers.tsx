import { useEffect } from "preact/hooks";
import type { WorkerState } from "../../src/core/contract/worker.ts";
import type { StoredEvent } from "../../src/core/contract/activity.ts";
import { get } from "../state/api.ts";
import { useLoaded } from "../state/loaded.ts";
import { eventListeners } from "../state/model.ts";
import { Safe } from "../text/safe.tsx";
import { duration } from "../text/times.ts";
import { Facts, Nothing } from "../view/row.tsx";
import { Waiting } from "../view/waiting.tsx";

type Worker = Pick<
  WorkerState,
  "id" | "name" | "host" | "workDir" | "concurrency" | "running" | "silentMs" | "startedMs"
> & { readonly waiting: number; readonly gone: boolean };

/** How soon after an event of a worker's call the workers are loaded again, and how often without. Milliseconds. */
const SOON_MS = 200;
const LOOK_MS = 5_000;

const CALL_EVENTS: ReadonlySet<string> = new Set(["call.delivered", "call.taken", "call.parked", "call.finished"]);

/** The workers that share the store: who runs, and what they do. */
export function Workers() {
  const loaded = useLoaded((signal) => get<{ readonly workers: readonly Worker[] }>("/api/workers", signal));
  useEffect(() => {
    const timer = setInterval(loaded.reload, LOOK_MS); // no event says that a worker has started, or is gone
    let soon: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      soon = undefined;
      loaded.reload();
    };
    const take = (events: readonly StoredEvent[]) => {
      if (events.some(({ type }) => CALL_EVENTS.has(type))) soon ??= setTimeout(look, SOON_MS);
    };
    eventListeners.add(take);
    return () => {
      eventListeners.delete(take);
      clearInterval(timer);
      clearTimeout(soon);
    };
  }, []);
  const workers = loaded.value.value?.workers;
  return (
    <div class="sheet">
      <p class="lead">Machines that make the calls of others, in this installation's store.</p>
      <Waiting of={loaded} words="Loading workers" />
      {workers?.length === 0 && (
        <Nothing title="No workers">
          Start one where the work is to be done: <code>handrail worker --name build</code>
        </Nothing>
      )}
      <ul class="rows">
        {workers?.map((worker) => (
          <WorkerRow key={worker.id} worker={worker} />
        ))}
      </ul>
    </div>
  );
}

function WorkerRow({ worker }: { readonly worker: Worker }) {
  const { id, name, host, workDir, concurrency, running, waiting, silentMs, gone } = worker;
  return (
    <li class="row" data-worker={gone ? "gone" : "here"}>
      <div class="what">
        <Safe in="b" text={`${name}#${id}`} />
        <Facts
          of={[
            <Safe text={host} />,
            `${running} of ${concurrency} running`,
            `${waiting} waiting`,
            `reported ${duration(silentMs)} ago`,
            <Safe text={workDir} />,
          ]}
        />
        {gone && <p class="problem">It is silent: calls for its name are refused unless another worker has it.</p>}
      </div>
    </li>
  );
}
