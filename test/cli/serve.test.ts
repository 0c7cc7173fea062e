import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CERTIFICATE_FILES } from "../serve/certificate.ts";
import { until } from "../support/until.ts";
import { type CommandLine, commandLine } from "./program.ts";

const tokenFile = ({ stateHome }: CommandLine) => join(stateHome, "handrail", "api-token");
const SERVE = ["serve", "--port", "0", "--sandbox", "off"];

describe("the token file", () => {
  test.for([
    ["an empty one, as a full disk leaves it", ""],
    ["a short one", "0123456789\n"],
    ["one of spaces", `${" ".repeat(64)}\n`],
  ])("%s is refused with the fix, so that it lets nobody in", { timeout: 30_000 }, async ([, content = ""]) => {
    const cli = await commandLine();
    mkdirSync(join(cli.stateHome, "handrail"), { recursive: true });
    writeFileSync(tokenFile(cli), content);
    const serving = cli.startHere(SERVE);
    await Promise.race([serving.ended, until("it serves", () => serving.stdout().includes("token="))]);
    if (serving.stdout() !== "") {
      const url = new URL(serving.stdout().trim());
      const entered = await fetch(`${url.origin}/?token=`, { redirect: "manual" });
      serving.kill("SIGTERM");
      expect(entered.headers.get("set-cookie")).toBe(null);
    }
    const { code, stderr } = await serving.ended;
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/api-token.* is empty or too short.* Remove it/) as string,
    });
  });

  test("is made whole, for this user only, and kept", { timeout: 30_000 }, async () => {
    const cli = await commandLine();
    const tokens: (string | null)[] = [];
    for (let start = 0; start < 2; start++) {
      const serving = start === 0 ? cli.start(SERVE) : cli.startHere(SERVE);
      await until("it serves", () => serving.stdout().includes("token="));
      tokens.push(new URL(serving.stdout().trim()).searchParams.get("token"));
      serving.kill("SIGTERM");
      await serving.ended;
    }
    expect(tokens[0]).toMatch(/^[\w-]{43}$/);
    expect(tokens[1]).toBe(tokens[0]);
    expect(readFileSync(tokenFile(cli), "utf8")).toBe(`${tokens[0]}\n`);
    expect(statSync(tokenFile(cli)).mode & 0o777).toBe(0o600);
  });
});

test("sessions of browsers are listed and revoked at a shell", { timeout: 30_000 }, async () => {
  const cli = await commandLine();
  const serving = cli.startHere(SERVE);
  await until("it serves", () => serving.stdout().includes("token="));
  const { origin, searchParams } = new URL(serving.stdout().trim());
  const ask = (path: string, secret: string, body?: object) =>
    fetch(origin + path, {
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      ...(body && { method: "POST", body: JSON.stringify(body) }),
    });
  const begun = await ask("/api/sessions", searchParams.get("token") ?? "", { name: "Firefox on Linux" });
  const { session, secret } = (await begun.json()) as { session: { id: string }; secret: string };
  const stream = await ask("/api/events", secret);
  expect((await cli.here(["browsers"])).stdout).toMatch(/^[0-9a-f]{16} {2}browser Firefox on Linux, since /);
  expect((await cli.here(["browsers", "revoke", session.id])).stdout).toBe(`${session.id} is revoked.\n`);
  await stream.text(); // it ends
  expect((await ask("/api/overview", secret)).status).toBe(401);
  expect(await cli.here(["browsers", "revoke", session.id])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("there is no session") as string,
  });
  expect((await cli.here(["browsers"])).stdout).toContain("No browser has a session");
  serving.kill("SIGTERM");
  await serving.ended;
});

test("with a certificate other machines may connect, and a link to pair a phone is printed", async () => {
  const cli = await commandLine();
  const { cert, key } = CERTIFICATE_FILES;
  const serving = cli.startHere([...SERVE, "--host", "0.0.0.0", "--cert", cert, "--key", key]);
  await until("it serves", () => serving.stdout().includes("token="));
  await until("it is ready", () => serving.stderr().includes("#pair="));
  serving.kill("SIGTERM");
  const { stdout, stderr } = await serving.ended;
  expect(stdout).toMatch(/^https:\/\/[\d.]+:\d+\/\?token=/);
  expect(stderr).toMatch(/to pair a phone, once and within 5 minutes: https:\/\/[\d.]+:\d+\/#pair=[\w-]{22}\n/);
  const { code, stderr: why } = await cli.here([...SERVE, "--cert", cert]);
  expect({ code, why }).toEqual({ code: 2, why: "handrail: --cert and --key go together: give the files of both\n" });
}, 30_000);

test("without one, other machines are told what is refused", { timeout: 30_000 }, async () => {
  const cli = await commandLine();
  const serving = cli.startHere([...SERVE, "--host", "0.0.0.0"]);
  await until("it serves", () => serving.stderr().includes("encrypted"));
  serving.kill("SIGTERM");
  expect((await serving.ended).stderr).toContain("Browsers on them are refused: give --cert and --key\n");
});
