import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { type Browser, chromium } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { CHROMIUM_ARGUMENTS } from "../../../src/tools/web/browser/arguments.ts";
import { type BrowserGuard, type BrowserGuardOptions, browserGuard } from "../../../src/tools/web/browser/guard.ts";
import type { BrowserRequest } from "../../../src/tools/web/browser/requests.ts";
import { afterFile } from "../../support/after-file.ts";
import { mustHaveChromium } from "../../support/browser.ts";
import { representatives } from "../../support/cases.ts";
import { installed } from "../../support/here.ts";
import { until } from "../../support/until.ts";
import { listening } from "../../support/web-server.ts";
import { AGAIN, attackSite, ways } from "./attacks.ts";

const skipped = mustHaveChromium();

const guards: BrowserGuard[] = [];
let browser: Promise<Browser> | undefined;
afterFile(async () => {
  await (await browser)?.close();
  await Promise.all(guards.map((guard) => guard.close()));
});

const site = () =>
  listening(
    createServer(({ url = "" }, response) => {
      const { status, headers, body } = attackSite(url);
      response.writeHead(status, { ...headers }).end(body);
    }),
  ).then((address) => Number(address.split(":")[1]));

/** A server that nothing may reach: what was requested, and how many connections there were. */
async function canary() {
  const paths = new Set<string>();
  let connections = 0;
  const web = createServer(
    ({ url = "" }, response) => (paths.add(url.slice(1).replace(/\?$/, "")), response.end("secret")),
  );
  web.on("upgrade", ({ url = "" }, socket) => (paths.add(url.slice(1)), socket.destroy()));
  const address = await listening(createTcpServer((socket) => (connections++, web.emit("connection", socket))));
  return { port: Number(address.split(":")[1]), paths, connections: () => connections };
}

/** A guarded context of a Chromium that all tests share, and what its guard refused so far. */
async function guarded(
  options: Partial<BrowserGuardOptions> & { readonly jobs?: { readonly [port: number]: number } },
) {
  const { jobs = {}, ...more } = options;
  const asked: BrowserRequest[] = [];
  const guard = await browserGuard({
    judge: () => ({ verdict: "allowed" }),
    async permit(request) {
      asked.push(request);
      return { verdict: "refused", reason: "the person refused" };
    },
    async reachPort(port) {
      const at = jobs[port];
      return at === undefined ? undefined : { host: "127.0.0.1", port: at };
    },
    lookup: async () => [{ address: "127.0.0.1", family: 4 }],
    environment: {},
    ...more,
  });
  guards.push(guard);
  browser ??= chromium.launch({ executablePath: installed("chromium") ?? "chromium", args: [...CHROMIUM_ARGUMENTS] });
  const context = await (await browser).newContext({ proxy: guard.proxy });
  onTestFinished(() => context.close());
  await guard.guard(context);
  const refused = new Map<string, string>();
  const page = await context.newPage();
  let crashed = false;
  page.on("crash", () => (crashed = true));
  const refusals = () => {
    if (crashed) throw new Error("Page crashed");
    for (const { url, reason } of guard.takeRefused()) refused.set(url, reason);
    return refused;
  };
  return { guard, context, page, asked, refusals };
}

test.skipIf(skipped)("a page loads through the proxy, and a port of a job is localhost", async () => {
  const port = await site();
  const network = { allowHosts: [`site.example:${port}`], allowPrivate: [`site.example:${port}`] };
  const { guard, page, refusals } = await guarded({ network, jobs: { 3_000: port } });
  for (const url of [`http://site.example:${port}/`, "http://localhost:3000/"]) {
    await guard.navigating(url, () => page.goto(url));
    expect(await page.title()).toBe("home");
  }
  expect([...refusals()]).toEqual([]);
  await expect(guard.navigating("http://localhost:3001/", async () => {})).rejects.toThrow("no job of this thread");
  await expect(guard.navigating("file:///etc/passwd", async () => {})).rejects.toThrow("does not open file: URLs");
  await expect(guard.navigating("http://example.org/", async () => {})).rejects.toThrow("http: is not encrypted");
});

test.skipIf(skipped)(
  "a redirect of a navigation asks, a page's own requests do not, threads are told apart",
  async () => {
    const port = await site();
    const allowHosts = [`a.example:${port}`, `b.example:${port}`];
    const network = { allowHosts, allowPrivate: allowHosts };
    const judge: BrowserGuardOptions["judge"] = ({ url }) =>
      url.includes("b.example") ? { verdict: "refused", reason: "the page may not" } : { verdict: "allowed" };
    const one = await guarded({ network, judge });
    const other = await guarded({ network });
    const [a, b] = [`http://a.example:${port}`, `http://b.example:${port}`];
    const redirect = `${a}/redirect?code=302&to=${encodeURIComponent(`${b}/asked`)}`;
    await one.guard.navigating(redirect, () => one.page.goto(redirect).catch(() => undefined));
    expect(one.asked.map(({ url }) => url)).toEqual([`${b}/asked`]);
    const page = await one.context.newPage();
    await one.guard.navigating(`${a}/`, () => page.goto(`${a}/`));
    await page.evaluate((to) => fetch(to, { mode: "no-cors" }).catch(() => undefined), `${b}/own`);
    expect(one.asked).toHaveLength(1);
    expect([...one.refusals()]).toEqual([
      [`${b}/asked`, "the person refused"],
      [`${b}/own`, "the page may not"],
    ]);
    await other.guard.navigating(`${b}/`, () => other.page.goto(`${b}/`));
    expect(await other.page.title()).toBe("home");
    expect([...other.refusals()]).toEqual([]);
  },
);

