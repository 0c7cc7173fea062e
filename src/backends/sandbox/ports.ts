import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import { type IncomingMessage, createServer } from "node:http";
import { type AddressInfo, Socket, connect } from "node:net";
import { dirname, join } from "node:path";
import { ToolFailure } from "../../contract/failure.ts";
import { onAbort } from "../../util/abort.ts";
import { tried } from "../../util/errors.ts";
import { randomName } from "../../util/identifier.ts";
import { processStatus } from "../../util/process-status.ts";
import { Answer, respond, respondAndEnd } from "../../network/proxy/answer.ts";
import { type Onward, forward, forwardUpgrade } from "../../network/proxy/forward.ts";
import { ownFolder } from "./proxy.ts";
import { namesIn } from "./read-files.ts";

/** A TCP port on which a process listens. */
export interface Listener {
  readonly port: number;
  /** The address in its network at which it is reached. */
  readonly host: "127.0.0.1" | "::1";
}

/** Ports below are those of system services. */
const LOWEST_PORT = 1_024;

/** The state of a listening socket in /proc/net/tcp (include/net/tcp_states.h). */
const LISTEN = "0A";

/** How long the helper may take to start, in milliseconds. */
const PATIENCE_MS = 10_000;

/**
 * Returns the ports from 1024 on which a process or a descendant of it listens, in order. Only their own sockets count:
 * other commands may share the network.
 */
export function listenersOf(root: number): readonly Listener[] {
  const found = new Map<number, Listener>();
  for (const pid of descendantsOf(root)) {
    const own = new Set(namesIn(`/proc/${pid}/fd`).map((fd) => tried(() => readlinkSync(`/proc/${pid}/fd/${fd}`))));
    for (const [table, host] of [
      ["tcp", "127.0.0.1"],
      ["tcp6", "::1"],
    ] as const) {
      const lines =
        tried(() => readFileSync(`/proc/${pid}/net/${table}`, "latin1"))
          ?.split("\n")
          .slice(1) ?? [];
      for (const line of lines) {
        const [, local = "", , state, , , , , , inode] = line.trim().split(/\s+/);
        const port = Number.parseInt(local.slice(local.lastIndexOf(":") + 1), 16);
        if (state !== LISTEN || port < LOWEST_PORT || found.has(port) || !own.has(`socket:[${inode}]`)) continue;
        found.set(port, { port, host });
      }
    }
  }
  return [...found.values()].toSorted((one, other) => one.port - other.port);
}

/** The process and all processes below it: in a sandbox, nothing leaves the tree. */
function descendantsOf(root: number): readonly number[] {
  const children = new Map<number, number[]>();
  for (const pid of namesIn("/proc").map(Number)) {
    const parent = Number.isInteger(pid) ? processStatus(pid)?.parent : undefined;
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const all = [root];
  for (const pid of all) all.push(...(children.get(pid) ?? []));
  return all;
}

export interface OpenOptions {
  /** Enters the network of the process. */
  readonly prefix: readonly string[];
  /** Has a new folder for a socket meanwhile. */
  readonly folder: string;
  /** Fires when the port is closed again. */
  readonly signal: AbortSignal;
}

/**
 * Opens a port of a private network to the browser of a person on this machine. The address has a random name below
 * `localhost`: no other server's cookies are sent there, and no page can guess it. Each request must have that name as
 * its host.
 *
 * @returns `http://k3f9x2….localhost:PORT/`, which works until the signal fires. @throws ToolFailure
 */
export async function openListener({ port, host }: Listener, { prefix, folder, signal }: OpenOptions): Promise<string> {
  const socket = join(await ownFolder(folder), "s");
  const helper = startHelper([...prefix, process.execPath, "-e", INWARD, socket, host, String(port)]);
  const server = createServer({ requestTimeout: 0 });
  const close = () => {
    helper.kill();
    server.close();
    server.closeAllConnections();
    void rm(dirname(socket), { recursive: true, force: true });
  };
  onAbort(signal, close);
  if (!(await isReady(helper))) {
    close();
    throw new ToolFailure(`port ${port} could not be opened: the helper in the sandbox's network did not start`);
  }
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
