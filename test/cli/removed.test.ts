import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { commandLine } from "./program.ts";

const WHY = "Tenants were removed: run Handrail once for each";

describe("what an earlier version kept apart is not served as one record", () => {
  test.for<[string, { config?: string; args?: string[]; env?: { [name: string]: string } }]>([
    ["tenants in the configuration", { config: "tenants: { acme: { work_dir: /srv/acme } }\n" }],
    ["tenant in the configuration", { config: "tenant: acme\n" }],
    ["HANDRAIL_TENANT", { env: { HANDRAIL_TENANT: "acme" } }],
    ["--tenant NAME", { args: ["--tenant", "acme"] }],
    ["--tenant=NAME", { args: ["--tenant=acme"] }],
  ])("%s is an error that names the change", async ([, { config = "", args = [], env }]) => {
    const { configHome, here } = await commandLine();
    await mkdir(join(configHome, "handrail"), { recursive: true });
    await writeFile(join(configHome, "handrail", "config.yaml"), config);
    expect(await here(["threads", ...args], env)).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining(WHY),
    });
  });

  test("a user of a tenant is nobody, and serve says so; adding them again is an act of a person", async () => {
    const { stateHome, here } = await commandLine();
    await here(["users", "add", "ann"]);
    const file = join(stateHome, "handrail", "users.json");
    const kept = JSON.parse(await readFile(file, "utf8")) as object[];
    await writeFile(file, JSON.stringify(kept.map((user) => ({ ...user, tenant: "acme" }))));
    for (const args of [["users"], ["serve", "--port", "0"]]) {
      const ended = await here(args);
      expect(ended.code).not.toBe(0);
      expect(ended.stderr).toContain(`users of tenants: ann. ${WHY}`);
    }
    expect((await here(["users", "add", "ann"])).code).toBe(0);
    expect((await here(["users"])).stdout).toBe("ann  watch\n");
  });
});
