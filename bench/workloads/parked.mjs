/** Calls that wait for a person: how soon an answered one is taken by `handrail serve`, and what many of them cost. */
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { sqliteStore } from "handrail";
import { serving } from "./api.mjs";
import { within } from "./shared.mjs";

/** @type {readonly import("./shared.mjs").Workload[]} */
export const PARKED = [
  {
    name: "parked-start",
    what: "an answer to a parked call, to the claim of it by `handrail serve`",
    rounds: 20,
    target: within(100, "ms"),
    prepare: (folder) => taking(folder, 0),
  },
  {
    name: "parked-start-10000",
    what: "the same with 10,000 other parked calls",
    rounds: 20,
    target: within(200, "ms"),
    prepare: (folder) => taking(folder, 10_000),
  },
  {
    name: "parked-list-10000",
    what: "the list of 10,000 parked calls over the API",
    rounds: 5,
    target: within(1_000, "ms"),
    async prepare(folder) {
      const { server, cleanUp } = await taking(folder, 10_000);
      const headers = { authorization: `Bearer ${server.token}` };
      return {
        ours: async () => (await fetch(`${server.url}/api/approvals`, { headers })).text(),
        cleanUp,
      };
    },
  },
];

/**
 * A server, and parked calls in its store that nobody answers.
 *
 * @param {string} folder
 * @param {number} others
 */
async function taking(folder, others) {
  const server = await serving(folder, "coding");
  const { store } = server;
  const watching = sqliteStore({ file: join(folder, "api-state", "handrail", "handrail.db"), lookMs: 2 });
  const target = `local:${realpathSync(folder)}`;
  let number = 0;
  const park = async () => {
    const call = `parked-${process.hrtime.bigint()}-${number++}`;
    const [thread, question, name, input] = ["main", `question-${call}`, "bash", { command: "true" }];
    store.append({ call, thread, at: Date.now(), type: "call.started", name, input });
    const decision = /** @type {const} */ ({ verdict: "ask", risk: "low" });
    store.append({ call, thread, at: Date.now(), type: "approval.requested", question, effects: [], decision });
    const outcome = await store.park({
      ...{ call, thread, question, target, name, input, about: {}, refusal: "Denied.", keepMs: 3_600_000 },
    });
    if (outcome.status !== "parked") throw new Error(`it was not parked: ${outcome.status}`);
    return { call, question };
  };
  for (let index = 0; index < others; index++) await park();
  return {
    server,
    measuresItself: true,
    ours: async () => {
      const { call, question } = await park();
      const begun = performance.now();
      await store.answer(question, { answer: "once" }, "bench");
      for await (const _ of watching.events({ call, types: ["call.taken"], follow: true })) break;
      return performance.now() - begun;
    },
    cleanUp: async () => {
      await watching.close();
      await server.close([]);
    },
  };
}
