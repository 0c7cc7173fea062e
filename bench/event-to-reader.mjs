/**
 * How long an event takes from the begin of its commit to a reader in another process: PostgreSQL and SQLite, and beside
 * them a bare notification between two connections (LISTEN, NOTIFY), in turn.
 *
 * In:  dist (built), PostgreSQL; the number of events as an argument (default 200).
 * Out: medians and 95th percentiles in milliseconds on stdout.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { postgresStore, sqliteStore } from "handrail";
import pg from "pg";
import { server } from "./workloads/postgres.mjs";

const NAMES = /** @type {const} */ (["PostgreSQL", "SQLite", "a bare notification"]);
/** So long apart that each event comes to a reader that waits. */
const APART_MS = 20;

/** Milliseconds since 1970, with a fraction. */
const now = () => performance.timeOrigin + performance.now();
/** @param {{ url: string, file: string }} at */
const storesAt = ({ url, file }) => [postgresStore({ url }), sqliteStore({ file })];

const [argument = "200", url = "", file = ""] = process.argv.slice(2);
if (argument === "read") await read();
else await measure(Number(argument));

async function read() {
  const seen = (/** @type {number} */ way, /** @type {unknown} */ of) => process.send?.([way, Number(of), now()]);
  const follow = async (/** @type {import("handrail").Store} */ store, /** @type {number} */ way) => {
    for await (const event of store.events({ follow: true })) seen(way, event.call);
  };
  storesAt({ url, file }).forEach((store, way) => void follow(store, way));
  const client = new pg.Client(url);
  await client.connect();
  client.on("notification", ({ payload }) => seen(2, payload));
  await client.query("LISTEN bare");
  process.once("disconnect", () => process.exit());
}

/** @param {number} count */
async function measure(count) {
  const folder = mkdtempSync(join(tmpdir(), "handrail-reader-"));
  chmodSync(folder, 0o755); // the server runs as another user
  const at = { ...(await server(join(folder, "postgres"))), file: join(folder, "record.db") };
  const [inPostgres, inFile] = storesAt(at);
  const client = new pg.Client(at.url);
  await client.connect();
  /** @param {import("handrail").Store | undefined} store */
  const commit = (store) => async (/** @type {number} */ number) => {
    const of = { call: String(number), thread: "main", at: Date.now() };
    await store?.commit({ ...of, type: "job.ended", job: "1", exit: { how: "aborted" } });
  };
  const ways = [
    commit(inPostgres),
    commit(inFile),
    (/** @type {number} */ number) => client.query("SELECT pg_notify('bare', $1)", [String(number)]),
  ];
  await Promise.all(ways.map((way) => way(-1)));
  const reader = fork(fileURLToPath(import.meta.url), ["read", at.url, at.file]);
  /** @type {number[][]} */
  const times = ways.map(() => []);
  try {
    for (let number = 0; number < count; number++) {
      for (const [which, way] of ways.entries()) {
        const answers = new AbortController();
        const seen = (async () => {
          for (;;) {
            const [[of, found, at_]] = await once(reader, "message", { signal: answers.signal });
            if (of === which && found === number) return at_;
          }
        })();
        seen.catch(() => {});
        const begun = now();
        await way(number);
        const took = (await Promise.race([seen, delay(2_000)])) - begun;
        answers.abort();
        // The reader is not there yet, or has not warmed up.
        if (Number.isFinite(took) && number > count / 10) times[which]?.push(took);
        await delay(APART_MS);
      }
    }
  } finally {
    reader.disconnect();
    await Promise.all([inPostgres?.close(), inFile?.close(), client.end()]);
    at.end();
    rmSync(folder, { recursive: true, force: true });
  }
  const share = (/** @type {number[]} */ of, /** @type {number} */ part) =>
    of.toSorted((one, other) => one - other)[Math.floor(of.length * part)]?.toFixed(2) ?? "none";
  process.stdout.write("ms                    median  95 %\n");
  for (const [which, of] of times.entries()) {
    const cells = [share(of, 0.5).padStart(7), share(of, 0.95).padStart(6)];
    process.stdout.write(`${NAMES[which]?.padEnd(20)} ${cells.join("")}\n`);
  }
}