/**
 * What no page may reach, by the port of a canary on this machine: each kind that Chromium or the guard treats in its own
 * way (Chromium passes loopback, names below localhost and link-local addresses by a proxy). All addresses that are
 * private are in `test/machine/network/url.test.ts`.
 */
const TARGETS: { readonly [what: string]: (port: number) => string } = {
  "a port of this machine that no job listens on": (port) => `http://localhost:${port}`,
  "an address of loopback": (port) => `http://127.0.0.1:${port}`,
  "loopback in IPv6": (port) => `http://[::ffff:127.0.0.1]:${port}`,
  "a name below localhost": (port) => `http://x.localhost:${port}`,
  "the metadata service": () => "http://169.254.169.254",
  "a name that leads to loopback": (port) => `http://rebound.example:${port}`,
  "a file": () => "file:///etc/passwd",
};

test.skipIf(skipped)(`all ${ways.length} ways to request something work where they may`, AGAIN, async () => {
  const [port, there] = [await site(), await canary()];
  const { guard, page, refusals } = await guarded({ jobs: { 3_000: port, [there.port]: there.port } });
  const url = `http://localhost:3000/attack?to=${encodeURIComponent(`http://localhost:${there.port}`)}`;
  await guard.navigating(url, () => page.goto(url));
  await expect.poll(() => refusals() && ways.filter((way) => !there.paths.has(way))).toEqual([]);
  expect(there.paths).not.toContain("service-worker");
});

test.skipIf(skipped).each(representatives(Object.entries(TARGETS), 2))(
  "no way leads to %s",
  AGAIN,
  async (_, target) => {
    const [port, there] = [await site(), await canary()];
    const rebound = `rebound.example:${there.port}`; // the settings name it, so only its address is wrong
    const { guard, page, context, refusals } = await guarded({
      jobs: { 3_000: port },
      network: { allowHosts: [rebound] },
    });
    const to = target(there.port);
    const url = `http://localhost:3000/attack?to=${encodeURIComponent(to)}`;
    await guard.navigating(url, () => page.goto(url));
    const isFile = to.startsWith("file:");
    const seen = () =>
      ways.filter((way) => [...refusals().keys()].some((each) => each.replace(/\?$/, "").endsWith(`/${way}`)));
    const unseen = ways.filter((way) => !way.endsWith("web-socket"));
    if (!isFile) await expect.poll(seen).toEqual(expect.arrayContaining(to.includes("rebound") ? [] : unseen));
    await until("it was refused", () => refusals().size > 0);
    expect({ connections: there.connections(), paths: [...there.paths] }).toEqual({ connections: 0, paths: [] });
    const frames = context.pages().flatMap((each) => each.frames().map((frame) => frame.url()));
    expect(frames.filter((each) => each.startsWith("file:"))).toEqual([]);
  },
);

/** A page that sends to a port by UDP, and has `done` when WebRTC and WebTransport have ended their attempts. */
const sendByUdp = (port: number) => `(async () => {
  const connection = new RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.1:${port}" }] });
  connection.createDataChannel("x");
  const gathered = new Promise((resolve) => {
    connection.onicegatheringstatechange = () => connection.iceGatheringState === "complete" && resolve();
  });
  await connection.setLocalDescription(await connection.createOffer());
  await new WebTransport("https://127.0.0.1:${port}/").ready.catch(() => {});
  await gathered;
})()`;

test.skipIf(skipped)("WebRTC and WebTransport send no datagram, which they do in an unguarded browser", async () => {
  const port = await site();
  const udp = createSocket("udp4");
  let datagrams = 0;
  udp.on("message", () => datagrams++).bind(0, "127.0.0.1");
  await once(udp, "listening");
  const { port: there } = udp.address();
  const { guard, page } = await guarded({ jobs: { 3_000: port } });
  await guard.navigating("http://localhost:3000/", () => page.goto("http://localhost:3000/"));
  await page.evaluate(sendByUdp(there));
  expect(datagrams).toBe(0);
  const free = await chromium.launch({ executablePath: installed("chromium") ?? "chromium" });
  const open = await free.newPage();
  await open.goto(`http://localhost:${port}/`);
  void open.evaluate(sendByUdp(there)).catch(() => undefined);
  await until("a datagram came", () => datagrams > 0);
  await free.close();
  udp.close();
});
