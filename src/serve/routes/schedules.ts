import { Type } from "typebox";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { targetOf } from "../../core/call/park.ts";
import { SIGNATURE_MS, isSigned } from "../../record/schedule/signature.ts";
import { inWords, loadWords, nextRuns } from "../../record/schedule/timing.ts";
import { Problem } from "../problem.ts";
import { type Route, route } from "../route.ts";
import { RUN, SCHEDULE } from "../schemas.ts";

/** How far ahead planned times are listed, in milliseconds, and how many of each schedule. */
const AHEAD_MS = 86_400_000;
const AHEAD = 48;

/** The number of runs in one answer. */
const RUNS = 50;

/** Routes for schedules and their runs, and for the signed requests that start one. */
export function scheduleRoutes({ schedules, backend, mask }: Toolkit): readonly Route[] {
  const existing = async (id: string) => {
    const found = await schedules.get(id);
    if (found === undefined) throw new Problem(404, `There is no schedule ${id}.`);
    return found;
  };
  return [
    route("GET /api/schedules", {
      summary: "The schedules of all folders, and the newest runs.",
      answer: {
        status: 200,
        description: "`attended`: whether a process runs the schedules of this server's folder.",
        schema: Type.Object({
          attended: Type.Boolean(),
          schedules: Type.Array(SCHEDULE),
          runs: Type.Array(RUN),
        }),
      },
      async handle() {
        await loadWords();
        const now = Date.now();
        const all = (await schedules.list()).map(({ id, name, target, timing, work, paused, failures, nextMs }) => ({
          ...{ id, name, target, failures, words: inWords(timing) },
          ...(work.command === undefined ? { prompt: work.prompt } : { command: work.command }),
          ...(paused !== undefined && { paused }),
          next:
            paused !== undefined || nextMs === undefined
              ? []
              : [nextMs, ...nextRuns(timing, nextMs, AHEAD)].filter((time) => time < now + AHEAD_MS || time === nextMs),
        }));
        const attended = await schedules.isAttended(targetOf(backend));
        return mask({ attended, schedules: all, runs: await schedules.runs({ limit: RUNS }) });
      },
    }),
    route("POST /api/schedules/{schedule}", {
      summary: "Run now, pause, resume or remove a schedule.",
      people: true,
      body: Type.Object({ action: Type.Enum(["run", "pause", "resume", "remove"]) }),
      answer: { status: 200, description: "It is done; a run is due now.", schema: Type.Object({ id: Type.String() }) },
      problems: { 404: "There is no such schedule.", 409: "A run of it has not ended." },
      async handle({ path: { schedule: id = "" }, body: { action } }) {
        await existing(id);
        if (action === "remove") await schedules.remove(id);
        else if (action === "run") {
          const { refused } = await schedules.fire(id, "person");
          if (refused !== undefined) throw new Problem(409, `It was not started: ${refused}.`);
        } else await schedules.pause(id, action === "pause" ? "by a person" : undefined);
        return { id };
      },
    }),
    route("POST /api/triggers/{schedule}", {
      summary: "Start a run with a signed request.",
      accepts: "signature",
      answer: { status: 202, description: "A run is due now.", schema: Type.Object({ id: Type.String() }) },
      problems: {
        401: "No such trigger, a wrong signature, or one of another time.",
        409: "The request was sent before, or a run has not ended.",
        413: "The body is too large.",
      },
      async handle({ path: { schedule: id = "" }, headers, bytes }) {
        const secret = await schedules.secret(id);
        const signature = headers.get("handrail-signature") ?? "";
        const request = { timestamp: headers.get("handrail-timestamp") ?? "", signature, body: await bytes() };
        if (secret === undefined || !isSigned(secret, request, Date.now()))
          throw new Problem(401, `Expected a signature of the last ${SIGNATURE_MS / 60_000} minutes for this trigger.`);
        if (!(await schedules.useSignature(`${id} ${signature}`, 2 * SIGNATURE_MS)))
          throw new Problem(409, "This request was sent before.");
        const { refused } = await schedules.fire(id, "http");
        if (refused !== undefined) throw new Problem(409, `No run was started: ${refused}.`);
        return { id };
      },
    }),
  ];
}
