import { connect, createServer } from "node:net";

/**
 * Starts a link to a local port that delays every byte by half a round trip, in both directions, without limiting the
 * bandwidth.
 *
 * @param {number} port
 * @param {number} roundTripMs
 * @returns {Promise<{ readonly port: number, close(): void }>}
 */
export function startLink(port, roundTripMs) {
  /** @type {Set<import("node:net").Socket>} */
  const open = new Set();
  const server = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    carry(near, far, roundTripMs / 2);
    carry(far, near, roundTripMs / 2);
    for (const socket of [near, far]) {
      open.add(socket);
      socket.setNoDelay(true).on("error", () => undefined);
      socket.on("close", () => open.delete(socket));
    }
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve({
        port: typeof address === "object" && address !== null ? address.port : 0,
        close() {
          server.close();
          for (const socket of open) socket.destroy();
        },
      });
    });
  });
}

/**
 * @param {import("node:net").Socket} from
 * @param {import("node:net").Socket} to
 * @param {number} delayMs
 */
function carry(from, to, delayMs) {
  from.on("data", (chunk) => setTimeout(() => to.destroyed || to.write(chunk), delayMs));
  from.on("close", () => setTimeout(() => to.end(), delayMs));
}
