import axe from "axe-core";
import { describe, expect, test } from "vitest";
import { until } from "../../support/until.ts";
import { mustHaveChromium, openPage } from "../../support/browser.ts";
import { TOKEN, served } from "../served.ts";

const problem = mustHaveChromium();

describe.skipIf(problem !== undefined)("the page of workers", () => {
  test("shows who runs and what waits for them, and follows calls and workers", async () => {
    const { url, toolkit, json } = await served({ preset: "none" });
    const { store } = toolkit;
    const report = {
      ...{ id: "abcd", name: "build <b>", host: "far", pid: process.pid, workDir: "/srv/shop", home: "/home/ann" },
      ...{ tools: ["bash"], sandboxed: true, concurrency: 2, maxWaiting: 9, running: 0, averageMs: 5, startedMs: 1 },
    };
    const { page, faults } = await openPage(`${url}/?token=${TOKEN}#/workers`);
    await page.getByRole("heading", { name: "No workers" }).waitFor();
    await store.workers?.report(report);
    await page.locator('[data-worker="here"]', { hasText: "build <b>#abcd" }).waitFor();
    await page.getByText("0 of 2 running").waitFor();

    const target = "worker:build <b>";
    for (const call of ["one", "two"]) {
      const row = { ...{ call, thread: "main", target, name: "bash", input: {} }, refusal: "no", keepMs: 60_000 };
      await store.workers?.deliver({ ...row, delivery: { policy: {} } });
    }
    await page.getByText("2 waiting").waitFor();
    await store.workers?.claim({ worker: "abcd", targets: [target], tools: ["bash"], claim: "c", why: "woken" });
    await page.getByText("1 of 2 running").waitFor();
    await page.getByText("1 waiting").waitFor();
    expect(await json("GET", "/api/workers")).toMatchObject({ workers: [{ id: "abcd", running: 1, waiting: 1 }] });
    await page.evaluate(axe.source);
    const found = await page.evaluate("axe.run('.sheet').then(({ violations }) => violations.map(({ id }) => id))");
    expect(found).toEqual([]);
    await store.workers?.leave("abcd");
    await until("it is gone", async () => (await page.locator("[data-worker]").count()) === 0);
    expect(faults).toEqual([]);
  });
});
