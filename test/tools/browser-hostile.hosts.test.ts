import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { describe, expect, test } from "vitest";
import { mustHaveChromium } from "../support/browser.ts";
import { browserProcess } from "../support/browser-process.ts";
import { programProblem, mustBeHere } from "../support/here.ts";
import { plainText } from "../support/plain-text.ts";
import { listening } from "../support/web-server.ts";
import { temporaryFolder, toolkitWith } from "../support/workspace.ts";
import { AGAIN, attackSite } from "./web/attacks.ts";

const problem = mustHaveChromium();

/** A site that attacks, and a toolkit whose model may open it and whose person approves everything. */
async function attacked() {
  const site = await listening(
    createServer(({ url = "" }, response) => {
      const { status, headers, body } = attackSite(url);
      response.writeHead(status, { ...headers }).end(body);
    }),
  );
  const toolkit = await toolkitWith({
    preset: "assistant",
    policy: { autonomy: "full", network: { allowHosts: [site], allowPrivate: [site] } },
    approver: async () => ({ answer: "always" }),
  });
  const act = async (action: string, input: object = {}) =>
    plainText(await toolkit.call({ name: "browser", input: { action, ...input } }));
  async function open(path: string) {
    const shown = await act("open", { url: `http://${site}${path}` });
    if (shown.includes("The tab crashed")) throw new Error("Page crashed");
    return shown;
  }
  return { act, open };
}

/** A server that nothing may reach: how many connections and datagrams there were. */
async function canary() {
  let reached = 0;
  const server = createTcpServer((socket) => (reached++, socket.destroy()));
  const port = Number((await listening(server)).split(":")[1]);
  const udp = createSocket("udp4").on("message", () => reached++);
  udp.bind(port, "127.0.0.1");
  await once(udp, "listening");
  udp.unref();
  return { port, reached: () => reached };
}

const TARGETS: { readonly [what: string]: (port: number) => string } = {
  "the metadata service": () => "http://169.254.169.254",
  loopback: (port) => `http://127.0.0.1:${port}`,
  "a port of this machine": (port) => `http://localhost:${port}`,
  "a file": () => "file:///etc/passwd",
};

describe.skipIf(problem !== undefined)("a page that a model has opened", () => {
  test.each(Object.entries(TARGETS))("reaches %s in no way, whatever is approved", AGAIN, async (_, target) => {
    const [{ act, open }, there] = [await attacked(), await canary()];
    const to = target(there.port);
    const opened = await open(`/attack?to=${encodeURIComponent(to)}`);
    const [after, tabs] = [await act("snapshot"), await act("tabs")];
    const shown = [opened, after, tabs, await open("/")].join("\n");
    expect(shown).not.toMatch(/root:.?x:0:0/);
    expect(shown).toContain(to.startsWith("file:") ? "Not allowed to load local resource" : `[Refused: ${to}`);
    expect(await act("open", { url: to })).toMatch(
      /not allowed|is not supported|cannot be opened|no job of this thread/,
    );
    expect(there.reached()).toBe(0);
  });

  test("sends nothing by UDP", async () => {
    const [{ act, open }, there] = [await attacked(), await canary()];
    await open("/");
    expect(await act("evaluate", { script: byUdp(there.port) })).toContain("no more ways");
    expect(there.reached()).toBe(0);
  });
});

/** WebRTC and WebTransport, which use UDP. Without any network WebRTC never ends to look for one. */
const byUdp = (port: number) => `async () => {
  const peer = new RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.1:${port}" }] });
  peer.createDataChannel("x");
  const looked = new Promise((resolve) => {
    peer.onicegatheringstatechange = () => peer.iceGatheringState === "complete" && resolve();
    setTimeout(resolve, 2_000);
  });
  await peer.setLocalDescription(await peer.createOffer());
  await new WebTransport("https://127.0.0.1:${port}/").ready.catch(() => {});
  await looked;
  return "no more ways";
}`;

const namespaceProblem = programProblem("unshare") ?? programProblem("ip");
mustBeHere("a network of its own", namespaceProblem);

describe.skipIf(problem !== undefined || namespaceProblem !== undefined)(
  "a name that leads to a public address",
  () => {
    test("does not reach loopback when it leads there later", async () => {
      // A network of its own, in which a public address is this machine's, and /etc/hosts a file that changes.
      const folder = temporaryFolder();
      const prepare = `
      ip link set lo up && ip addr add 93.184.215.14/32 dev lo || exit 1
      echo "93.184.215.14 rebound.example" > ${folder}/hosts
      mount --bind ${folder}/hosts /etc/hosts || exit 1
      ${process.execPath} -e '${REBINDING}' ${folder}/hosts >/dev/null 2>&1 &
      exec "$@"`;
      const prefix = ["unshare", "--user", "--map-root-user", "--net", "--mount", "sh", "-c", prepare, "sh"];
      const network = { allowHosts: ["rebound.example:8080"] };
      const toolkit = { stateDir: folder, workDir: folder, sandbox: "off", policy: { network } };
      const own = browserProcess({ toolkit, prefix });
      const url = "http://rebound.example:8080/";
      await expect.poll(() => own.act("open", { url }), { timeout: 20_000 }).toContain("first: public");
      await own.act("wait", { text: "second:" });
      expect(await own.act("text")).toContain("second: refused");
      expect(await own.act("network")).toContain(`GET 403 fetch ${url}secret`);
      expect(existsSync(`${folder}/hosts.reached`)).toBe(false);
      await own.end();
    });
  },
);

/** Serves the public address; for /turn it lets the name lead to loopback, where another server waits for anything. */
const REBINDING = `
const { createServer } = require("node:http");
const { writeFileSync } = require("node:fs");
const [hosts] = process.argv.slice(1);
createServer((_, response) => response.end("loopback"))
  .on("connection", () => writeFileSync(hosts + ".reached", ""))
  .listen(8080, "127.0.0.1");
createServer(({ url }, response) => {
  if (url === "/turn") {
    writeFileSync(hosts, "127.0.0.1 rebound.example\\n");
    return response.end("turned");
  }
  if (url === "/public") return response.end("public");
  response.setHeader("content-type", "text/html").end(\`<p id="one"></p><p id="two"></p><script>
    const get = (path) => fetch(path).then((answer) => answer.status === 200 ? answer.text() : "refused", () => "refused");
    (async () => {
      one.textContent = "first: " + (await get("/public"));
      await get("/turn");
      two.textContent = "second: " + (await get("/secret"));
    })();
  </script>\`);
}).listen(8080, "93.184.215.14");
const { ppid } = process;
setInterval(() => process.ppid === ppid || process.exit(), 500);
`;
