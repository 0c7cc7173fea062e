import { readdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { scopesOf, usersIn } from "../../src/serve/users.ts";
import { commandLine } from "../cli/program.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { eventsOf, receive, served } from "./served.ts";

const by = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

describe("a user", () => {
  test("may do what their scopes name, in a browser of theirs too, until they are removed", async () => {
    const users = usersIn(join(temporaryFolder(), "users.json"));
    const { ask, browsers } = await served({}, { users });
    const status = async (token: string, method: string, path: string, body?: object) =>
      (await ask(method, path, body, by(token))).status;
    const every = async (token: string) => [
      await status(token, "GET", "/api/threads"),
      await status(token, "GET", "/metrics"),
      await status(token, "POST", "/api/threads", {}),
      await status(token, "POST", "/api/approvals/none", { answer: "once" }),
      await status(token, "POST", "/api/memories/forget", { key: "none" }),
    ];
    const tokens = {
      watch: await users.set({ name: "wilma", ...scopesOf("watch") }),
      prompt: await users.set({ name: "paul", ...scopesOf("prompt") }),
      answer: await users.set({ name: "ann", ...scopesOf("answer:low") }),
      administer: await users.set({ name: "adam", ...scopesOf("administer") }),
    };
    expect(await every(tokens.watch)).toEqual([200, 200, 403, 403, 403]);
    expect(await every(tokens.prompt)).toEqual([200, 200, 201, 403, 403]);
    expect(await every(tokens.answer)).toEqual([200, 200, 403, 404, 403]);
    expect((await every(tokens.administer)).slice(0, 4)).toEqual([200, 200, 403, 403]);
    expect((await every(tokens.administer))[4]).not.toBe(403);

    const { secret } = await browsers.create({ kind: "browser", name: "Firefox", address: "127.0.0.1", user: "wilma" });
    expect(await every(secret)).toEqual([200, 200, 403, 403, 403]);
    await users.set({ name: "wilma", ...scopesOf("watch,prompt") });
    expect((await every(secret))[2]).toBe(201);
    expect(await status(tokens.watch, "GET", "/api/threads")).toBe(401); // a new token replaces the old one
    expect(await users.remove("wilma")).toBe(true);
    expect(await status(secret, "GET", "/api/threads")).toBe(401);
  });

  test("approves up to a risk, refuses everything, and is in the record", async () => {
    const users = usersIn(join(temporaryFolder(), "users.json"));
    const api = await served({ preset: "coding", policy: { autonomy: "supervised" } }, { users });
    const low = await users.set({ name: "ann", ...scopesOf("answer:low") });
    const high = await users.set({ name: "bob", ...scopesOf("answer") });
    const pending = api.toolkit.call({ name: "bash", input: { command: "touch x" } });
    await until("it is asked", async () => (await api.store.questions()).length === 1);
    const [open] = await api.store.questions();
    const answer = (token: string, given: object) =>
      api.ask("POST", `/api/approvals/${open?.question}`, given, by(token));
    const refused = await answer(low, { answer: "once" });
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ detail: expect.stringMatching(/^ann may approve up to low risk/) });
    expect((await answer(high, { answer: "once" })).status).toBe(200);
    await pending;
    expect((await eventsOf(api, open?.call ?? "")).find(({ type }) => type === "approval.decided")).toMatchObject({
      by: "user bob",
    });
  });

  test("who only watches reads that a port was opened, and not its address, which lets in whoever has it", async () => {
    const users = usersIn(join(temporaryFolder(), "users.json"));
    const { ask, json, store } = await served({}, { users });
    const watch = await users.set({ name: "wilma", ...scopesOf("watch") });
    const { thread } = await json<{ readonly thread: string }>("POST", "/api/threads", {});
    const opened = { type: "port.opened", call: "c-1", thread, at: Date.now(), job: "job-1", port: 3_000 } as const;
    await store.commit({ ...opened, url: "http://127.0.0.1:40000/?key=secret" });
    for (const path of ["/api/events", `/api/threads/${thread}/events`]) {
      const received = await receive(
        await ask("GET", path, undefined, by(watch)),
        ({ data }) => data["port"] === 3_000,
      );
      expect(received.at(-1)?.data).toMatchObject({ type: "port.opened", job: "job-1", port: 3_000 });
      expect(JSON.stringify(received)).not.toContain("secret");
    }
  });

  test("is added, listed and removed on the command line; the token is shown once", async () => {
    const { here } = await commandLine();
    const added = await here(["users", "add", "ann", "--scopes", "prompt,answer:medium"]);
    expect(added).toMatchObject({ code: 0, stdout: expect.stringMatching(/^user\.[\w-]{43}\n$/) });
    expect((await here(["users"])).stdout).toBe("ann  watch, prompt, answer up to medium risk\n");
    expect((await here(["users", "add", "ann", "--scopes", "rule"])).stderr).toContain(
      "expected watch, prompt, answer",
    );
    expect(await here(["users", "remove", "ann"])).toMatchObject({ code: 0, stdout: "ann is removed.\n" });
    expect((await here(["users", "remove", "ann"])).stderr).toContain("there is no user ann");
  });
});

test("a damaged file of users is not written over", async () => {
  const file = join(temporaryFolder(), "users.json");
  await writeFile(file, '[{ "name": "ann"');
  await expect(usersIn(file).set({ name: "bob", ...scopesOf("watch") })).rejects.toThrow("users.json is damaged");
  expect(() => usersIn(file).list()).toThrow("users.json is damaged");
  expect(await readFile(file, "utf8")).toBe('[{ "name": "ann"');
});

test("the commands of users name a damaged file, and leave it as it is", async () => {
  const { here, stateHome } = await commandLine();
  expect((await here(["users", "add", "ann"])).code).toBe(0);
  const [file = ""] = readdirSync(stateHome, { recursive: true, encoding: "utf8" })
    .filter((path) => basename(path) === "users.json")
    .map((path) => join(stateHome, path));
  await writeFile(file, '[{ "name": "ann"');
  for (const args of [["list"], [], ["add", "bob"], ["remove", "ann"]]) {
    const run = await here(["users", ...args]);
    expect(run, args.join(" ")).toMatchObject({ code: 2, stdout: "" });
    expect(run.stderr).toContain("users.json is damaged");
  }
  expect(await readFile(file, "utf8")).toBe('[{ "name": "ann"');
});
