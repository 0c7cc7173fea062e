import { rm } from "node:fs/promises";
import { type IncomingMessage, createServer } from "node:http";
import { type AddressInfo, Socket, connect } from "node:net";
import { dirname, join } from "node:path";
import type { Process } from "../../../core/contract/backend.ts";
import { ToolFailure } from "../../../core/contract/failure.ts";
import { startProgram } from "../../programs/start.ts";
import { onAbort } from "../../../core/util/abort.ts";
import { randomName } from "../../../core/util/identifier.ts";
import { Answer, respond, respondAndEnd } from "../../network/proxy/answer.ts";
import { type Onward, forward, forwardUpgrade } from "../../network/proxy/forward.ts";
import { type Listener, listenersOf } from "../../local/listeners.ts";
import { inward } from "./bridge-command.ts";
import { ownFolder } from "./proxy.ts";

/** How long the helper may take to start, in milliseconds. */
const PATIENCE_MS = 10_000;

/** A private network that this process can enter. */
export interface EnteredNetwork {
  /** Words that enter it. */
  readonly prefix: readonly string[];
  /** Has a new folder for each socket. */
  readonly folder: string;
}

/** The functions of a job for the ports on which it listens. */
export type JobPorts = Required<Pick<Process, "ports" | "openPort" | "reachPort">>;

/** @param network omitted for a job with a network of its own, which nobody else can enter */
export function jobPorts({ id, exit }: Pick<Process, "id" | "exit">, network: EnteredNetwork | undefined): JobPorts {
  const over = new AbortController();
  void exit.then(() => over.abort());
  const { signal } = over;
  const listeners = () => (signal.aborted ? [] : listenersOf(Number(id)));
  const opened = new Map<number, Promise<string>>();
  const led = new Map<number, Promise<string>>();
  const once = (made: Map<number, Promise<string>>, port: number, make: () => Promise<string>) => {
    const known = made.get(port) ?? make();
    made.set(port, known);
    known.catch(() => made.delete(port));
    return known;
  };
  return {
    ports: () => Promise.resolve(listeners().map(({ port }) => port)),
    async openPort(port) {
      const known = opened.get(port);
      if (known !== undefined) return known;
      const all = listeners();
      const listener = all.find((each) => each.port === port);
      if (listener === undefined) {
        const named = all.map((each) => each.port).join(", ");
        const hint = named === "" ? "It listens on none above 1023 yet." : `It listens on ${named}.`;
        throw new ToolFailure(`the job does not listen on port ${port}`, { hint });
      }
      if (network === undefined) {
        throw new ToolFailure(
          `port ${port} cannot be opened: the job was given hosts, or no network can be shared here`,
          { hint: "Start the server in a job without hosts, or outside the sandbox." },
        );
      }
      return once(opened, port, () => openListener(listener, network, signal));
    },
    async reachPort(port) {
      const listener = listeners().find((each) => each.port === port);
      if (listener === undefined || network === undefined) return undefined;
      return { path: await once(led, port, () => leadInward(listener, network, signal)) };
    },
  };
}

/**
 * Leads connections from a socket, which commands do not see, to a port of a private network, until the signal fires.
 * The helper runs in that network and is otherwise not contained. Resolves to the path of the socket.
 *
 * @throws ToolFailure
 */
async function leadInward(
  { port, host }: Listener,
  { prefix, folder }: EnteredNetwork,
  signal: AbortSignal,
): Promise<string> {
  const socket = join(await ownFolder(folder), "s");
  const { argv, env } = inward(socket, host, port);
  const [program = "", ...args] = [...prefix, ...argv];
  const helper = startProgram([program, ...args], { cwd: "/", isBare: true, stdio: "pipe", env });
  helper.stderr.resume();
  const close = () => {
    helper.kill();
    void rm(dirname(socket), { recursive: true, force: true });
  };
  onAbort(signal, close);
  const isReady = await new Promise<boolean>((resolve) => {
    const late = setTimeout(resolve, PATIENCE_MS, false);
    const end = (isUp: boolean) => () => (clearTimeout(late), resolve(isUp));
    helper.stdout.once("data", end(true));
    helper.once("error", end(false)).once("close", end(false));
  });
  if (isReady) return socket;
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
async function openListener(listener: Listener, network: EnteredNetwork, signal: AbortSignal): Promise<string> {
  const socket = await leadInward(listener, network, signal);
  const server = createServer({ requestTimeout: 0 });
  onAbort(signal, () => {
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
  const silent = (message: string) => new Answer(502, `Port ${listener.port} of the job gave no answer: ${message}.`);
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
