// A real Redis server for tests, on 127.0.0.1, with its own port and nothing on disk.
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { Redis } from "ioredis";
import { afterFile } from "./after-file.ts";
import { installed } from "./here.ts";
import { until } from "./until.ts";

export interface RedisServer {
  readonly url: string;
  /** Kills the server with SIGKILL, as a crash would. */
  crash(): Promise<void>;
  /** Starts it again, empty. */
  start(): Promise<void>;
}

/** Returns why Redis cannot be tested here; `undefined` if it can. */
export function redisProblem(): string | undefined {
  return installed("redis-server") === undefined ? "Redis is not installed" : undefined;
}

/**
 * Starts a server, which ends with the test file.
 *
 * @param tls files of a certificate and its key: the server speaks TLS only
 */
export async function redisServer(tls?: { readonly cert: string; readonly key: string }): Promise<RedisServer> {
  const port = await freePort();
  const files = tls === undefined ? [] : ["--tls-cert-file", tls.cert, "--tls-key-file", tls.key];
  const plain = ["--port", String(port)];
  const secure = ["--port", "0", "--tls-port", String(port), "--tls-auth-clients", "no", ...files];
  const ca = tls === undefined ? {} : { tls: { ca: readFileSync(tls.cert) } };
  let server: ChildProcess | undefined;
  const crash = async () => {
    if (server?.pid === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const ended = new Promise((resolve) => server?.once("exit", resolve));
    process.kill(server.pid, "SIGKILL");
    await ended;
  };
  const start = async () => {
    const settings = [
      ...(tls === undefined ? plain : secure),
      "--bind",
      "127.0.0.1",
      "--save",
      "",
      "--appendonly",
      "no",
    ];
    server = spawn("redis-server", settings, { stdio: "ignore", cwd: "/" });
    await until("Redis answers", async () => {
      const client = new Redis(port, "127.0.0.1", { ...ca, lazyConnect: true, retryStrategy: () => null });
      client.on("error", () => {});
      const isUp = await client.ping().then(
        () => true,
        () => false,
      );
      client.disconnect();
      return isUp;
    });
  };
  afterFile(crash);
  await start();
  return { url: `${tls === undefined ? "redis" : "rediss"}://127.0.0.1:${port}`, crash, start };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
