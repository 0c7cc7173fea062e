/**
 * The HTTP API of `handrail serve`: the time from an event that this process writes to its arrival at a client of the
 * server's stream. Compared with a plain Node server that pushes the same bytes without a store.
 */
import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sqliteStore } from "handrail";
import { within } from "./shared.mjs";

const CLI = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
const SINGLE_EVENTS = 200;
const MANY_EVENTS = 5_000;
const CLIENTS = 100;
const CLIENT_EVENTS = 500;
const MARK = "\ndata: ";

/** @type {readonly import("./shared.mjs").Workload[]} */
export const API = [
  {
    name: "api-event",
    what: "an event written to its arrival at a client of another process, median of 200; ceiling a bare server that pushes",
    rounds: 3,
    target: within(20, "ms"),
    prepare: (folder) => arrival(folder, 0.5),
  },
  {
    name: "api-event-p99",
    what: "the same, the slowest of a hundred",
    rounds: 3,
    target: within(100, "ms"),
    prepare: (folder) => arrival(folder, 0.99),
  },
  {
    name: "api-throughput",
    what: "one of 5,000 events written as fast as possible, to the arrival of the last",
    rounds: 3,
    unit: "µs",
    scale: 1_000 / MANY_EVENTS,
    target: within(200, "µs"),
    async prepare(folder) {
      const server = await serving(folder);
      const client = await follow(server);
      return {
        ours: async () => {
          const last = client.arrival(MANY_EVENTS);
          for (let number = 0; number < MANY_EVENTS; number++) {
            server.store.append(event());
            if (number % 100 === 99) await new Promise((resolve) => setImmediate(resolve));
          }
          await last;
        },
        cleanUp: () => server.close([client]),
      };
    },
  },
  {
    name: "api-clients-cpu",
    what: "processor time of the server for one event and 100 clients, of 500 events one after another",
    rounds: 3,
    unit: "ms",
    scale: 1 / CLIENT_EVENTS,
    target: within(20, "ms"),
    async prepare(folder) {
      const server = await serving(folder);
      const clients = await Promise.all(Array.from({ length: CLIENTS }, () => follow(server)));
      return {
        measuresItself: true,
        ours: async () => {
          const before = processorMs(server.pid);
          for (let number = 0; number < CLIENT_EVENTS; number++) {
            const all = Promise.all(clients.map((client) => client.arrival(1)));
            await server.store.commit(event());
            await all;
          }
          return processorMs(server.pid) - before;
        },
        cleanUp: () => server.close(clients),
      };
    },
  },
  {
    name: "api-clients-memory",
    what: "memory of the server with 100 clients that have received 500 events; ceiling without a client",
    rounds: 1,
    unit: "MB",
    target: within(250, "MB"),
    async prepare(folder) {
      const server = await serving(folder);
      const alone = residentMb(server.pid);
      const clients = await Promise.all(Array.from({ length: CLIENTS }, () => follow(server)));
      return {
        measuresItself: true,
        ours: async () => {
          const all = Promise.all(clients.map((client) => client.arrival(CLIENT_EVENTS)));
          for (let number = 0; number < CLIENT_EVENTS; number++) server.store.append(event());
          await all;
          return residentMb(server.pid);
        },
        ceiling: () => alone,
        cleanUp: () => server.close(clients),
      };
    },
  },
];

/** @param {string} folder @param {number} share */
async function arrival(folder, share) {
  const server = await serving(folder);
  const client = await follow(server);
  const bare = await pushing();
  /** @param {{ arrival(count: number): Promise<void> }} at @param {() => unknown} write */
  const timesOf = async (at, write) => {
    const times = [];
    for (let number = 0; number < SINGLE_EVENTS; number++) {
      const started = performance.now();
      const arrived = at.arrival(1);
      await write();
      await arrived;
      times.push(performance.now() - started);
    }
    return times.toSorted((one, other) => one - other)[Math.floor(SINGLE_EVENTS * share)] ?? Number.NaN;
  };
  return {
    measuresItself: true,
    ours: () => timesOf(client, () => server.store.commit(event())),
    ceiling: () => timesOf(bare.client, bare.push),
    cleanUp: async () => {
      await server.close([client]);
      await bare.close();
    },
  };
}

let calls = 0;

/**
 * Of a call of its own: updates of one call that follow each other are written as one. @returns
 * {import("handrail").ActivityEvent}
 */
function event() {
  const call = `bench-${calls++}`;
  return { call, thread: "main", at: Date.now(), type: "call.updated", update: { output: "x".repeat(200) } };
}

/**
 * Starts `handrail serve` with its own state folder, and opens a store of this process on the same database.
 *
 * @param {string} folder
 * @param {string} [preset]
 */
export async function serving(folder, preset = "none") {
  const state = join(folder, "api-state");
  rmSync(state, { recursive: true, force: true });
  const options = ["--port", "0", "--preset", preset, "--work-dir", folder, "--autonomy", "full", "--sandbox", "off"];
  const child = spawn(process.execPath, [CLI, "serve", ...options], {
    env: { ...process.env, XDG_STATE_HOME: state },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [chunk] = await /** @type {Promise<Buffer[]>} */ (
    import("node:events").then(({ once }) => once(child.stdout, "data"))
  );
  const { origin, searchParams } = new URL(String(chunk).trim());
  const store = sqliteStore({ file: join(state, "handrail", "handrail.db") });
  await store.commit(event());
  return {
    ...{ url: origin, token: searchParams.get("token") ?? "", store, pid: child.pid ?? 0 },
    /** @param {readonly { close(): void }[]} clients */
    async close(clients) {
      for (const client of clients) client.close();
      await store.close();
      child.kill("SIGKILL");
    },
  };
}

/** @param {{ url: string, token: string }} server */
async function follow({ url, token }) {
  const stopping = new AbortController();
  const response = await fetch(`${url}/api/events?after=now`, {
    headers: { authorization: `Bearer ${token}` },
    signal: stopping.signal,
  });
  return reader(response, () => stopping.abort());
}

/** Counts the events of a stream. @param {Response} response @param {() => void} close */
function reader(response, close) {
  let missing = 0;
  let tail = "";
  let arrived = () => {};
  void (async () => {
    for await (const chunk of response.body ?? []) {
      const text = tail + Buffer.from(chunk).toString("latin1");
      missing -= text.split(MARK).length - 1;
      tail = text.slice(1 - MARK.length); // too short to be counted twice
      if (missing <= 0) arrived();
    }
  })().catch(() => undefined);
  return {
    close,
    /** Resolves when this many more events have arrived. @param {number} count */
    arrival(count) {
      missing = count;
      const { promise, resolve } = deferred();
      arrived = resolve;
      return promise;
    },
  };
}

/** @returns {{ promise: Promise<void>, resolve: () => void }} */
function deferred() {
  let resolve = () => {};
  /** @type {Promise<void>} */
  const promise = new Promise((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** A server that pushes bytes at once. */
async function pushing() {
  /** @type {import("node:http").ServerResponse | undefined} */
  let client;
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write(":\n\n");
    client = response;
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const address = /** @type {import("node:net").AddressInfo} */ (server.address());
  const stopping = new AbortController();
  const response = await fetch(`http://127.0.0.1:${address.port}/`, { signal: stopping.signal });
  const body = `id: 1\ndata: ${JSON.stringify(event())}\n\n`;
  return {
    client: reader(response, () => stopping.abort()),
    push: () => client?.write(body),
    close: async () => {
      stopping.abort();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** User and system time of a process, in milliseconds (proc(5), in ticks of 10 ms). @param {number} pid */
function processorMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** @param {number} pid */
function residentMb(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024;
}
