import { METRICS_TYPE, type Metrics } from "../metrics.ts";
import { type Route, route } from "../route.ts";

/** The route that Prometheus reads. */
export function metricsRoutes(metrics: Metrics): readonly Route[] {
  return [
    route("GET /metrics", {
      summary: "Calls, questions, jobs and the store, in the text format of Prometheus.",
      answer: { status: 200, description: "The metrics.", types: ["text/plain"] },
      handle: async () => new Response(await metrics.text(), { headers: { "content-type": METRICS_TYPE } }),
    }),
  ];
}
