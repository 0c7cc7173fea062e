import { type Socket, connect, createServer } from "node:net";
import { onTestFinished } from "vitest";

/** An address of this machine that leads to a server, as a load balancer does. */
export interface Proxy {
  readonly port: number;
  /** Lets all connections stall. Resolves at once; they continue after the time, in milliseconds. */
  stall(milliseconds: number): Promise<void>;
  /** Ends all connections; later ones lead to this port. */
  leadTo(port: number): void;
}

/** Passes connections on to a port of this machine, until the test ends. */
export async function proxyTo(to: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let stalledUntil = 0;
  let target = to;
  const server = createServer((socket) => {
    const inner = connect(target, "127.0.0.1");
    for (const [one, other] of [
      [socket, inner],
      [inner, socket],
    ] as const) {
      sockets.add(one);
      one.on("data", (bytes) => other.write(bytes));
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
      if (Date.now() < stalledUntil) one.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const end = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    end();
    server.close();
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    async stall(milliseconds) {
      stalledUntil = Date.now() + milliseconds;
      for (const socket of sockets) socket.pause();
      setTimeout(() => {
        for (const socket of sockets) socket.resume();
      }, milliseconds);
    },
    leadTo(port) {
      target = port;
      end();
    },
  };
}
