import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../src/agent/agent.ts";
import { createAccess } from "../../src/console/access.ts";
import { browserSessions } from "../../src/console/browser-sessions.ts";
import { type TenantParts, serveApi } from "../../src/console/server.ts";
import { scopesOf, usersIn } from "../../src/console/users.ts";
import type { Store } from "../../src/contract/activity.ts";
import type { Outputs } from "../../src/contract/tool.ts";
import type { Toolkit } from "../../src/contract/toolkit.ts";
import { createHttpEndpoint } from "../../src/mcp/http.ts";
import { keptGrants } from "../../src/policy/kept-grants.ts";
import { signatureOf } from "../../src/schedule/signature.ts";
import { readTiming } from "../../src/schedule/timing.ts";
import { scriptedModel } from "../suites/scripted-model.ts";
import { until } from "../support/until.ts";
import { temporaryFolder, toolkitWith, workspace } from "../support/workspace.ts";
import { TOKEN, receive } from "./served.ts";

/** In everything that the tenant acme has. */
const SECRET = "acmesecret";

/** An answer may repeat the id that was asked for, and nothing else. */
const SHOWN = new RegExp(`${SECRET}(?!-)`);

/** A body that fits, for each route that needs one. */
const BODIES: { readonly [route: string]: object } = {
  "POST /api/threads/{thread}/calls": { name: "ls", input: {}, wait: true },
  "POST /api/threads/{thread}/prompts": { text: "hello" },
  "POST /api/calls/{call}/activity": { data: { seen: true } },
  "POST /api/approvals/{question}": { answer: "refuse" },
  "POST /api/jobs/{job}/input": { text: "more\n" },
  "POST /api/jobs/{job}/open": { port: 8_080 },
  "POST /api/schedules/{schedule}": { action: "pause" },
  "POST /api/memories/forget": { key: `${SECRET}-key` },
  "POST /api/ai-sdk": { id: "main", messages: [{ role: "user", parts: [{ type: "text", text: "hello" }] }] },
  "POST /api/ag-ui": { threadId: "main", runId: "run", messages: [{ role: "user", content: "hello" }] },
  "POST /api/terminal/keys": { thread: "main", keys: ["Enter"] },
  "POST /api/threads/{thread}/page/input": { inputs: [{ type: "text", text: "x" }] },
  "POST /api/push": { subscription: null },
};
const QUERIES: { readonly [route: string]: string } = {
  "GET /api/search": `?text=${SECRET}`,
  "GET /api/outputs/{output}/search": `?text=${SECRET}`,
  "GET /api/memories": `?text=${SECRET}`,
};

/** Routes with a name that a client may choose: with the name of another tenant's thread, they begin one of their own. */
const BEGINS_OWN = new Set([
  "POST /api/threads/{thread}/calls",
  "POST /api/threads/{thread}/prompts",
  "POST /api/threads/{thread}/page/take",
  "GET /api/ai-sdk/{thread}/stream",
]);
/** Routes whose answer does not depend on the name: the download is refused, not its address. */
const SAYS_NOTHING = new Set(["POST /api/outputs/{output}/ticket"]);
/** In a thread without a page, nobody has taken it over: whoever's thread it is. */
const CONFLICTS = new Set(["POST /api/threads/{thread}/page/input"]);

