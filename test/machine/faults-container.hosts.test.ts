// Real faults of a container, and what a model reads about them.
import { beforeAll, describe, expect, test } from "vitest";
import { type ContainerOptions, container as containerBackend } from "../../src/machine/container/container.ts";
import { type TestContainer, container } from "../support/containers.ts";
import { type Engine, type EngineName, engineOf, engineProblem, pauseProblem } from "../support/engines.ts";
import { mustBeHere } from "../support/here.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { type Hands, handsOn, processesHere, workingAgain } from "./elsewhere.ts";

const NAMES: readonly EngineName[] = ["docker", "podman"];
const usable = NAMES.filter((name) => engineProblem(name) === undefined);
for (const name of NAMES) mustBeHere(`${name}, whose containers fail`, engineProblem(name));

async function on({ name }: TestContainer, options: Partial<ContainerOptions> = {}): Promise<Hands> {
  return handsOn(
    await containerBackend({ container: name, outputFolder: temporaryFolder(), backOffMs: [0, 300], ...options }),
  );
}

/** Returns our clients of the engine that hold a shell in the container. */
function clientsOf({ name }: TestContainer): readonly number[] {
  return processesHere((words) => words.includes("exec") && words.includes("-i") && words.includes(name));
}

const hasIn = async (one: TestContainer, path: string) => (await one.exec(["test", "-e", path])).status === 0;

/** Returns true while a process with these words in its command line runs in the container. */
async function runsIn(one: TestContainer, words: string): Promise<boolean> {
  return (await one.exec(["ps", "-o", "args"])).stdout.toString().includes(words);
}

