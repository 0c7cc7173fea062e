import { type ChildProcess, spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { type IncomingMessage, createServer } from "node:http";
import { type AddressInfo, Socket, connect } from "node:net";
import { dirname, join } from "node:path";
import { ToolFailure } from "../../../contract/failure.ts";
import { onAbort } from "../../../util/abort.ts";
import { randomName } from "../../../util/identifier.ts";
import { Answer, respond, respondAndEnd } from "../../../network/proxy/answer.ts";
import { type Onward, forward, forwardUpgrade } from "../../../network/proxy/forward.ts";
import type { Listener } from "../../local/listeners.ts";
import { ownFolder } from "./proxy.ts";

/** How long the helper may take to start, in milliseconds. */
const PATIENCE_MS = 10_000;

export interface OpenOptions {
  /** Enters the network of the process. */
  readonly prefix: readonly string[];
  /** Has a new folder for a socket meanwhile. */
  readonly folder: string;
  /** Fires when the port is closed again. */
  readonly signal: AbortSignal;
}

/**
 * Leads connections from a socket, which commands do not see, to a port of a private network. Resolves to the path of
 * the socket. @throws ToolFailure
 */
export async function leadInward({ port, host }: Listener, { prefix, folder, signal }: OpenOptions): Promise<string> {
  const socket = join(await ownFolder(folder), "s");
  const helper = startHelper([...prefix, process.execPath, "-e", INWARD, socket, host, String(port)]);
  const close = () => {
    helper.kill();
    void rm(dirname(socket), { recursive: true, force: true });
  };
  onAbort(signal, close);
  if (await isReady(helper)) return socket;
  close();
  throw new ToolFailure(`port ${port} could not be opened: the helper in the sandbox's network did not start`);
}

/**
 * Opens a port of a private network to the browser of a person on this machine. The address has a random name below
 * `localhost`: no other server's cookies are sent there, and no page can guess it. Each request must have that name as
 * its host.
 *
 * @returns `http://k3f9x2….localhost:PORT/`, which works until the signal fires. @throws ToolFailure
 */
export async function openListener(listener: Listener, options: OpenOptions): Promise<string> {
  const { port } = listener;
  const socket = await leadInward(listener, options);
  const server = createServer({ requestTimeout: 0 });
  onAbort(options.signal, () => {
    server.close();
    server.closeAllConnections();
  });
  const name = `${randomName(16)}.localhost`;
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  const authority = `${name}:${(server.address() as AddressInfo).port}`;
  const isHere = ({ headers }: IncomingMessage) => headers.host?.toLowerCase() === authority;
  const onward = ({ url = "/" }: IncomingMessage): Onward => ({
    socket: connect({ path: socket, allowHalfOpen: true }),
    path: url,
    host: authority,
  });
  const silent = (message: string) => new Answer(502, `Port ${port} of the job gave no answer: ${message}.`);
  server.on("request", (request, response) => {
    if (!isHere(request)) return respond(response, OTHER_HOST);
    forward(request, response, onward(request), (message) => respond(response, silent(message)));
  });
  server.on("upgrade", (request, client, head) => {
    if (!(client instanceof Socket)) return void client.destroy();
    client.on("error", () => undefined); // "close" follows
    if (!isHere(request)) return respondAndEnd(client, OTHER_HOST);
    forwardUpgrade(request, client, head, onward(request), (message) => respondAndEnd(client, silent(message)));
  });
  return `http://${authority}/`;
}

const OTHER_HOST = new Answer(403, "Open the address that Handrail has printed.");

/**
 * Runs in the network of the sandbox and is otherwise not contained: passes connections from a socket that commands do
 * not see to the port. It ends with its stdin, which this process holds.
 */
const INWARD = `
const { connect, createServer } = require("node:net");
const [path, host, port] = process.argv.slice(1);
const join = (from, to) =>
  from.pipe(to).on("error", () => {}).on("close", () => (to.readableEnded ? from.destroySoon() : from.destroy()));
const server = createServer({ allowHalfOpen: true }, (outside) => {
  const inside = connect({ host, port, allowHalfOpen: true });
  join(inside, outside);
  join(outside, inside);
});
server.listen(path, () => process.stdout.write("ready"));
process.stdin.resume().on("end", () => process.exit());
`;

function startHelper([program = "", ...args]: readonly string[]): ChildProcess {
  const env = process.versions["electron"] === undefined ? {} : { ELECTRON_RUN_AS_NODE: "1" };
  return spawn(program, args, { stdio: ["pipe", "pipe", "ignore"], env });
}

function isReady(helper: ChildProcess): Promise<boolean> {
  return new Promise((resolve) => {
    const late = setTimeout(resolve, PATIENCE_MS, false);
    const end = (isUp: boolean) => () => (clearTimeout(late), resolve(isUp));
    helper.stdout?.once("data", end(true));
    helper.once("error", end(false)).once("close", end(false));
  });
}