/** Tests that tenants see nothing of each other, whatever keeps their records. */
export function tenantTests(stores: (tenant: string) => Promise<Store>): void {
  test("of another tenant no route shows, finds, changes or follows anything", { timeout: 120_000 }, async () => {
    const server = await scene(stores);
    const { ask, acme } = server;
    const session = { kind: "browser", name: SECRET, address: "::1", user: "ann", tenant: "acme" } as const;
    const begun = await server.browsers.create(session);
    const ids = { ...(await fill(acme, server.grants)), session: begun.session.id };
    const { paths } = (await (await ask(TOKEN, "GET", "/api/openapi.json")).json()) as { paths: object };
    const all = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods as object).map((method) => ({ path, method: method.toUpperCase() })),
    );
    const begins = ({ path, method }: (typeof all)[number]) => Number(BEGINS_OWN.has(`${method} ${path}`));
    const routes = all.toSorted((one, other) => begins(one) - begins(other));
    expect(routes.length).toBeGreaterThan(40);
    const wrong: string[] = [];
    for (const { path, method } of routes) {
      const route = `${method} ${path}`;
      if (route === "POST /api/triggers/{schedule}" || route === "POST /api/sessions") continue; // below
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: keyof typeof ids) => encodeURIComponent(`${ids[name]}`));
      const body = method === "GET" ? undefined : (BODIES[route] ?? {});
      const leaving = new AbortController();
      const response = await ask(server.beta, method, filled + (QUERIES[route] ?? ""), body, leaving.signal);
      const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
      if (path.includes("{") && !BEGINS_OWN.has(route) && !SAYS_NOTHING.has(route)) {
        const expected = CONFLICTS.has(route) ? 409 : 404;
        if (response.status !== expected) wrong.push(`${route}: ${response.status}`);
      }
      const text = isStream ? "" : await response.text();
      if (SHOWN.test(text)) wrong.push(`${route} shows ${text.slice(0, 200)}`);
      leaving.abort();
    }
    expect(wrong).toEqual([]);

    // The same requests of the tenant's own user are answered: what was refused is there.
    for (const path of [
      `/api/threads/${ids.thread}/messages`,
      `/api/calls/${ids.call}`,
      `/api/outputs/${ids.output}`,
      `/api/search?text=${SECRET}`,
      "/api/approvals",
      "/api/jobs",
      "/api/memories",
      "/api/schedules",
      "/api/workers",
      "/api/grants",
    ]) {
      const response = await ask(server.ann, "GET", path);
      expect([path, response.status, (await response.text()).includes(SECRET)]).toEqual([path, 200, true]);
    }
    expect(await acme.memories.get(`${SECRET}-key`)).toBeDefined();
    expect((await acme.schedules.get(ids.schedule))?.paused).toBeUndefined();
    expect((await acme.store.questions()).map(({ question }) => question)).toEqual([ids.question]);
    expect((await server.browsers.list()).map(({ id }) => id)).toContain(ids.session);
    const [job] = (await acme.store.jobs()).map(({ ended }) => ended);
    expect(job).toBeUndefined();
  });

  test("the stream of all events has those of one's own tenant only; so has the token's holder", async () => {
    const server = await scene(stores);
    const follow = (token: string) => server.ask(token, "GET", "/api/events?after=now");
    const streams = await Promise.all([server.ann, server.beta, TOKEN].map(follow));
    const made = async ({ store }: Toolkit, thread: string) =>
      await store.commit({ type: "thread.created", thread, at: 1, target: "local", workDir: "/" });
    await made(server.acme, SECRET);
    await made(server.betas, "of-beta");
    await made(server.own, "of-nobody");
    const first = await Promise.all(streams.map((stream) => receive(stream, () => true)));
    expect(first.map(([event]) => event?.data["thread"])).toEqual([SECRET, "of-beta", "of-nobody"]);
  });

  test("a signature of another tenant's schedule starts nothing, and a download needs one's own ticket", async () => {
    const server = await scene(stores);
    const ids = await fill(server.acme, server.grants);
    const secret = (await server.acme.schedules.secret(ids.trigger)) ?? "";
    const send = async (query: string) => {
      const timestamp = String(Math.floor(Date.now() / 1_000));
      const headers = { "handrail-timestamp": timestamp, "handrail-signature": signatureOf(secret, timestamp, "{}") };
      return (await fetch(`${server.url}/api/triggers/${ids.trigger}${query}`, { method: "POST", body: "{}", headers }))
        .status;
    };
    expect([await send(""), await send("?tenant=beta"), await send("?tenant=none")]).toEqual([401, 401, 401]);
    expect(await send("?tenant=acme")).toBe(202);
    for (const [token, status] of [
      [server.beta, 404],
      [server.ann, 200],
    ] as const) {
      const ticket = await server.ask(token, "POST", `/api/outputs/${ids.output}/ticket`, {});
      const { url } = (await ticket.json()) as { url: string };
      expect((await fetch(server.url + url)).status).toBe(status);
    }
  });

  test("MCP has the tools of a user's tenant, needs the scope prompt, and shares no session", async () => {
    const server = await scene(stores);
    const rpc = async (token: string, message: object, session?: string) =>
      await fetch(`${server.url}/mcp`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...(session !== undefined && { "mcp-session-id": session }),
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
      });
    const clientInfo = { name: "test", version: "1" };
    const initialize = {
      ...{ method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } },
    };
    expect((await rpc(server.watcher, initialize)).status).toBe(403);
    const session = (await rpc(server.ann, initialize)).headers.get("mcp-session-id") ?? "";
    const call = { method: "tools/call", params: { name: "bash", arguments: { command: `echo ${SECRET}` } } };
    expect((await rpc(server.beta, call, session)).status).toBe(404);
    expect((await rpc(TOKEN, call, session)).status).toBe(404);
    expect((await rpc(server.another, call, session)).status).toBe(404); // a user of the same tenant
    expect(await (await rpc(server.ann, call, session)).text()).toContain(SECRET);
    const found = async ({ store }: Toolkit) => (await store.search({ text: SECRET })).hits.length > 0;
    expect(await Promise.all([server.acme, server.betas, server.own].map(found))).toEqual([true, false, false]);
  });

  test("a session ends when its user moves to another tenant, and a phone has the user who paired it", async () => {
    const server = await scene(stores);
    const begin = async (token: string) =>
      (await (await server.ask(token, "POST", "/api/sessions", { name: "Firefox" })).json()) as {
        secret: string;
        session: { user?: string; tenant?: string };
      };
    const access = createAccess({ token: TOKEN, host: "127.0.0.1", users: server.users });
    const open = (code: string) => {
      const request = new Request(server.url, { headers: { authorization: `Bearer ${code}` } });
      return access.callerOf(request, { address: "127.0.0.1", isEncrypted: false }, "pairing");
    };
    expect(open(access.pair(server.users.byName("ann")))).toMatchObject({ user: { name: "ann", tenant: "acme" } });
    expect(open(access.pair())).toEqual({ kind: "pairing" });
    const { secret, session } = await begin(server.ann);
    expect(session).toMatchObject({ user: "ann", tenant: "acme" });
    expect((await server.ask(secret, "GET", "/api/threads")).status).toBe(200);
    await server.users.set({ name: "ann", ...scopesOf("administer"), tenant: "beta" });
    expect((await server.ask(secret, "GET", "/api/threads")).status).toBe(401);
  });

  test("the users of a tenant that cannot be opened, or does not exist, are refused without its name", async () => {
    const server = await scene(stores);
    const ghost = await server.users.set({ name: "ghost", ...scopesOf("watch"), tenant: "none" });
    const broken = await server.users.set({ name: "broken", ...scopesOf("watch"), tenant: "broken" });
    for (const [token, status] of [
      [ghost, 403],
      [broken, 503],
    ] as const) {
      const response = await server.ask(token, "GET", "/api/threads");
      expect(response.status).toBe(status);
      expect(await response.text()).not.toMatch(/acme|beta|does not open/);
    }
  });
}

