import { Type } from "typebox";
import { type Access, type Caller, PAIRING_MS, requirePrivate, userOf } from "../access.ts";
import type { BrowserSessions } from "../browser-sessions.ts";
import { Problem } from "../problem.ts";
import { type Route, route } from "../route.ts";
import { BROWSER_SESSION, list } from "../schemas.ts";

export interface SessionRoutesOptions {
  readonly browsers: BrowserSessions;
  readonly access: () => Access | undefined;
  /** The address at which a phone reaches the server; `undefined` if none does, or only unencrypted. */
  readonly phoneUrl: () => string | undefined;
}

/** Routes for the sessions of browsers and phones, and for what they cannot send a secret with. */
export function sessionRoutes({ browsers, access, phoneUrl }: SessionRoutesOptions): readonly Route[] {
  return [
    route("POST /api/sessions", {
      summary: "Begin the session of this browser.",
      accepts: "pairing",
      people: true,
      needs: "watch",
      body: Type.Object({
        name: Type.Optional(Type.String({ maxLength: 60, description: "What people call the browser." })),
      }),
      answer: {
        ...{
          status: 201,
          description: "The session, and the secret that is sent like a token. It is shown only here.",
        },
        schema: Type.Object({ session: BROWSER_SESSION, secret: Type.String() }),
      },
      problems: { 403: "The request comes from a browser that has a session, from a command, or is not encrypted." },
      async handle({ body: { name = "" }, caller, peer }) {
        requirePrivate(peer);
        if ("session" in caller) throw new Problem(403, "This browser has a session.");
        const kind = caller.kind === "pairing" ? "phone" : "browser";
        const shown = name.replaceAll(/[\p{C}\s]+/gu, " ").trim();
        const user = userOf(caller)?.name;
        const whose = user === undefined ? {} : { user };
        return await browsers.create({ kind, name: shown === "" ? "unnamed" : shown, address: peer.address, ...whose });
      },
    }),
    route("GET /api/sessions", {
      summary: "The sessions of browsers and phones, the oldest first.",
      answer: { status: 200, description: "The sessions.", schema: list("sessions", BROWSER_SESSION) },
      async handle({ caller }) {
        return {
          sessions: (await browsers.list()).map((each) => ({ ...each, isCaller: each.id === sessionOf(caller) })),
        };
      },
    }),
    route("POST /api/sessions/{session}/revoke", {
      summary: "End a session, and its streams, at once.",
      answer: { status: 200, description: "It has ended.", schema: Type.Object({ session: Type.String() }) },
      problems: { 404: "There is no such session." },
      people: true,
      async handle({ path: { session = "" } }) {
        if (!(await browsers.revoke(session))) throw new Problem(404, `There is no session ${session}.`);
        return { session };
      },
    }),
    route("POST /api/pairings", {
      needs: "watch",
      summary: "Make a link that begins the session of a phone, once. The session is that of the user who asks.",
      answer: {
        ...{ status: 201, description: `The link. It is valid for ${PAIRING_MS / 60_000} minutes.` },
        schema: Type.Object({ url: Type.String(), untilMs: Type.Number() }),
      },
      problems: { 403: "A phone or a command asks.", 409: "A phone cannot reach the server, or only unencrypted." },
      people: true,
      async handle({ caller }) {
        if (caller.kind === "phone") throw new Problem(403, "Pair a phone from a browser on a computer.");
        const url = phoneUrl();
        const code = access()?.pair(userOf(caller));
        if (url !== undefined && code !== undefined)
          return { url: pairingLink(url, code), untilMs: Date.now() + PAIRING_MS };
        throw new Problem(
          409,
          "A phone needs an encrypted connection: start `handrail serve` with --host, --cert and --key.",
        );
      },
    }),
    route("POST /api/outputs/{output}/ticket", {
      needs: "watch",
      summary: "Make the address of one download.",
      answer: {
        ...{ status: 201, description: "The address. It works once, within a minute, without a token." },
        schema: Type.Object({ url: Type.String() }),
      },
      async handle({ path: { output = "" }, caller }) {
        const path = `/api/outputs/${encodeURIComponent(output)}/download`;
        return { url: `${path}?ticket=${access()?.ticket(path, caller)}` };
      },
    }),
  ];
}

/** The link that a phone opens. The code is behind `#`, so that it is not in a request's address. */
export function pairingLink(url: string, code: string): string {
  return `${url}/#pair=${code}`;
}

function sessionOf(caller: Caller): string | undefined {
  return "session" in caller ? caller.session : undefined;
}
