import type { Store } from "../../core/contract/activity.ts";
import { PRESENT_MS, workerTargetName } from "../../core/contract/worker.ts";
import { type Route, route } from "../route.ts";
import { WORKER, list } from "../schemas.ts";

/** The route for the workers that share the store. */
export function workerRoutes(store: Store): readonly Route[] {
  return [
    route("GET /api/workers", {
      summary: "The workers that have reported, the newest last, and their calls.",
      answer: {
        status: 200,
        description: "Those that have reported in the last ten minutes and have not ended.",
        schema: list("workers", WORKER),
      },
      async handle() {
        const workers = (await store.workers?.list()) ?? [];
        const calls = workers.length === 0 ? [] : await store.parked({ states: ["ready", "taken"] });
        const waitingFor = (target: string) =>
          calls.filter((call) => call.state === "ready" && call.target === target).length;
        return {
          workers: workers.map(({ id, name, host, workDir, concurrency, silentMs, startedMs }) => ({
            ...{ id, name, host, workDir, concurrency, silentMs, startedMs },
            running: calls.filter(({ state, worker }) => state === "taken" && worker === id).length,
            waiting: waitingFor(workerTargetName(name)) + waitingFor(workerTargetName(name, id)),
            gone: silentMs >= PRESENT_MS,
          })),
        };
      },
    }),
  ];
}