/** A server of people without a tenant and of the tenants acme and beta. */
async function scene(stores: (tenant: string) => Promise<Store>) {
  const folder = temporaryFolder();
  const users = usersIn(join(folder, "users.json"));
  const browsers = browserSessions(join(folder, "browsers"));
  const grants = keptGrants(join(folder, "grants"));
  const toolkitOf = async (name: string) =>
    await toolkitWith({ workDir: await workspace(), store: await stores(name), preset: "all" });
  const [own, acme, betas] = [await toolkitOf("none"), await toolkitOf("acme"), await toolkitOf("beta")];
  const model = scriptedModel([]);
  const parts = (toolkit: Toolkit, kept = keptGrants(temporaryFolder())): TenantParts => ({
    ...{ toolkit, mcp: createHttpEndpoint(toolkit, { hosts: "checked" }), grants: kept },
    openAgent: (thread) => createAgent({ model, toolkit, thread }),
  });
  const server = await serveApi({
    ...{ ...parts(own), token: TOKEN, browsers, users, stateDir: folder },
    tenants: {
      names: ["acme", "beta", "broken"],
      async open(name) {
        if (name === "broken") throw new Error(`${SECRET} does not open`);
        return {
          ...parts(name === "acme" ? acme : betas, name === "acme" ? grants : undefined),
          close: async () => {},
        };
      },
    },
  });
  onTestFinished(async () => {
    await server.close();
    await Promise.all([own, acme, betas].map((toolkit) => toolkit.close()));
  });
  const add = async (name: string, tenant: string, scopes = "prompt,answer,administer") =>
    await users.set({ name, ...scopesOf(scopes), tenant });
  const [ann, another, beta] = [await add("ann", "acme"), await add("another", "acme"), await add("bob", "beta")];
  const watcher = await add("wilma", "acme", "watch");
  const ask = async (token: string, method: string, path: string, body?: object, signal?: AbortSignal) =>
    await fetch(server.url + path, {
      ...{ method, headers: { authorization: `Bearer ${token}`, "content-type": "application/json" } },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    });
  return { url: server.url, ask, users, browsers, grants, own, acme, betas, ann, another, beta, watcher };
}

