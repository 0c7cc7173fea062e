import { expect, test } from "vitest";
import { scheduleRunner } from "../../src/cli/schedules.ts";
import type { Run } from "../../src/core/contract/schedule.ts";
import { signatureOf } from "../../src/record/schedule/signature.ts";
import { readTiming } from "../../src/record/schedule/timing.ts";
import { type Served, served } from "./served.ts";

async function added({ toolkit }: Served, kind: "http" | "every"): Promise<string> {
  const written = kind === "http" ? { kind } : { kind, every_ms: 3_600_000 };
  const { backend } = toolkit;
  const schedule = { name: kind, overlap: "queue", deleteAfterRun: false, maxSeconds: 60 } as const;
  const work = { command: "echo hello" };
  const timing = readTiming(written, Date.now());
  const target = `local:${backend.workDir}`;
  return (await toolkit.schedules.add({ ...schedule, timing, work }, { target, thread: "main" })).id;
}

/** Sends a signed request, without the token. */
async function sent(url: string, id: string, secret: string, body: string, seconds = Date.now() / 1_000) {
  const timestamp = String(Math.floor(seconds));
  const headers = { "handrail-timestamp": timestamp, "handrail-signature": signatureOf(secret, timestamp, body) };
  return await fetch(`${url}/api/triggers/${id}`, { method: "POST", body, headers });
}

test("a signed request starts one run; a wrong, an old and a repeated one start none", async () => {
  const api = await served({ sandbox: "off" });
  const id = await added(api, "http");
  const secret = (await api.toolkit.schedules.secret(id)) ?? "";
  const now = Date.now() / 1_000;
  expect((await sent(api.url, id, "another secret", "{}", now)).status).toBe(401);
  expect((await sent(api.url, "none", secret, "{}", now)).status).toBe(401);
  expect((await sent(api.url, id, secret, "{}", now - 400)).status).toBe(401);
  expect((await sent(api.url, id, secret, "{}", now)).status).toBe(202);
  expect((await sent(api.url, id, secret, "{}", now)).status).toBe(409);
  const timed = await added(api, "every");
  expect((await sent(api.url, timed, secret, "{}", now)).status).toBe(401);
  const runner = scheduleRunner({ toolkit: api.toolkit });
  await runner.once();
  expect(await api.toolkit.schedules.runs()).toMatchObject([{ schedule: id, cause: "http", state: "succeeded" }]);
  await runner.close();
});

test("schedules and runs are listed, and run, paused, resumed and removed", async () => {
  const api = await served({ sandbox: "off" });
  const id = await added(api, "every");
  const listed = async () =>
    await api.json<{ schedules: readonly { paused?: string; next: number[] }[]; runs: readonly Run[] }>(
      "GET",
      "/api/schedules",
    );
  expect(await listed()).toMatchObject({ schedules: [{ id, words: "Every hour", command: "echo hello" }], runs: [] });
  expect((await listed()).schedules[0]?.next.length).toBeGreaterThanOrEqual(23);
  const act = async (action: string) => (await api.ask("POST", `/api/schedules/${id}`, { action })).status;
  expect(await act("pause")).toBe(200);
  expect((await listed()).schedules[0]).toMatchObject({ paused: "by a person", next: [] });
  expect(await act("resume")).toBe(200);
  expect(await act("run")).toBe(200);
  const runner = scheduleRunner({ toolkit: api.toolkit });
  await runner.once();
  await runner.close();
  expect((await listed()).runs).toMatchObject([{ cause: "person", state: "succeeded", note: "hello" }]);
  expect(await act("remove")).toBe(200);
  expect(await act("run")).toBe(404);
});
