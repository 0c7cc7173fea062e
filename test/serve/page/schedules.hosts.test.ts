import axe from "axe-core";
import { describe, expect, test } from "vitest";
import { targetOf } from "../../../src/core/call/park.ts";
import { readTiming } from "../../../src/record/schedule/timing.ts";
import { mustHaveChromium, openPage } from "../../support/browser.ts";
import { until } from "../../support/until.ts";
import { TOKEN, served } from "../served.ts";

const problem = mustHaveChromium();

describe.skipIf(problem !== undefined)("the page of schedules", () => {
  test("shows what needs a person first, the next runs on a time line, and pauses a schedule", async () => {
    const { url, toolkit } = await served({ preset: "none" });
    const { schedules } = toolkit;
    const target = targetOf(toolkit.backend);
    const timing = readTiming({ kind: "every", every_ms: 7_200_000 }, Date.now());
    const given = { overlap: "skip", deleteAfterRun: false, maxSeconds: 60, timing } as const;
    const { id } = await schedules.add(
      { ...given, name: "backup <b>", work: { command: "make backup" } },
      { target, thread: "main" },
    );
    await schedules.fire(id, "person");
    const { claimed } = await schedules.claim(target, { limit: 1, may: () => true });
    await schedules.end(claimed[0]?.run.id ?? 0, { state: "failed", note: "Exit code: 2" });
    const { page, faults } = await openPage(`${url}/?token=${TOKEN}#/schedules`);
    await page.getByRole("heading", { name: "Needs you" }).waitFor();
    await page.locator('[data-run="failed"]', { hasText: "Exit code: 2" }).first().waitFor();
    expect(await page.locator(".timeline .track i").count()).toBeGreaterThanOrEqual(11);
    await page.evaluate(axe.source);
    const found = await page.evaluate("axe.run('.sheet').then(({ violations }) => violations.map(({ id }) => id))");
    expect(found).toEqual([]);
    await page.getByRole("button", { name: "Pause backup <b>" }).click();
    await page.getByText("Paused: by a person").waitFor();
    await until("it is paused", async () => (await schedules.get(id))?.paused !== undefined);
    expect(faults).toEqual([]);
  });
});
