import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { postgresStore } from "../../src/record/activity/postgres-store.ts";
import { sqliteStore } from "../../src/record/activity/sqlite-store.ts";
import { openMemories } from "../../src/record/memory/memories.ts";
import { projectRoot } from "../../scripts/lib/project.mjs";
import { all, event } from "../record/activity/events.ts";
import { mustBeHere } from "../support/here.ts";
import { postgresProblem, postgresServer } from "../support/postgres.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { type CommandLine, commandLine } from "./program.ts";

const problem = postgresProblem();
mustBeHere("PostgreSQL", problem);

describe.skipIf(problem !== undefined)("handrail with store: postgres://…", { timeout: 120_000 }, async () => {
  if (problem !== undefined) return;
  const server = await postgresServer();

  /** Processes of one user, as if on a machine of their own: only the server is shared. */
  async function machine(url: string, settings = ""): Promise<CommandLine> {
    const line = await commandLine();
    mkdirSync(join(line.configHome, "handrail"), { recursive: true });
    writeFileSync(join(line.configHome, "handrail", "config.yaml"), `store: ${url}\n${settings}`);
    return line;
  }
  const storeOn = (url: string) => {
    const store = postgresStore({ url });
    onTestFinished(() => store.close());
    return store;
  };

  test("the tables are created once; agents, memories, schedules and questions of all machines are there", async () => {
    await (await server.connect(server.url("postgres"))).query("CREATE DATABASE team");
    const url = server.url("team");
    const [one, two] = [await machine(url), await machine(url, "policy: { shell_confirm: true, sandbox: off }\n")];
    expect(await one.here(["threads"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("has no tables of Handrail yet. Create them: handrail store migrate"),
    });
    expect((await one.here(["doctor"])).stdout).toContain("fix: handrail store migrate");
    expect((await one.here(["store", "migrate"])).stdout).toMatch(
      /^PostgreSQL at .*\/team now has the tables of version \d+/,
    );
    expect((await one.here(["store", "migrate"])).stdout).toMatch(
      /^PostgreSQL at .*\/team has the tables of version \d+/,
    );
    expect((await one.here(["doctor"])).stdout).toMatch(/^ok {7}database .*PostgreSQL \d+.* has the record/m);

    const ran = await one.run(["run", "Say hello", "--model", "demo", "--yes"]);
    expect(ran.code, ran.stderr).toBe(0);
    expect((await two.here(["threads"])).stdout).toContain("Say hello");

    const memory = JSON.stringify({ key: "drink", content: "Prefers tea.", category: "core" });
    expect((await one.run(["memory", "import", "-"], `${memory}\n`)).code).toBe(0);
    expect((await two.here(["memory", "search", "tea"])).stdout).toContain("drink");
    expect((await one.here(["cron", "add", "echo hello", "--every", "3600", "--name", "hourly", "--yes"])).code).toBe(
      0,
    );
    expect((await two.here(["cron", "list"])).stdout).toContain("hourly");

    const store = storeOn(url);
    const serving = one.start(["serve", "--port", "0", "--sandbox", "off"]);
    await until("it serves", () => serving.stdout().includes("token="));
    const { origin, searchParams } = new URL(serving.stdout().trim());
    const ask = async (path: string, body?: object) => {
      const headers = {
        authorization: `Bearer ${searchParams.get("token")}`,
        "content-type": "application/json",
      };
      const answer = await fetch(origin + path, {
        headers,
        ...(body && { method: "POST", body: JSON.stringify(body) }),
      });
      return await answer.json();
    };
    const attending = two.start(["approvals", "wait", "--json"]);
    await until("somebody waits", () => store.isAttended());
    const asked = two.start(["call", "bash", JSON.stringify({ command: "echo far" })]);
    await until("the question is there", async () => (await store.questions()).length === 1);
    const [question] = await store.questions();
    const approvals = JSON.stringify(await ask("/api/approvals"));
    expect(approvals).toContain(question?.question);
    await ask(`/api/approvals/${question?.question}`, { answer: "once" });
    expect(await asked.ended).toMatchObject({ code: 0, stdout: "far\n" });
    await server.crash(); // the console goes on when it is back
    await server.start();
    await until("it answers again", async () => JSON.stringify(await ask("/api/threads")).includes("Say hello"));
    for (const each of [serving, attending]) each.kill("SIGTERM");
    await serving.ended;
  });

  test("a record of SQLite is copied as it is, once, and not while it is written", async () => {
    await (await server.connect(server.url("postgres"))).query("CREATE DATABASE copied");
    const url = server.url("copied");
    const line = await machine(url);
    const folder = join(line.stateHome, "handrail");
    const file = join(folder, "handrail.db");
    const old = sqliteStore({ file });
    const at = Date.now() - 86_400_000;
    const thread = { type: "thread.created", thread: "old", at, target: "local", workDir: "/w" } as const;
    await old.commit(thread);
    const words = "read and shown ".repeat(100);
    const read = { type: "call.finished", call: "reads", thread: "old", at, status: "ok", data: { words } } as const;
    await old.commit({ ...read, content: [{ type: "text", text: words } as const] });
    for (let index = 0; index < 1_200; index++) old.append({ ...event(`call-${index}`, "old"), at: at + index });
    const question = {
      type: "approval.requested",
      ...{ call: "asks", thread: "old", at: at + 2_000, question: "q\0", effects: [] },
      decision: { verdict: "ask", risk: "low" },
    } as const;
    await old.commit(question);
    const migrate = ["store", "migrate", "--from", `sqlite:${file}`];
    expect(await line.here(migrate)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/1 process may still write to it: end \d+ first/),
    });
    await old.close();
    const memories = openMemories({ file: join(folder, "memory.db"), scope: "user", mask: (text) => text });
    await memories.store([{ key: "drink", content: "Prefers tea.", category: "core" }]);
    await memories.close();
    const { code, stdout, stderr } = await line.here(migrate);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("Copied 1203 events, memories and schedules.");
    const store = storeOn(url);
    const [before, after] = [await all(sqliteStore({ file })), await all(store)];
    expect(after).toEqual(before);
    expect((await store.questions()).map((each) => each.question)).toEqual(["q\0"]);
    expect((await line.here(["memory", "search", "tea"])).stdout).toContain("drink");
    await store.commit(event("new"));
    expect((await all(store)).at(-1)?.call).toBe("new");
    expect(await line.here(migrate)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("the target has events already: copy into an empty database"),
    });
    await store.close();
    expect(await line.here(["store", "migrate", "--from", url])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("pg_dump copies a database of PostgreSQL"),
    });
  });

  test.for([
    ["a server that is down", "postgres://postgres@127.0.0.1:1/x", "does not answer", "Start it, or correct store"],
    ["a host that does not exist", "postgres://postgres@nowhere.invalid/x", "there is no such host", "Correct store"],
    ["a wrong password", server.url("postgres", "wrong"), "refuses the login", "put the password in PGPASSWORD"],
    ["a database that does not exist", server.url("none"), "does not have that database", "Create it with createdb"],
    ["tables of a newer Handrail", await newer(), "was made by a newer Handrail (version 99", "Update Handrail"],
    ["what is no URL", "postgres://", "expected sqlite, memory or postgres://USER@HOST:PORT/DATABASE", "operations.md"],
  ] as const)("%s is reported with the next step", async ([, url, what, next]) => {
    const { code, stderr } = await (await machine(url)).here(["threads"]);
    expect(code).toBe(2);
    expect(stderr).toContain(what);
    expect(stderr).toContain(next);
    expect(stderr).not.toContain("wrong@");
  });

  async function newer(): Promise<string> {
    const url = await server.create("newer");
    await (await server.connect(url)).query("UPDATE handrail.versions SET version = 99");
    return url;
  }

  test("without the package pg, the message says how to install it", async () => {
    const line = await machine(server.url("postgres"));
    const alone = temporaryFolder();
    cpSync(join(projectRoot, "dist"), join(alone, "dist"), { recursive: true });
    cpSync(join(projectRoot, "package.json"), join(alone, "package.json"));
    const { stderr } = await line.shell(`${process.execPath} ${join(alone, "dist", "cli.js")} threads`);
    expect(stderr).toContain("needs the package pg");
    expect(stderr).toContain("npm install pg");
  });

  test("a project cannot choose it", async () => {
    const line = await commandLine({ "handrail.yaml": `store: ${server.url("postgres")}\n` });
    expect((await line.here(["threads"])).stderr).toContain("store: a project cannot set this");
  });
});