/** Gives a tenant one of everything. Resolves to the ids. */
async function fill(toolkit: Toolkit, grants: ReturnType<typeof keptGrants>) {
  const { store, backend } = toolkit;
  const thread = `${SECRET}-thread`;
  await store.commit({
    type: "thread.created",
    thread,
    at: Date.now(),
    target: backend.name,
    workDir: backend.workDir,
  });
  const said = { role: "user", from: "person", content: [{ type: "text", text: SECRET }] } as const;
  await store.commit({ type: "message.added", thread, at: Date.now(), message: said });
  const call = `${SECRET}-call`;
  const command = `echo ${SECRET}; sleep 600`;
  const approved = async () => ({ answer: "once", by: "the test" }) as const;
  await toolkit.call({ name: "bash", input: { command, background: true }, thread, id: call }, { approver: approved });
  const unanswered = () => new Promise<never>(() => {});
  void toolkit.call({ name: "bash", input: { command: `touch ${SECRET}` }, thread }, { approver: unanswered });
  await until("it is asked", async () => (await store.questions()).length > 0);
  const [open] = await store.questions();
  const [job] = await store.jobs();
  const output = await (toolkit.outputs as Toolkit["outputs"] & Outputs).save(SECRET);
  await toolkit.memories.store([{ key: `${SECRET}-key`, content: SECRET, category: "core" }]);
  const schedule = { name: SECRET, overlap: "queue", deleteAfterRun: false, maxSeconds: 60 } as const;
  const add = async (written: Parameters<typeof readTiming>[0]) => {
    const timing = readTiming(written, Date.now());
    const origin = { target: "elsewhere:/", thread };
    return (await toolkit.schedules.add({ ...schedule, timing, work: { command: "true" } }, origin)).id;
  };
  await grants.keep({ workspace: { backend: "local", folder: "/" }, key: SECRET, label: SECRET, since: 1 });
  const [grant] = await grants.list();
  await store.workers?.report({
    ...{ id: "abcd", name: SECRET, host: "far", pid: process.pid, workDir: "/srv", home: "/home/ann", tools: [] },
    ...{ sandboxed: true, concurrency: 1, maxWaiting: 1, running: 0, averageMs: 0, startedMs: 1 },
  });
  return {
    ...{ thread, call, output, job: job?.id ?? 0, question: open?.question ?? "", grant: grant?.id ?? "" },
    schedule: await add({ kind: "every", every_ms: 3_600_000 }),
    trigger: await add({ kind: "http" }),
  };
}