describe.each(usable)("in a container of %s", (engineName) => {
  let engine: Engine;
  beforeAll(async () => {
    for (const each of usable) Object.assign(process.env, (await engineOf(each)).env);
    engine = await engineOf(engineName);
  }, 300_000);

  test("when it stops during a command, the exit status is unknown; calls say how to start it, then work", async () => {
    const one = await container(engine, { user: "dev" });
    const { call } = await on(one);
    const running = call("bash", { command: "echo begun; touch begun; sleep 301" });
    await until("it runs", () => hasIn(one, "/work/begun"), 20_000);
    await one.stop();
    const text = await running;
    expect(text).toContain("Tool error: the exit status of the command is unknown: ");
    expect(text).toContain(`container ${one.name} (${engineName}) is not running`);
    expect(text).toContain("begun");
    const down = await call("bash", { command: "uptime" });
    expect(down).toContain(`container ${one.name} (${engineName}) is not running`);
    expect(down).toContain(`Start it with \`${engineName} start ${one.name}\`.`);
    await one.start();
    const next = await workingAgain(call);
    expect(next).toMatch(
      new RegExp(`The connection to container ${one.name} was lost, and was reopened \\d+ s later\\.`),
    );
    expect(await call("ls", {})).toContain("begun");
  });

  test("when it is removed during a command, this is reported then and by every later call", async () => {
    const one = await container(engine, { user: "dev" });
    const { call } = await on(one);
    const running = call("bash", { command: "touch begun; sleep 302" });
    await until("it runs", () => hasIn(one, "/work/begun"), 20_000);
    await one.remove();
    expect(await running).toContain(`container ${one.name} (${engineName}) was removed`);
    expect(await call("bash", { command: "uptime" })).toMatch(
      new RegExp(
        `^Tool error: container ${one.name} \\(${engineName}\\) was removed\nCreate it again, or name another\\.`,
      ),
    );
    expect(await call("read", { path: "begun" })).toContain("was removed");
  });

  test.skipIf(pauseProblem(engineName) !== undefined)(
    "one that is paused answers nobody: calls say so within seconds, and how to continue; then they work",
    async () => {
      const one = await container(engine, { user: "dev" });
      const { call } = await on(one);
      const running = call("bash", { command: "echo begun; touch begun; sleep 305" });
      await until("it runs", () => hasIn(one, "/work/begun"), 20_000);
      await one.pause();
      const down = await call("bash", { command: "uptime" });
      expect(down).toContain(`container ${one.name} (${engineName}) is paused`);
      expect(down).toContain(`Run \`${engineName} unpause ${one.name}\`.`);
      expect(await running).toMatch(/the exit status of the command is unknown: .* is paused/);
      await one.unpause();
      const next = await workingAgain(call); // the call before may still report the fault
      expect(next).toMatch(/was lost, and was reopened/);
      await until("nothing is left of the command", async () => !(await runsIn(one, "sleep 305")), 20_000);
    },
  );

  test("when our clients of the engine are killed, the remote command is ended, and the next call works", async () => {
    const one = await container(engine, { user: "dev" });
    const { call } = await on(one);
    const running = call("bash", { command: "touch begun; sleep 303" });
    await until("it runs", () => hasIn(one, "/work/begun"), 20_000);
    for (const pid of clientsOf(one)) process.kill(pid, "SIGKILL");
    expect(await running).toMatch(/the exit status of the command is unknown: .*; it may have run in full or in part/);
    const next = await workingAgain(call);
    expect(next).toMatch(/was lost, and was reopened/);
    await until("nothing is left of the command", async () => !(await runsIn(one, "sleep 303")), 20_000);
  });

  test("a job survives when all our clients are killed, with its output, true exit code and stdin", async () => {
    const one = await container(engine, { user: "dev" });
    const { call } = await on(one);
    const command =
      "echo begun; touch begun; while [ ! -e go ]; do sleep 0.1; done; echo away; touch wrote; read -r word; echo got $word; exit 7";
    expect(await call("bash", { command, background: true })).toMatch(/^Job 1 was started/);
    await until("it runs", () => hasIn(one, "/work/begun"), 20_000);
    for (const pid of clientsOf(one)) process.kill(pid, "SIGKILL");
    await one.exec(["touch", "/work/go"], { user: "dev" });
    await until("it has gone on meanwhile", () => hasIn(one, "/work/wrote"), 20_000);
    await call("jobs", { action: "write", id: "1", text: "word\n" });
    expect(await call("jobs", { action: "wait", id: "1" })).toContain("Exit code 7");
    expect(await call("read", { path: "output://job-1" })).toContain("begun\naway\ngot word\n");
  });

  test("a full remote disk rejects a write as a whole, and affects neither commands nor jobs", async () => {
    const args = ["--tmpfs", "/small:size=1m,mode=1777", "--env", "TMPDIR=/small"];
    const one = await container(engine, { user: "dev", args });
    const { call } = await on(one, { workDir: "/small" });
    await call("write", { path: "kept", content: "old\n".repeat(1_000) });
    expect(await call("write", { path: "kept", content: "x".repeat(2_000_000) })).toMatch(
      /^Tool error: The disk is full: /,
    );
    expect(await call("write", { path: "new", content: "x".repeat(2_000_000) })).toMatch(
      /^Tool error: The disk is full: /,
    );
    expect(await call("ls", { show_hidden: true })).not.toMatch(/new|\.tmp/);
    expect(await call("bash", { command: "wc -c <kept" })).toBe("4000\n");
    const output = await call("bash", {
      command: "head -c 3000000 /dev/zero | tr '\\0' 'x' | fold -w 99; echo; echo end",
    });
    expect(output).toMatch(/end\n/);
    expect(output).not.toMatch(/Exit code/);
    expect(
      await call("bash", {
        command: "head -c 3000000 /dev/zero | tr '\\0' 'y' | fold -w 99; exit 5",
        background: true,
      }),
    ).toMatch(/^Job 1 was started/);
    expect(await call("jobs", { action: "wait", id: "1" })).toContain("Exit code 5");
    expect(await call("bash", { command: "head -c 5000000 /dev/zero >kept-not" })).toMatch(/No space left|I\/O error/);
    expect(await call("read", { path: "kept", limit: 1 })).toContain("old");
  });

  test("two concurrent toolkits do not affect each other, nor does what the profile prints or reads", async () => {
    const one = await container(engine, { user: "dev" });
    await one.exec(["sh", "-c", "cat >/etc/profile"], {
      user: "root",
      input: "echo noise; echo noise >&2; read -r answer; cd /\n",
    });
    const [first, second] = await Promise.all([on(one), on(one)]);
    const running = second.call("bash", { command: "touch begun; while [ ! -e go ]; do sleep 0.1; done; pwd" });
    await until("it runs", () => hasIn(one, "/work/begun"), 20_000);
    expect(await first.call("bash", { command: "sleep 304", background: true })).toMatch(/^Job 1 was started/);
    await first.toolkit.close();
    await until("what the first had is ended", async () => !(await runsIn(one, "sleep 304")), 20_000);
    await one.exec(["touch", "/work/go"], { user: "dev" });
    expect(await running).toBe("/work\n");
    await second.toolkit.close();
    expect(clientsOf(one)).toEqual([]);
    await until("no shell of ours is left", async () => !(await runsIn(one, "/bin/sh")), 20_000);
  });
});
