import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Caller, createAccess } from "../../src/serve/access.ts";
import { browserSessions } from "../../src/serve/browser-sessions.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { type Served, TOKEN, receive, saveOutput, served } from "./served.ts";

type Begun = { readonly session: { readonly id: string; readonly kind: string }; readonly secret: string };

const begin = ({ json }: Served, name?: string) => json<Begun>("POST", "/api/sessions", { ...(name && { name }) });
const withSecret = (secret: string) => ({ headers: { authorization: `Bearer ${secret}` } });

describe("the session of a browser", () => {
  test("is begun with the token, authorizes the API, and is kept as a hash", async () => {
    const api = await server;
    const { session, secret } = await begin(api, "Firefox\non Linux\u202e");
    expect(session).toMatchObject({ kind: "browser", name: "Firefox on Linux", address: "127.0.0.1" });
    const listed = await api.ask("GET", "/api/sessions", undefined, withSecret(secret));
    expect(await listed.json()).toMatchObject({ sessions: [{ id: session.id, isCaller: true }] });
    const folder = join(api.file, "..", "browsers");
    const kept = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
    expect(kept.join("")).toContain("Firefox");
    expect(kept.join("")).not.toContain(secret.split(".")[1]);
  });

  test("begins no other session, pairs only with TLS, and is not for MCP", async () => {
    const api = await server;
    const { secret } = await begin(api);
    expect((await api.ask("POST", "/api/sessions", {}, withSecret(secret))).status).toBe(403);
    const paired = await api.ask("POST", "/api/pairings", {}, withSecret(secret));
    expect(await paired.json()).toMatchObject({ status: 409, detail: expect.stringContaining("--cert") as string });
  });

  test.for<[string, (api: Served, id: string) => Promise<unknown>]>([
    ["over the API", ({ json }, id) => json("POST", `/api/sessions/${id}/revoke`, {})],
    ["by another process", ({ file }, id) => browserSessions(join(file, "..", "browsers")).revoke(id)],
  ])("that is revoked %s ends its streams, and its later answers get 401", async ([, revoke]) => {
    const api = await server;
    const { session, secret } = await begin(api);
    const other = await begin(api);
    const stream = await api.ask("GET", "/api/events", undefined, withSecret(secret));
    expect(stream.status).toBe(200);
    const ended = receive(stream, () => false);
    await revoke(api, session.id);
    await ended; // the server ends it
    for (const path of ["/api/overview", "/api/approvals", "/api/sessions"]) {
      expect((await api.ask("GET", path, undefined, withSecret(secret))).status).toBe(401);
    }
    const answer = await api.ask("POST", "/api/approvals/any", { answer: "once" }, withSecret(secret));
    expect(answer.status).toBe(401);
    expect((await api.ask("GET", "/api/overview", undefined, withSecret(other.secret))).status).toBe(200);
  });

  test("ends when it was not used for 90 days; a wrong secret of its id is refused", async () => {
    let now = Date.UTC(2026, 0, 1);
    const sessions = browserSessions(temporaryFolder(), () => now);
    const { session, secret } = await sessions.create({ kind: "phone", name: "Pixel", address: "::1" });
    expect(sessions.use(`${session.id}.${"A".repeat(43)}`, "::1")).toBeUndefined();
    now += 89 * 86_400_000;
    expect(sessions.use(secret, "10.0.0.7")?.id).toBe(session.id);
    await until("its use is noted", async () => (await sessions.list())[0]?.address === "10.0.0.7");
    now += 89 * 86_400_000;
    expect(sessions.use(secret, "10.0.0.7")?.id).toBe(session.id);
    await until("its use is noted", async () => (await sessions.list())[0]?.usedMs === now);
    now += 91 * 86_400_000;
    expect(sessions.use(secret, "10.0.0.7")).toBeUndefined();
    expect(await sessions.list()).toEqual([]);
  });

  test("downloads with a ticket that works once, for that output", async () => {
    const api = await server;
    const [output, another] = [await saveOutput(api, "the text"), await saveOutput(api, "another")];
    const { secret } = await begin(api);
    const asked = async () => {
      const made = await api.ask("POST", `/api/outputs/${output}/ticket`, {}, withSecret(secret));
      return ((await made.json()) as { url: string }).url;
    };
    const get = (url: string) => fetch(api.url + url);
    const url = await asked();
    expect(await (await get(url)).text()).toBe("the text");
    expect((await get(url)).status).toBe(401);
    expect((await get((await asked()).replace(output, another))).status).toBe(401);
    expect((await get((await asked()).replace("/download", ""))).status).toBe(401);
  });
});

describe("from another machine", () => {
  const peer = { address: "192.168.1.9", isEncrypted: false };
  const sessions = browserSessions(temporaryFolder());
  const access = createAccess({ token: TOKEN, host: "0.0.0.0", browsers: sessions });
  const from = (secret: string) => new Request("http://x/", { headers: { authorization: `Bearer ${secret}` } });

  test("a browser is refused without TLS; a program with the token is not", async () => {
    const { secret } = await sessions.create({ kind: "browser", name: "Firefox", address: peer.address });
    expect(() => access.callerOf(from(secret), peer)).toThrow(/--cert and --key/);
    expect(() => access.callerOf(from(access.pair()), peer, "pairing")).toThrow(/--cert and --key/);
    expect(access.callerOf(from(secret), { ...peer, isEncrypted: true })).toMatchObject({ name: "Firefox" });
    expect(access.callerOf(from(TOKEN), peer)).toEqual({ kind: "program" } satisfies Caller);
  });

  test("a phone is paired over TLS with a code that works once and for five minutes", async () => {
    let now = 0;
    const own = createAccess({ token: TOKEN, host: "0.0.0.0", browsers: sessions, now: () => now });
    const encrypted = { ...peer, isEncrypted: true };
    const [first, second] = [own.pair(), own.pair()];
    expect(() => own.callerOf(from(first), encrypted)).toThrow(/session has ended/); // only to begin a session
    expect(own.callerOf(from(first), encrypted, "pairing")).toEqual({ kind: "pairing" });
    expect(() => own.callerOf(from(first), encrypted, "pairing")).toThrow(/session has ended/);
    now = 300_001;
    expect(() => own.callerOf(from(second), encrypted, "pairing")).toThrow(/session has ended/);
  });
});

const server = served({ preset: "none" });
