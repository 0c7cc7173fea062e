import { type RequestListener, createServer } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { afterFile } from "./after-file.ts";

const open = new Set<{ readonly server: Server; readonly sockets: Set<Socket> }>();

afterFile(async () => {
  for (const { server, sockets } of open) {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
  open.clear();
});

/** A server on loopback until the file ends; "127.0.0.1:PORT". */
export function webServer(listener: RequestListener): Promise<string> {
  return listening(createServer(listener));
}

/** The same with any server. */
export async function listening(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.add({ server, sockets });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
