import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from "node:crypto";
import { once } from "node:events";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { type IncomingHttpHeaders, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { browserSessions } from "../../src/console/browser-sessions.ts";
import { sendNotice } from "../../src/console/notify.ts";
import { createPushSender } from "../../src/console/push.ts";
import type { Notice } from "../../src/contract/notice.ts";
import type { NetworkSettings } from "../../src/network/network-settings.ts";
import { commandLine } from "../cli/program.ts";
import { afterFile } from "../support/after-file.ts";
import { until } from "../support/until.ts";
import { temporaryFolder, toolkitWith } from "../support/workspace.ts";
import { served } from "./served.ts";

const NOTICE: Notice = {
  ...{ about: "question", title: "bash waits for your answer (risk high)", text: "Run: rm -r build" },
  ...{ thread: "main", question: "q1", risk: "high" },
};

/** A program of the user's that writes down how it was run. */
async function recording(then = "") {
  const folder = temporaryFolder();
  const program = join(folder, "tell");
  await writeFile(
    program,
    `#!/bin/sh\n{ pwd; printf '%s\\n' "$@"; cat; } > "${folder}/told.new"\n${then}\nmv "${folder}/told.new" "${folder}/told"\n`,
  );
  await chmod(program, 0o755);
  const told = () => readFile(join(folder, "told"), "utf8").catch(() => "");
  return { program, told };
}

describe("the program of the user", () => {
  test("gets the title as its last argument, the notice on stdin, no shell, and the home folder", async () => {
    const { program, told } = await recording();
    const failures: string[] = [];
    await sendNotice(NOTICE, { program: [program, "$HOME; echo"], onFailure: (text) => failures.push(text) });
    const [folder, ...lines] = (await told()).trimEnd().split("\n");
    expect(folder).toBe(process.env["HOME"]);
    expect(lines.slice(0, 2)).toEqual(["$HOME; echo", NOTICE.title]);
    expect(JSON.parse(lines[2] ?? "")).toEqual(NOTICE);
    expect(failures).toEqual([]);
  });

  test.for([
    ["does not exist", ["/nowhere/tell"], /cannot be run/],
    ["fails", ["false"], /failed \(exit code 1\)/],
  ] as const)("that %s is reported", async ([, program, reason]) => {
    const failures: string[] = [];
    await sendNotice(NOTICE, { program, onFailure: (text) => failures.push(text) });
    expect(failures).toEqual([expect.stringMatching(reason)]);
  });

  test("is run once for a question that nobody here can answer; its text is masked", async () => {
    const notices: Notice[] = [];
    const toolkit = await toolkitWith({
      ...{ policy: { shellConfirm: true }, park: { afterMs: 60_000 }, mask: { values: ["very-secret-value"] } },
      onWaiting: (notice) => notices.push(notice),
    });
    const bash = (command: string, thread: string) => toolkit.call({ name: "bash", input: { command }, thread });
    await bash("echo one", "night"); // parked at once: nobody attends
    const [parked] = await toolkit.store.questions();
    const title = "bash waits for your answer (risk low)";
    const { question } = parked ?? {};
    expect(notices).toEqual([
      { about: "question", title, text: "Run: echo one", thread: "night", question, risk: "low" },
    ]);
    const leave = await toolkit.store.attend();
    const waiting = bash("echo very-secret-value", "main"); // a secret is not parked: it waits
    await until("it is told", () => notices.length === 2);
    expect(notices[1]?.text).toBe("Run: echo [masked: secret]");
    await toolkit.store.answer(notices[1]?.question ?? "", { answer: "refuse" }, "test");
    await waiting;
    await leave();

    const here = await toolkitWith({
      ...{ policy: { shellConfirm: true }, approver: async () => ({ answer: "once" }) },
      onWaiting: (notice) => notices.push(notice),
    });
    await here.call({ name: "bash", input: { command: "echo one" } });
    expect(notices).toHaveLength(2); // it was answered here
  });

  test("of the configuration runs when a call is parked", { timeout: 60_000 }, async () => {
    const line = await commandLine();
    const { program, told } = await recording();
    await mkdir(join(line.configHome, "handrail"), { recursive: true });
    const config = `policy: { shell_confirm: true, sandbox: off }\npark: now\nnotify: [${program}]\n`;
    await writeFile(join(line.configHome, "handrail", "config.yaml"), config);
    await line.run(["call", "bash", '{"command":"echo one"}']);
    await until("it was run", async () => (await told()) !== "");
    expect(await told()).toMatch(/\nbash waits for your answer \(risk low\)\n\{.*"text":"Run: echo one"/);
  });
});

describe("messages to browsers", () => {
  test("reach those that asked, encrypted and signed, say little, and end with the session", async () => {
    const { url, received } = await pushService();
    const api = await served({ preset: "none" });
    const stateDir = join(api.file, "..");
    const begin = async (name: string) => {
      const { session, secret } = await api.browsers.create({ kind: "phone", name, address: "::1" });
      return { session, by: { headers: { authorization: `Bearer ${secret}` } } };
    };
    const [asking, silent] = [await begin("Pixel 8"), await begin("Firefox")];
    const browser = createECDH("prime256v1");
    const auth = randomBytes(16);
    const keys = { p256dh: browser.generateKeys("base64url"), auth: auth.toString("base64url") };
    const subscribe = (endpoint: string) =>
      api.ask("POST", "/api/push", { subscription: { endpoint, keys } }, asking.by);
    expect((await subscribe("http://10.0.0.1/push")).status).toBe(400);
    expect((await subscribe(`${url}/for-pixel`)).status).toBe(200);
    const { key } = (await (await api.ask("GET", "/api/push", undefined, silent.by)).json()) as { key: string };
    expect((await stat(join(stateDir, "push-keys.json"))).mode & 0o777).toBe(0o600);

    const send = createPushSender(stateDir, browserSessions(join(stateDir, "browsers")));
    await send(NOTICE);
    expect(received).toHaveLength(1);
    const [{ path, headers, body } = nothing] = received;
    expect(path).toBe("/for-pixel");
    expect(headers).toMatchObject({ "content-encoding": "aes128gcm", ttl: "86400", urgency: "high" });
    expect(claimsIn(headers.authorization ?? "", key)).toMatchObject({ aud: url });
    expect(JSON.parse(decrypted(body, browser, auth))).toEqual({
      ...{ about: "question", title: NOTICE.title, thread: "main", question: "q1", risk: "high" },
    });

    await api.browsers.revoke(asking.session.id);
    await send(NOTICE);
    expect(received).toHaveLength(1);
  });

  test("end when the push service does not know the browser any more", async () => {
    const { url, received } = await pushService(410);
    const stateDir = temporaryFolder();
    const browsers = browserSessions(join(stateDir, "browsers"));
    const { session } = await browsers.create({ kind: "phone", name: "Pixel", address: "::1" });
    const p256dh = createECDH("prime256v1").generateKeys("base64url");
    await browsers.subscribe(session.id, {
      endpoint: url,
      keys: { p256dh, auth: randomBytes(16).toString("base64url") },
    });
    const send = createPushSender(stateDir, browsers);
    await send(NOTICE);
    await send(NOTICE);
    expect(received).toHaveLength(1);
    expect(await browsers.subscriptions()).toEqual([]);
  });

  test.for<[string, (url: string) => string, number, NetworkSettings, RegExp, number]>([
    ["a private address", (url) => url.replace("http:", "https:"), 201, {}, /not public|private|this machine/, 0],
    ["a host that the user denies", (url) => url, 201, { denyHosts: ["127.0.0.1"] }, /deny_hosts/, 0],
    ["another address, by a redirect", (url) => url, 307, {}, /answered 307/, 1],
  ])("never reach %s", async ([, endpointOf, status, network, reason, requests]) => {
    const elsewhere = await pushService();
    const { url, received, connections } = await pushService(status, elsewhere.url);
    const stateDir = temporaryFolder();
    const browsers = browserSessions(join(stateDir, "browsers"));
    const { session } = await browsers.create({ kind: "phone", name: "Pixel", address: "::1" });
    const p256dh = createECDH("prime256v1").generateKeys("base64url");
    const keys = { p256dh, auth: randomBytes(16).toString("base64url") };
    await browsers.subscribe(session.id, { endpoint: endpointOf(url), keys });
    await expect(createPushSender(stateDir, browsers, network)(NOTICE)).rejects.toThrow(reason);
    expect([received.length, connections(), elsewhere.connections()]).toEqual([requests, requests, 0]);
  });
});

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const nothing: Received = { path: "", headers: {}, body: Buffer.alloc(0) };

/** A push service of this machine. */
async function pushService(status = 201, location = "") {
  const received: Received[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      received.push({ path: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks) });
      response.writeHead(status, { location }).end();
    });
  });
  server.on("connection", () => connections++);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  afterFile(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, received, connections: () => connections };
}

