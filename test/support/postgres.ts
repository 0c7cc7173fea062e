// A real PostgreSQL server for tests, on 127.0.0.1, as an ordinary user, with its own port and files.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { inOneTransaction } from "../../src/record/db/postgres.ts";
import { afterFile } from "./after-file.ts";
import { installed } from "./here.ts";
import { until } from "./until.ts";

const PASSWORD = "test-password";

export interface PostgresServer {
  readonly port: number;
  /** The URL of a database. */
  url(database: string, password?: string): string;
  /** Creates a database with the tables of Handrail. Returns its URL. */
  create(database: string): Promise<string>;
  /** Opens a connection like another program; it is closed at the end of the file. */
  connect(url: string): Promise<Client>;
  /** Kills the server with SIGKILL, as a crash would. */
  crash(): Promise<void>;
  /** Starts it again. */
  start(): Promise<void>;
}

/** Returns why PostgreSQL cannot be tested here; `undefined` if it can. */
export function postgresProblem(): string | undefined {
  if (programs() === undefined) return "PostgreSQL is not installed";
  if (process.getuid?.() === 0 && owner() === undefined) return "there is no user postgres, and root may not run it";
  return undefined;
}

export interface PostgresOptions {
  /** The server whose commits it receives: it is a standby, until it is promoted. */
  readonly standbyOf?: PostgresServer;
  /** Files of a certificate and its key: the server offers TLS with them. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** Starts a server, which ends with the test file. */
export async function postgresServer({ standbyOf, tls }: PostgresOptions = {}): Promise<PostgresServer> {
  const bin = programs() ?? "";
  const user = owner();
  const folder = mkdtempSync(join(tmpdir(), "handrail-postgres-"));
  chmodSync(folder, 0o700);
  const passwordFile = join(folder, "password");
  writeFileSync(passwordFile, PASSWORD);
  if (user !== undefined) for (const path of [folder, passwordFile]) chownSync(path, user.uid, user.gid);
  const data = join(folder, "data");
  const run = { cwd: "/", stdio: "pipe", ...user } as const;
  if (standbyOf === undefined) {
    const how = ["--auth=scram-sha-256", `--pwfile=${passwordFile}`, "--username=postgres", "--no-sync"];
    execFileSync(join(bin, "initdb"), ["-D", data, "--encoding=UTF8", "--locale=C.UTF-8", ...how], run);
  } else {
    const from = ["-d", standbyOf.url("postgres"), "--checkpoint=fast", "--write-recovery-conf", "--no-sync"];
    execFileSync(join(bin, "pg_basebackup"), ["-D", data, ...from], run);
  }
  for (const [from, to] of Object.entries({ [tls?.cert ?? ""]: "server.crt", [tls?.key ?? ""]: "server.key" })) {
    if (from === "") continue;
    copyFileSync(from, join(data, to));
    chmodSync(join(data, to), 0o600); // the server refuses a key that others read
    if (user !== undefined) chownSync(join(data, to), user.uid, user.gid);
  }
  const port = await freePort();
  const settings = [
    "fsync=off",
    "listen_addresses=127.0.0.1",
    `port=${port}`,
    "unix_socket_directories=",
    "jit=off",
  ].concat(tls === undefined ? [] : ["ssl=on"]);
  const clients: Client[] = [];
  const created = new Set<string>();
  let server: ChildProcess | undefined;

  const url = (database: string, password = PASSWORD) =>
    `postgres://postgres:${password}@127.0.0.1:${port}/${database}`;
  const connect = async (to: string) => {
    const client = new Client(to);
    client.on("error", () => {});
    await client.connect();
    clients.push(client);
    return client;
  };
  const crash = async () => {
    if (server?.pid === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const ended = new Promise((resolve) => server?.once("exit", resolve));
    process.kill(server.pid, "SIGKILL");
    await ended;
  };
  const start = async () => {
    const flags = settings.flatMap((setting) => ["-c", setting]);
    // Its processes end a moment after their killed parent, and hold its shared memory until then.
    await until("the server accepts connections", async () => {
      if (server === undefined || server.exitCode !== null || server.signalCode !== null) {
        server = spawn(join(bin, "postgres"), ["-D", data, ...flags], { ...run, stdio: "ignore" });
      }
      const client = new Client(url("postgres"));
      client.on("error", () => {});
      const isUp = await client.connect().then(
        () => true,
        () => false,
      );
      await client.end().catch(() => {});
      return isUp;
    });
  };

  afterFile(async () => {
    await Promise.all(clients.map((client) => client.end().catch(() => {})));
    await crash();
    await until("its files can be removed", () => {
      rmSync(folder, { recursive: true, force: true });
      return true;
    });
  });
  await start();
  return {
    port,
    url,
    connect,
    crash,
    start,
    async create(database) {
      if (created.has(database)) return url(database);
      created.add(database);
      const client = await connect(url("postgres"));
      await client.query(`CREATE DATABASE "${database}"`);
      await inOneTransaction(url(database), async () => {});
      return url(database);
    },
  };
}

/** Debian keeps the server's programs in folders by version, which are not on the PATH. */
function programs(): string | undefined {
  const folder = "/usr/lib/postgresql";
  const versions = [...readFolder(folder)].toSorted((one, other) => Number(other) - Number(one));
  const found = versions.map((version) => join(folder, version, "bin", "initdb")).find((path) => isThere(path));
  const initdb = found ?? installed("initdb");
  return initdb?.slice(0, initdb.lastIndexOf("/"));
}

function isThere(path: string): boolean {
  return readFolder(path.slice(0, path.lastIndexOf("/"))).includes(path.slice(path.lastIndexOf("/") + 1));
}

function readFolder(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The user who runs the server: it refuses to run as root. */
function owner(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  try {
    const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { stdio: "pipe" }).toString());
    return { uid: id("-u"), gid: id("-g") };
  } catch {
    return undefined;
  }
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
