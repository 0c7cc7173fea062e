import { Type } from "typebox";
import { type Route, route } from "../route.ts";
import { list } from "../schemas.ts";
import type { Finding } from "../finding.ts";

const FINDING = Type.Object({
  name: Type.String(),
  required: Type.Boolean({ description: "False: Handrail works without it, with fewer features." }),
  status: Type.Enum(["ok", "missing", "broken"]),
  detail: Type.String(),
  fix: Type.Optional(Type.String({ description: "What to do where it is not ok." })),
});

/** Routes for the results of `handrail doctor` on the server. */
export function doctorRoutes(doctor: (() => Promise<readonly Finding[]>) | undefined): readonly Route[] {
  if (doctor === undefined) return [];
  return [
    route("GET /api/doctor", {
      summary: "What works on this machine, and what to do where it does not.",
      answer: { status: 200, description: "The findings.", schema: list("checks", FINDING) },
      handle: async () => ({ checks: await doctor() }),
    }),
  ];
}
