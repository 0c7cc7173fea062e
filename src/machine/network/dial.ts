import type { LookupAddress } from "node:dns";
import { request } from "node:http";
import { type Socket, connect } from "node:net";
import { type Target, hostAndPort } from "./targets.ts";
import type { Upstream } from "./upstream.ts";

/** A connection counts as dead after this time without an answer. Milliseconds. */
const KEEP_ALIVE_MS = 60_000;

/**
 * Connects to one of these addresses only. Addresses of both families alternate (RFC 8305). Rejects with the system's
 * error.
 */
export function dial(
  { host, port }: Pick<Target, "host" | "port">,
  addresses: readonly LookupAddress[],
  signal: AbortSignal,
): Promise<Socket> {
  const socket = connect({
    host,
    port,
    allowHalfOpen: true,
    autoSelectFamily: true,
    // Node calls this for names, not for literal addresses; it returns only the judged addresses.
    lookup: (_name, { all }, found) => {
      const [first] = addresses;
      if (all === true) found(null, [...addresses]);
      else if (first !== undefined) found(null, first.address, first.family);
    },
  });
  return connected(socket, signal);
}

/** Connects to the user's own proxy. Its name is resolved as usual, and it may have any address. */
export async function dialUpstream({ url }: Upstream, signal: AbortSignal): Promise<Socket> {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  if (url.protocol === "http:") return connected(connect({ host, port, allowHalfOpen: true }), signal);
  const { connect: connectSecurely } = await import("node:tls");
  return connected(
    connectSecurely({ host, port, servername: /[a-z]/i.test(host) ? host : "" }),
    signal,
    "secureConnect",
  );
}

/**
 * Opens a tunnel to the target through the user's proxy, which resolves the name itself. Rejects if the proxy refuses.
 */
export async function dialThrough(upstream: Upstream, target: Target, signal: AbortSignal): Promise<Socket> {
  const socket = await dialUpstream(upstream, signal);
  return new Promise((resolve, reject) => {
    const asking = request({
      method: "CONNECT",
      path: hostAndPort(target),
      headers: {
        host: hostAndPort(target),
        ...(upstream.authorization !== undefined && { "proxy-authorization": upstream.authorization }),
      },
      createConnection: () => socket,
      signal,
    });
    asking.once("connect", ({ statusCode = 0, statusMessage = "" }, tunnel: Socket, head: Buffer) => {
      if (statusCode < 200 || statusCode > 299) {
        tunnel.destroy();
        reject(new Error(`the proxy ${upstream.url.host} answered ${statusCode} ${statusMessage}`.trim()));
        return;
      }
      if (head.length > 0) tunnel.unshift(head);
      resolve(tunnel);
    });
    asking.once("error", (error) => {
      socket.destroy();
      reject(error);
    });
    asking.end();
  });
}

function connected(socket: Socket, signal: AbortSignal, event = "connect"): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const giveUp = (error: unknown) => {
      socket.destroy();
      reject(error instanceof Error ? error : new Error(String(error)));
    };
    const stop = () => giveUp(signal.reason);
    socket.once("error", giveUp);
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    socket.once(event, () => {
      signal.removeEventListener("abort", stop);
      socket.off("error", giveUp);
      // The caller listens from the next turn on; an earlier error is reported when the socket ends.
      socket.on("error", () => undefined);
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      socket.setNoDelay(true);
      resolve(socket);
    });
  });
}
