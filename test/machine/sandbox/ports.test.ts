import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { expect, test } from "vitest";
import { requestPort } from "../../../src/record/activity/open-port.ts";
import { asText, bash } from "../../../src/index.ts";
import { jobs } from "../../../src/tools/jobs.ts";
import { mustBeHere } from "../../support/here.ts";
import { until } from "../../support/until.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";
import { bubblewrapProblem } from "./contained.ts";

mustBeHere("bubblewrap", bubblewrapProblem());

/** Answers with the path, and echoes after an upgrade. */
const SERVER = `
const server = require("node:http").createServer((request, response) => response.end(request.url));
server.on("upgrade", (_, socket) => {
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n");
  socket.pipe(socket);
});
server.listen(3000, process.argv[2]);
`;

/** Asks for the path at the address, for a host that is not looked up: not all systems know names below localhost. */
async function ask(url: string, path: string, headers: { readonly [name: string]: string } = {}) {
  const { host, port } = new URL(url);
  const asking = request({ host: "127.0.0.1", port, path, headers: { host, ...headers } }).end();
  const [response, socket] = (await Promise.race([once(asking, "response"), once(asking, "upgrade")])) as [
    IncomingMessage,
    NodeJS.ReadWriteStream | undefined,
  ];
  if (socket !== undefined) return { status: response.statusCode, socket };
  let body = "";
  for await (const piece of response) body += piece;
  return { status: response.statusCode, body };
}

test.skipIf(bubblewrapProblem()).each(["127.0.0.1", "::1", "::"])(
  "a person opens the port of a server that listens on %s in the sandbox",
  async (address) => {
    const toolkit = await toolkitWith({
      preset: "none",
      tools: [bash({ sandboxed: true }), jobs()],
      workDir: await workspace({ "server.cjs": SERVER }),
      sandbox: "on",
    });
    const command = `exec node server.cjs ${address}`;
    expect(asText(await toolkit.call({ name: "bash", input: { command, background: true } }))).toContain(
      "the user opens it (/open PORT)",
    );
    expect(asText(await toolkit.call({ name: "bash", input: { command: "sleep 100", background: true } }))).toContain(
      "Job 2",
    );
    const list = async () => asText(await toolkit.call({ name: "jobs", input: { action: "list" } }));
    await until("the port is named", async () => (await list()).includes("listens on port 3000"));
    expect((await list()).match(/listens on/g)).toHaveLength(1); // not of the other job in the same network
    const [job] = await toolkit.store.jobs();
    const url = await requestPort(toolkit.store, job!, 3000, "a test");
    expect(url).toMatch(/^http:\/\/[0-9a-z]{16}\.localhost:\d+\/$/);
    expect(await requestPort(toolkit.store, job!, 3000, "a test")).toBe(url);
    expect(await ask(url, "/one?two=3")).toEqual({ status: 200, body: "/one?two=3" });
    expect(await ask(url, "/", { host: `localhost:${new URL(url).port}` })).toMatchObject({ status: 403 });
    const upgraded = await ask(url, "/", { connection: "Upgrade", upgrade: "echo" });
    expect(upgraded.status).toBe(101);
    upgraded.socket?.write("hello");
    expect(String((await once(upgraded.socket!, "data"))[0])).toBe("hello");
    await expect(requestPort(toolkit.store, job!, 4000, "a test")).rejects.toThrow("does not listen on port 4000");
    await (await toolkit.jobs.get("1"))?.process.kill();
    await until("the address is closed", () =>
      ask(url, "/").then(
        () => false,
        () => true,
      ),
    );
  },
  60_000,
);
