import { Type } from "typebox";
import type { BrowserSessions } from "../browser-sessions.ts";
import { Problem } from "../problem.ts";
import { isPushEndpoint, pushKeys } from "../push.ts";
import { type Route, route } from "../route.ts";

const KEY = Type.String({ pattern: "^[A-Za-z0-9_-]{1,200}={0,2}$" });

/** Routes with which a browser asks for messages, for as long as its session lasts. */
export function pushRoutes(browsers: BrowserSessions, stateDir: string): readonly Route[] {
  return [
    route("GET /api/push", {
      summary: "The key with which a browser subscribes to messages.",
      answer: {
        ...{
          status: 200,
          description: "The server's public key (VAPID).",
          schema: Type.Object({ key: Type.String() }),
        },
      },
      handle: async () => ({ key: (await pushKeys(stateDir)).publicKey }),
    }),
    route("POST /api/push", {
      needs: "watch",
      summary: "Send messages to this browser, or with `null` no longer.",
      body: Type.Object({
        subscription: Type.Union([
          Type.Object({
            endpoint: Type.String({ maxLength: 2_000, description: "HTTPS." }),
            keys: Type.Object({ p256dh: KEY, auth: KEY }),
          }),
          Type.Null(),
        ]),
      }),
      answer: { status: 200, description: "It holds.", schema: Type.Object({ session: Type.String() }) },
      problems: { 403: "Only a browser with a session gets messages." },
      async handle({ body: { subscription }, caller }) {
        if (!("session" in caller)) throw new Problem(403, "Only a browser with a session gets messages.");
        if (subscription !== null && !isPushEndpoint(subscription.endpoint))
          throw new Problem(400, "The request does not fit: endpoint is expected to be an HTTPS URL.");
        await browsers.subscribe(caller.session, subscription ?? undefined);
        return { session: caller.session };
      },
    }),
  ];
}