/** Verifies the signature of RFC 8292, section 2, and returns the claims. */
function claimsIn(authorization: string, key: string): unknown {
  const [, token = "", given] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(authorization) ?? [];
  expect(given).toBe(key);
  const [header = "", claims = "", signature = ""] = token.split(".");
  const point = Buffer.from(key, "base64url");
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString("base64url"));
  const publicKey = createPublicKey({ key: { kty: "EC", crv: "P-256", x: x!, y: y! }, format: "jwk" });
  const signed = Buffer.from(`${header}.${claims}`);
  const options = { key: publicKey, dsaEncoding: "ieee-p1363" } as const;
  expect(verify("sha256", signed, options, Buffer.from(signature, "base64url"))).toBe(true);
  return JSON.parse(Buffer.from(claims, "base64url").toString());
}

/** Decrypts a message as a browser does (RFC 8291, section 3.4; RFC 8188, section 2). */
function decrypted(body: Buffer, browser: ReturnType<typeof createECDH>, auth: Buffer): string {
  const salt = body.subarray(0, 16);
  const length = body[20] ?? 0;
  const sender = body.subarray(21, 21 + length);
  const sealed = body.subarray(21 + length);
  const derive = (secret: Buffer, by: Buffer, info: Buffer | string, size: number) =>
    Buffer.from(hkdfSync("sha256", secret, by, info, size));
  const about = Buffer.concat([Buffer.from("WebPush: info\0"), browser.getPublicKey(), sender]);
  const secret = derive(browser.computeSecret(sender), auth, about, 32);
  const key = derive(secret, salt, "Content-Encoding: aes128gcm\0", 16);
  const nonce = derive(secret, salt, "Content-Encoding: nonce\0", 12);
  const opened = createDecipheriv("aes-128-gcm", key, nonce).setAuthTag(sealed.subarray(-16));
  const text = Buffer.concat([opened.update(sealed.subarray(0, -16)), opened.final()]);
  return text.subarray(0, text.lastIndexOf(2)).toString();
}
