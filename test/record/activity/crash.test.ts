import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { readThread } from "../../../src/record/activity/messages.ts";
import { sqliteStore } from "../../../src/record/activity/sqlite-store.ts";
import type { StoredEvent } from "../../../src/core/contract/activity.ts";
import { loadEngine } from "../../../src/record/db/driver.ts";
import { cases } from "../../support/cases.ts";
import { until } from "../../support/until.ts";
import { temporaryFolder } from "../../support/workspace.ts";
import { all } from "./events.ts";

const PROGRAM = fileURLToPath(new URL("../../fixtures/activity/calls.mjs", import.meta.url));

/**
 * Starts a process that records calls, kills it with SIGKILL some time after its start or its first line, and returns
 * the lines that it had printed.
 */
async function recordUntilKilled(
  file: string,
  name: string,
  since: "start" | "first line",
  milliseconds: number,
): Promise<readonly string[]> {
  const child = spawn(process.execPath, [PROGRAM, file, name, "3"], { stdio: ["ignore", "pipe", "inherit"] });
  const killLater = () => setTimeout(() => child.kill("SIGKILL"), milliseconds);
  let output = "";
  if (since === "start") killLater();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (output === "" && since === "first line") killLater();
    output += text;
  });
  const signal = await new Promise((resolve, reject) => {
    child.once("error", reject).once("close", (_code, by) => resolve(by));
  });
  expect(signal).toBe("SIGKILL");
  return output.split("\n").slice(0, -1); // an incomplete line is ignored
}

const ROUNDS = cases(3);

describe("kill -9", () => {
  // The moments are random on purpose: the invariant must hold at each of them.
  test(
    `at ${4 * ROUNDS} random moments of four processes on two files loses no acknowledged event and leaves no half`,
    async () => {
      const folder = temporaryFolder();
      const files = [`${folder}/state/one.db`, `${folder}/state/two.db`] as const;
      const told = new Map<string, readonly string[]>(files.map((file) => [file, []]));
      for (let round = 0; round < ROUNDS; round++) {
        await Promise.all(
          [0, 1, 2, 3].map(async (place) => {
            const file = files[place % 2 === 0 ? 0 : 1];
            const early = round % 4 === 0; // while it opens the database, and in the first rounds while it is created
            const lines = await recordUntilKilled(
              file,
              `p${round}-${place}`,
              early ? "start" : "first line",
              Math.random() * (early ? 400 : 60),
            );
            told.set(file, [...(told.get(file) ?? []), ...lines]);
          }),
        );
      }
      for (const file of files) {
        const store = sqliteStore({ file });
        const calls = byCall(await all(store));
        await store.close();
        const database = (await loadEngine())(file);
        expect(database.all("PRAGMA integrity_check")).toMatchObject([{ integrity_check: "ok" }]);
        database.close();
        expect(told.get(file)?.length).toBeGreaterThan(3 * ROUNDS);
        for (const line of told.get(file) ?? []) {
          const [call = "", stage = ""] = line.split(" ");
          const types = calls.get(call)?.map(({ type }) => type) ?? [];
          expect(types.slice(0, 2), line).toEqual(["call.started", "call.approved"]);
          if (stage === "finished") expect(calls.get(call)?.find(isFinished)?.status, line).toBe("ok");
        }
        for (const events of calls.values()) expectClosed(events);
        const endings = [...calls.values()].map((events) => events.find(isFinished)?.status);
        expect(["ok", "interrupted"]).toEqual(expect.arrayContaining([...new Set(endings)])); // no kill may hit a call
      }
    },
    cases(60_000),
  );
});

describe("followers of writers that are killed", () => {
  test("that disconnect at random moments and resume see every event once, and every cell closed", async () => {
    const file = `${temporaryFolder()}/state/followed.db`;
    const store = sqliteStore({ file });
    onTestFinished(() => store.close());
    const seen: StoredEvent[] = [];
    const done = new AbortController();
    const follower = (async () => {
      while (!done.signal.aborted) {
        const connection = new AbortController();
        const leaveAt = seen.length + Math.floor(Math.random() * 150);
        done.signal.addEventListener("abort", () => connection.abort());
        for await (const event of store.events({
          after: seen.at(-1)?.id ?? 0,
          follow: true,
          signal: connection.signal,
        })) {
          seen.push(event);
          if (seen.length >= leaveAt) connection.abort();
        }
      }
    })();
    const told: string[] = [];
    for (let round = 0; round < 2; round++) {
      const writers = [0, 1, 2].map((place) => {
        return recordUntilKilled(file, `r${round}-${place}`, "first line", Math.random() * 60);
      });
      told.push(...(await Promise.all(writers)).flat());
    }
    // The follower closes what dead processes left, within some seconds.
    const isClosed = () => [...byCall(seen).values()].every((events) => events.some(isFinished));
    await until("every call is seen and has ended", async () => {
      return seen.length > 0 && seen.length >= (await all(store)).length && isClosed();
    });
    done.abort();
    await follower;
    expect(seen).toEqual(await all(store));
    for (const line of told) expect(byCall(seen).has(line.split(" ")[0] ?? ""), line).toBe(true);
    for (const thread of new Set(seen.map((event) => event.thread))) {
      const cells = (await readThread(store, thread)).filter((message) => message.role === "tool");
      expect(cells.filter(({ result }) => result === undefined)).toEqual([]);
      expect(cells.filter(({ metadata }) => metadata.tool_activity.status === "in_progress")).toEqual([]);
    }
  }, 60_000);
});

function byCall(events: readonly StoredEvent[]): Map<string, StoredEvent[]> {
  const calls = new Map<string, StoredEvent[]>();
  for (const event of events) {
    const call = event.call ?? "";
    calls.set(call, [...(calls.get(call) ?? []), event]);
  }
  return calls;
}

type Finished = Extract<StoredEvent, { type: "call.finished" }>;

function isFinished(event: StoredEvent): event is Finished {
  return event.type === "call.finished";
}

/**
 * Expects that each call of a dead process has ended once, and says correctly whether it may have run; so have its
 * jobs, except detached ones.
 */
function expectClosed(events: readonly StoredEvent[]) {
  const call = events[0]?.call;
  const finished = events.filter(isFinished);
  expect(finished, call).toHaveLength(1);
  const approved = events.some(({ type }) => type === "call.approved");
  if (finished[0]?.status === "interrupted") {
    expect(finished[0].error, call).toBe(
      approved
        ? "interrupted: the process running it ended; whether it took effect is unknown. It was not run again."
        : "interrupted before it ran",
    );
  }
  const lost = events.filter(({ type }) => type === "job.ended");
  const left = events.filter((event) => event.type === "job.started" && event.lifetime === "toolkit");
  expect(lost, call).toHaveLength(left.length);
}
