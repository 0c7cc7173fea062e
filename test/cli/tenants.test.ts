import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { workspace } from "../support/workspace.ts";
import { commandLine } from "./program.ts";

/** A program whose configuration has the tenants acme and beta. */
async function configured() {
  const program = await commandLine();
  const [acme, beta] = [await workspace({ "a.txt": "of acme" }), await workspace({ "b.txt": "of beta" })];
  const folder = join(program.configHome, "handrail");
  await mkdir(folder, { recursive: true });
  const tenants = { acme: { work_dir: acme }, beta: { work_dir: beta, calls: 1 }, nowhere: {} };
  await writeFile(join(folder, "config.yaml"), `tenants: ${JSON.stringify(tenants)}\n`);
  return { ...program, acme, beta };
}

describe("tenants of the configuration", () => {
  test("have a record and a folder of their own; the folders of others are forbidden to everybody", async () => {
    const { here, acme, beta } = await configured();
    const read = async (path: string, ...flags: string[]) =>
      await here(["call", "read", JSON.stringify({ path }), "--sandbox", "off", ...flags]);
    expect(await read("a.txt", "--tenant", "acme")).toMatchObject({ code: 0, stdout: "of acme\n" });
    for (const refused of [
      await read(join(beta, "b.txt"), "--tenant", "acme"),
      await read(join(acme, "a.txt")),
      await here(["call", "bash", JSON.stringify({ command: `cat ${beta}/b.txt` }), "--tenant", "acme"]),
    ])
      expect(refused).toMatchObject({ code: 1, stdout: expect.not.stringContaining("of beta") });
    const threads = async (...flags: string[]) => (await here(["threads", ...flags])).stdout;
    expect(await threads("--tenant", "acme")).toContain("main");
    expect(await threads("--tenant", "beta")).not.toContain("main");
    expect((await here(["verify", "--tenant", "acme"])).stdout).toContain("Nothing was changed");
  });

  test("are named for users; one that does not exist, or whose folder is in another's, is an error", async () => {
    const { here, configHome, acme } = await configured();
    expect((await here(["users", "add", "ann", "--tenant", "acme"])).code).toBe(0);
    expect((await here(["users"])).stdout).toBe("ann  watch  of acme\n");
    expect((await here(["users", "add", "bob", "--tenant", "other"])).stderr).toContain(
      "there is no tenant other: the configuration has acme, beta, nowhere",
    );
    const nested = { acme: { work_dir: acme }, inside: { work_dir: join(acme, "sub") } };
    await writeFile(join(configHome, "handrail", "config.yaml"), `tenants: ${JSON.stringify(nested)}\n`);
    expect((await here(["threads", "--tenant", "inside"])).stderr).toContain("the folder of another tenant");
  });

  test("are served by one process, each to its users", async () => {
    const { here, startHere } = await configured();
    const add = async (name: string, tenant: string) =>
      (await here(["users", "add", name, "--scopes", "prompt", "--tenant", tenant])).stdout.trim();
    const [ann, bob, none] = [await add("ann", "acme"), await add("bob", "beta"), await add("nina", "nowhere")];
    const server = startHere(["serve", "--port", "0"]);
    await until("it listens", () => server.stdout().includes("/?token="));
    const { origin } = new URL(server.stdout().trim());
    const ask = async (token: string, path: string, body?: object) =>
      await fetch(origin + path, {
        ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      });
    const call = { name: "read", input: { path: "a.txt" }, wait: true };
    expect(await (await ask(ann, "/api/threads/main/calls", call)).text()).toContain("of acme");
    expect(await (await ask(bob, "/api/threads/main/calls", call)).text()).not.toContain("of acme");
    expect((await ask(none, "/api/threads")).status).toBe(503); // it has no folder
    expect(server.stderr()).toContain("tenant nowhere: it has no folder: set work_dir");
    server.kill("SIGTERM");
    expect((await server.ended).code).toBe(0);
  });
});
