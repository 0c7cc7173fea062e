/**
 * A store on a PostgreSQL server of its own, which syncs each commit, beside the same in SQLite: one event appended and
 * written, and one from its commit to a reader with connections of its own. Left out where PostgreSQL is not installed.
 */
import { execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { postgresStore, sqliteStore } from "handrail";

const EVENTS_A_RUN = 10_000;
const READ_A_RUN = 100;
/** The built program. */
export const PROGRAM = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

const versions = "/usr/lib/postgresql";
const bin = existsSync(versions)
  ? readdirSync(versions)
      .map((version) => join(versions, version, "bin"))
      .find((folder) => existsSync(join(folder, "initdb")))
  : undefined;

/** @typedef {import("handrail").Store} Store */

/** @type {readonly import("./shared.mjs").Workload[]} */
export const POSTGRES =
  bin === undefined
    ? []
    : [
        compared("postgres-append", "one event appended and written", EVENTS_A_RUN, async ([store]) => {
          for (let number = 1; number < EVENTS_A_RUN; number++) {
            store?.append(eventOf(number));
            if (number % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
          }
          await store?.commit(eventOf(0)); // once this one is written, all are
        }),
        compared(
          "postgres-reader",
          "an event from its commit to another reader",
          READ_A_RUN,
          async ([store, reader]) => {
            const stop = new AbortController();
            const feed = reader?.events({ after: "now", follow: true, signal: stop.signal });
            let seen = () => {};
            const first = new Promise((resolve) => void (seen = () => resolve(undefined)));
            const reading = (async () => {
              for await (const _ of feed ?? []) seen();
            })();
            for (let settled = false; !settled;) {
              await store?.commit(eventOf(0)); // until it follows
              settled = await Promise.race([first.then(() => true), new Promise((r) => setTimeout(r, 20, false))]);
            }
            for (let number = 0; number < READ_A_RUN; number++) {
              const next = new Promise((resolve) => void (seen = () => resolve(undefined)));
              await store?.commit(eventOf(number));
              await next;
            }
            stop.abort();
            await reading;
          },
        ),
      ];

/**
 * @param {string} name
 * @param {string} what
 * @param {number} count
 * @param {(stores: readonly Store[]) => Promise<void>} run
 * @returns {import("./shared.mjs").Workload}
 */
function compared(name, what, count, run) {
  return {
    name,
    what: `${what}, in PostgreSQL; peer SQLite`,
    unit: "ms",
    scale: 1 / count,
    target: { text: "", met: () => true },
    async prepare(folder) {
      const { url, end } = await server(join(folder, name));
      const ours = ["one", "other"].map((each) => postgresStore({ url: `${url}?application_name=${each}` }));
      const file = join(folder, `${name}.db`);
      const peers = [0, 1].map(() => sqliteStore({ file, lookMs: 15, maxEvents: 10_000_000 })); // as serve looks
      return {
        ours: () => run(ours),
        peer: () => run(peers),
        cleanUp: async () => {
          for (const store of [...ours, ...peers]) await store.close();
          end();
        },
      };
    },
  };
}

/** @param {number} number @returns {import("handrail").ActivityEvent} */
function eventOf(number) {
  return {
    call: `call-${number}`,
    thread: "main",
    at: Date.now(),
    type: "job.ended",
    job: "1",
    exit: { how: "aborted" },
  };
}

/**
 * Starts a server with its usual settings, as the user postgres.
 *
 * @param {string} folder
 */
export async function server(folder) {
  const id = (/** @type {string} */ flag) => Number(execFileSync("id", [flag, "postgres"]).toString());
  const user = process.getuid?.() === 0 ? { uid: id("-u"), gid: id("-g") } : {};
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  execFileSync(join(bin ?? "", "initdb"), ["-D", data, "--auth=trust", "--username=bench"], { ...user, cwd: "/" });
  const port = 40_000 + (process.pid % 20_000);
  const settings = ["listen_addresses=127.0.0.1", `port=${port}`, "unix_socket_directories="];
  const flags = ["-D", data, ...settings.flatMap((setting) => ["-c", setting])];
  const child = spawn(join(bin ?? "", "postgres"), flags, { ...user, cwd: "/", stdio: "ignore" });
  const url = `postgres://bench@127.0.0.1:${port}/postgres`;
  for (let attempt = 0; ; attempt++) {
    try {
      execFileSync(process.execPath, [PROGRAM, "store", "migrate", "--to", url], { stdio: "pipe" });
      break;
    } catch (error) {
      if (attempt > 20) throw error;
    }
  }
  return { url, pid: child.pid ?? 0, end: () => void child.kill("SIGINT") };
}
