import { once } from "node:events";
import type { Server } from "node:net";
import { startProgram } from "../../../machine/programs/start.ts";

/** A network that has only a loopback: a program in it reaches only the servers that listen on that loopback. */
export interface BrowserNetwork {
  /** Words before a program that runs in the network. */
  readonly prefix: readonly string[];
  close(): Promise<void>;
}

/** How long a server may take until it listens, in milliseconds. */
const PATIENCE_MS = 10_000;

/**
 * Has a server of this process listen on the loopback of a network, and resolves to its port. Another process, which
 * ends at once, makes the socket there and hands it over: a process has one network.
 *
 * @throws Error when it does not listen in time.
 */
export async function listenIn(prefix: readonly string[], server: Server): Promise<number> {
  const words: readonly string[] = [...prefix, process.execPath, "-e", LISTEN];
  const [program = "", ...args] = words;
  const stop = new AbortController();
  const helper = startProgram([program, ...args], {
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    cwd: "/",
    env: { ELECTRON_RUN_AS_NODE: "1" },
    isBare: true,
  });
  helper.once("close", () => stop.abort(new Error("the network of the browser cannot be entered")));
  const late = setTimeout(() => helper.kill("SIGKILL"), PATIENCE_MS);
  try {
    const [port, socket] = (await once(helper, "message", { signal: stop.signal })) as [number, Server];
    const listening = once(server, "listening");
    server.listen(socket);
    await listening;
    return port;
  } finally {
    clearTimeout(late);
    if (helper.connected) helper.disconnect();
  }
}

const LISTEN = `
const server = require("node:net").createServer();
server.listen(0, "127.0.0.1", () => process.send(server.address().port, server));
process.on("disconnect", () => process.exit());
`;
