import { once } from "node:events";
import { type RequestListener, createServer as createHttpServer } from "node:http";
import { type AddressInfo, type Server, type Socket, connect, createServer } from "node:net";
import { afterFile } from "../../support/after-file.ts";
import { type EgressProxy, type ProxyOptions, startProxy } from "../../../src/machine/sandbox/egress/proxy.ts";
import { temporaryFolder } from "../../support/workspace.ts";

const closings: (() => unknown)[] = [];

afterFile(async () => {
  for (const close of closings.splice(0)) await close();
});

/** A proxy for one test, in no environment but the given one. Closed at the end of the test file. */
export async function proxyWith(
  options: Omit<ProxyOptions, "folder"> & { readonly folder?: string },
): Promise<EgressProxy> {
  const proxy = await startProxy({ folder: temporaryFolder(), environment: {}, ...options });
  closings.push(() => proxy.close());
  return proxy;
}

/** An HTTP server on this machine; its port. */
export async function webServer(answer: RequestListener, address = "127.0.0.1", port = 0): Promise<number> {
  return listening(createHttpServer(answer), address, port);
}

/** A server on this machine with any protocol. Returns its port. */
export async function rawServer(talk: (socket: Socket) => void, address = "127.0.0.1"): Promise<number> {
  return listening(
    createServer({ allowHalfOpen: true }, (socket) => {
      socket.on("error", () => undefined);
      talk(socket);
    }),
    address,
    0,
  );
}

/** Sends bytes to a proxy's socket and reads until it hangs up. */
export async function exchange(socket: string, ...pieces: readonly string[]): Promise<string> {
  const client = talkTo(socket);
  const closed = new Promise((resolve) => client.socket.once("close", resolve));
  client.socket.once("end", () => client.socket.end());
  for (const piece of pieces) client.socket.write(piece);
  await closed;
  return client.heard();
}

/** A connection to a proxy's socket, and what was received. */
export function talkTo(path: string): { readonly socket: Socket; heard(): string } {
  const socket = connect({ path, allowHalfOpen: true });
  let heard = "";
  socket.setEncoding("latin1").on("data", (text: string) => (heard += text));
  socket.on("error", () => undefined);
  closings.push(() => socket.destroy());
  return { socket, heard: () => heard };
}

async function listening(server: Server, address: string, port: number): Promise<number> {
  const open = new Set<Socket>();
  server.on("connection", (socket) => open.add(socket));
  server.listen(port, address);
  await once(server, "listening");
  closings.push(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}
