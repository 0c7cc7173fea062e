// Workers whose calls run in a container, in the sandbox and in a shared terminal.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Toolkit } from "../../src/core/contract/toolkit.ts";
import { asText } from "../../src/core/call/result.ts";
import { bubblewrapProblem } from "../machine/sandbox/contained.ts";
import { tmuxProblem } from "../machine/tmux-server.ts";
import { sharedContainer } from "../support/containers.ts";
import { engineProblem } from "../support/engines.ts";
import { mustBeHere } from "../support/here.ts";
import { postgresProblem, postgresServer } from "../support/postgres.ts";
import { redisProblem, redisServer } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { machines } from "./machines.ts";

const problem = postgresProblem() ?? redisProblem();
mustBeHere("PostgreSQL and Redis", problem);
const containerProblem = engineProblem("podman");
mustBeHere("a worker in a container of podman", containerProblem);
const sandboxProblem = bubblewrapProblem();
mustBeHere("a worker with the sandbox", sandboxProblem);
const terminalProblem = tmuxProblem();
mustBeHere("a worker in tmux", terminalProblem);

/** Edits, live output, a saved output and a job, as a model makes them. */
async function workThrough(toolkit: Toolkit, id: string): Promise<void> {
  const text = async (name: string, input: object) => asText(await toolkit.call({ name, input }));
  expect(await text("write", { path: "made.txt", content: "one\ntwo\n" })).toBe("Created made.txt (8B)");
  expect(await text("edit", { path: "made.txt", old_text: "two", new_text: "three" })).toContain("+three");
  expect(await text("read", { path: "made.txt" })).toBe("one\nthree\n");
  let live = "";
  const waiting = toolkit.call(
    { name: "bash", input: { command: "cat made.txt; while ! [ -e go ]; do sleep 0.1; done; seq 20000" } },
    {
      onEvent: (event) => {
        if (event.type === "call.updated") live += event.update.output ?? "";
      },
    },
  );
  await until("its output is seen while it runs", () => live.includes("three"));
  expect(await text("write", { path: "go", content: "" })).toContain("Created go");
  const [, output = ""] = /output:\/\/(\w+)/.exec(asText(await waiting)) ?? [];
  expect(await text("grep", { path: `output://${output}`, pattern: "^777$" })).toContain("777");
  expect(await text("bash", { command: "echo begun; exec cat", background: true })).toContain(`Job ${id}1 was started`);
  const jobs = (input: object) => text("jobs", { id: `${id}1`, ...input });
  await until("its output is there", async () => /begun/.test(await text("read", { path: `output://job-${id}1` })));
  expect(await jobs({ action: "write", text: "typed\n" })).toBe(`Wrote 6B to job ${id}1.`);
  await until("it has answered", async () => /typed/.test(await text("read", { path: `output://job-${id}1` })));
  expect(await jobs({ action: "kill" })).toMatch(/Job \w+: (Killed|Exit code)/);
}

describe.skipIf(problem !== undefined)("a worker works", { timeout: 120_000 }, async () => {
  if (problem !== undefined) return;
  const [postgres, redis] = [await postgresServer(), await redisServer()];
  const { worker, caller } = machines(redis.url);
  const inContainer = sharedContainer("podman", { user: "dev" });

  test.skipIf(containerProblem !== undefined)("in a container", async () => {
    const url = await postgres.create("container");
    const one = await inContainer();
    await one.exec(["chown", "dev", "/work"], { user: "root" });
    const { id } = await worker(url, ["--container", `podman:${one.name}`, "--work-dir", "/work"]);
    const toolkit = await caller(url);
    expect(toolkit.backend.workDir).toBe("/work");
    await workThrough(toolkit, id);
    expect((await one.exec(["cat", "/work/made.txt"])).stdout.toString()).toBe("one\nthree\n");
  });

  test.skipIf(sandboxProblem !== undefined)("in its sandbox, and what it changed there is undone", async () => {
    const url = await postgres.create("sandboxed");
    const { folder, id } = await worker(url, [], "policy: { sandbox: on }\n");
    const toolkit = await caller(url, { policy: {}, approver: async () => ({ answer: "once" }) });
    await workThrough(toolkit, id);
    const ofSandbox = `/tmp/${basename(temporaryFolder())}.txt`;
    const command = `echo x > ${ofSandbox}; cat ${ofSandbox}; echo y > inside`;
    expect(asText(await toolkit.call({ name: "bash", input: { command } }))).toBe("x\n");
    expect([existsSync(ofSandbox), readFileSync(join(folder, "inside"), "utf8")]).toEqual([false, "y\n"]);
    const { here } = await worker(url, ["--name", "other"]);
    expect((await here(["undo", "--worker", `build#${id}`, "--yes"])).stdout).toContain("restored");
    expect(existsSync(join(folder, "inside"))).toBe(false);
  });

  test.skipIf(terminalProblem !== undefined)("in a terminal that people of its machine share", async () => {
    const url = await postgres.create("terminal");
    process.env["TMUX_TMPDIR"] = join(temporaryFolder(), "tmux");
    mkdirSync(process.env["TMUX_TMPDIR"], { mode: 0o700 });
    for (const name of ["TMUX", "TMUX_PANE"]) delete process.env[name];
    const tmux = (...words: readonly string[]) => execFileSync("tmux", ["-u", ...words], { encoding: "utf8" });
    tmux("-f", "/dev/null", "new-session", "-d", "-s", "keep", "-x", "200", "-y", "50", "bash --norc");
    onTestFinished(() => void tmux("kill-server"));
    const args = ["--tmux", "--tmux-session", "shared", "--preset", "operator"];
    await worker(url, args, "policy: { autonomy: full, sandbox: off }\nundo: off\n", /to watch the commands/);
    const toolkit = await caller(url, { preset: "operator", approver: async () => ({ answer: "once" }) });
    const text = async (name: string, input: object) => asText(await toolkit.call({ name, input }));
    expect(await text("run_shell", { command: "echo out; echo err >&2; exit 3" })).toBe(
      "exit code: 3\nstdout:\nout\nstderr:\nerr",
    );
    const command = "echo ready; read -r line; echo got $line; exec sleep 1000";
    const said = await text("run_shell", { command, wait: false });
    expect(said).toMatch(/dispatched to tmux pane %\d+/);
    const [pane = ""] = /%\d+/.exec(said) ?? [];
    await until("it reads", async () => /^ready$/m.test(await text("capture-pane", { target: pane })));
    expect(await text("send-keys", { target: pane, literal_text: "hello", enter: true })).toContain(pane);
    await until("it is seen", async () => /^got hello$/m.test(await text("capture-pane", { target: pane })));
    expect(tmux("display-message", "-p", "-t", pane, "#{session_name}").trim()).toBe("shared");
    expect(await text("send-keys", { target: pane, keys: ["C-c"] })).toContain(`sent keys to tmux pane ${pane}`);
  });
});
