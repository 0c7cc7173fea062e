import { describe, expect, test } from "vitest";
import { mustHaveChromium, openPage } from "../../support/browser.ts";
import { until } from "../../support/until.ts";
import { CERTIFICATE } from "../certificate.ts";
import { TOKEN, saveOutput, served } from "../served.ts";

/** A PNG of one pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const problem = mustHaveChromium();

describe.skipIf(problem !== undefined)("the session of a browser", () => {
  test("begins with the printed address, has no cookie, and shows images and downloads", async () => {
    const api = await served({ preset: "none" });
    const output = await saveOutput(api, Buffer.from(PIXEL, "base64"));
    const at = Date.now();
    const of = { call: "picture", thread: "main", at };
    await api.store.commit({ ...of, type: "call.started", name: "read", input: { path: "a.png" } });
    const content = [{ type: "image", mimeType: "image/png", bytes: 70, output }] as const;
    await api.store.commit({ ...of, type: "call.finished", status: "ok", data: {}, content: [...content] });
    const { page, faults } = await openPage(`${api.url}/?token=${TOKEN}#/thread/main`);
    const image = page.locator("img.picture");
    await image.waitFor();
    await until("it is drawn", () => image.evaluate((each) => (each as { naturalWidth?: number }).naturalWidth === 1));
    expect(page.url()).toBe(`${api.url}/#/thread/main`);
    expect(await page.evaluate("document.cookie")).toBe("");
    expect(await page.context().cookies()).toEqual([]);

    const text = await saveOutput(api, "all of it");
    await page.goto(`${api.url}/#/output/${text}`);
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download" }).click(),
    ]);
    expect(file.suggestedFilename()).toBe(`${text}.txt`);
    expect(await file.failure()).toBe(null);

    await page.goto(`${api.url}/?token=${TOKEN}`); // a browser that has a session keeps it
    await page.getByText("Connected").waitFor();
    expect(await api.browsers.list()).toMatchObject([{ kind: "browser", name: expect.stringMatching(/ on Linux$/) }]);
    expect(faults).toEqual([]);
  });

  test("is listed, and revoked it shows nothing any more", async () => {
    const api = await served({ preset: "none" });
    const { page } = await openPage(`${api.url}/?token=${TOKEN}#/browsers`);
    await page.getByText("this browser").waitFor();
    await page.getByRole("button", { name: /^Revoke/ }).click();
    const refused = page.getByText("This browser has no session, or it was ended.");
    await refused.waitFor();
    expect(await api.browsers.list()).toEqual([]);
    await page.reload();
    await refused.waitFor();
    expect(await page.locator(".app").count()).toBe(0);
  });

  test("of a phone begins with the QR code of a link that works once", async () => {
    const api = await served({ preset: "none" }, { tls: CERTIFICATE });
    const insecure = { ignoreHTTPSErrors: true };
    const { page, faults } = await openPage(`${api.url}/?token=${TOKEN}#/browsers`, insecure);
    await page.getByRole("button", { name: "Pair a phone" }).click();
    await page.getByRole("img", { name: "QR code of the link" }).waitFor();
    const link = await page.locator("figcaption code").innerText();
    expect(link.startsWith(`${api.url}/#pair=`)).toBe(true);

    const phone = await openPage(link, { ...insecure, viewport: { width: 390, height: 844 } });
    await phone.page.getByText("Connected").waitFor({ state: "attached" });
    expect(phone.page.url()).toBe(`${api.url}/`);
    expect((await api.browsers.list()).map(({ kind }) => kind)).toEqual(["browser", "phone"]);

    const late = await openPage(link, insecure);
    await late.page.getByText("This browser has no session, or it was ended.").waitFor();
    expect([...faults, ...phone.faults]).toEqual([]);
  });
});
