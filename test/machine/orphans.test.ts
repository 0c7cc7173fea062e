import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { commandLine } from "../cli/program.ts";
import { isAlive, until } from "../support/until.ts";
import { temporaryFolder, toolkitWith, workspace } from "../support/workspace.ts";
import { LEAVING_CHILDREN, WITH_CHILDREN, childrenIn, expectGone, leftChildrenIn, untilGone } from "./children.ts";
import { LIBRARY, type Program, pipesFolders, program, runningPid, said, spawnerOf } from "./program.ts";

const COMMAND = JSON.stringify(WITH_CHILDREN);

/** Waits until all processes of a program are gone, including its spawner and pipes. */
async function untilNothingIsLeft({ temporary }: Program, spawner: number): Promise<void> {
  await until("the spawner is gone", async () => !(await isAlive(spawner)), 15_000);
  expect(pipesFolders(temporary)).toEqual([]);
}

describe.concurrent("nothing of a command is left", () => {
  test("after its timeout", async () => {
    const folder = await workspace();
    const toolkit = await toolkitWith({ workDir: folder, preset: "all", policy: { autonomy: "full" } });
    const call = toolkit.call({ name: "bash", input: { command: WITH_CHILDREN, timeout: 6 } });
    const children = await childrenIn(folder);
    expect(await call).toMatchObject({
      status: "failed",
      message: "the command did not finish within 6 s and was stopped",
    });
    await expectGone(children);
  });

  test("after its call was stopped", async () => {
    const folder = await workspace();
    const toolkit = await toolkitWith({ workDir: folder, preset: "all", policy: { autonomy: "full" } });
    const controller = new AbortController();
    const call = toolkit.call({ name: "bash", input: { command: WITH_CHILDREN } }, { signal: controller.signal });
    const children = await childrenIn(folder);
    controller.abort();
    expect(await call).toMatchObject({ status: "aborted" });
    await expectGone(children);
  });

  test("after its toolkit was closed while it was running", async () => {
    const folder = await workspace();
    const toolkit = await toolkitWith({ workDir: folder, preset: "all", policy: { autonomy: "full" } });
    const call = toolkit.call({ name: "bash", input: { command: WITH_CHILDREN } });
    const children = await childrenIn(folder);
    await toolkit.close();
    await expectGone(children);
    expect(await call).toMatchObject({ status: "aborted" });
  });

  test("after its toolkit was closed long after it had ended", async () => {
    const folder = await workspace();
    const toolkit = await toolkitWith({ workDir: folder, preset: "all", policy: { autonomy: "full" } });
    expect(await toolkit.call({ name: "bash", input: { command: LEAVING_CHILDREN } })).toMatchObject({ status: "ok" });
    const children = await leftChildrenIn(folder);
    await toolkit.close();
    await expectGone(children);
  });

  test("after Ctrl-C on the command line", async () => {
    const { folder, start } = await commandLine();
    const running = start(["call", "bash", JSON.stringify({ command: WITH_CHILDREN }), "--yes", "--sandbox", "off"]);
    const children = await childrenIn(folder);
    const spawner = await spawnerOf(running.pid);
    process.kill(-running.pid, "SIGINT"); // to the whole group, as a terminal does
    expect((await running.ended).code).toBe(1);
    await expectGone(children);
    await until("the spawner is gone", async () => !(await isAlive(spawner)));
  });

  test.for(["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"] as const)(
    "after %s ended a program that uses the library",
    async (signal) => {
      const running = program(`await bash({ command: ${COMMAND} });`);
      const children = await childrenIn(running.folder);
      const spawner = await spawnerOf(running.pid);
      process.kill(-running.pid, signal);
      expect(await running.ended).toMatchObject({ signal });
      await untilGone(children);
      await untilNothingIsLeft(running, spawner);
    },
  );

  test("after a program that uses the library has called process.exit()", async () => {
    const running = program(`void bash({ command: ${COMMAND} }); await there("go"); process.exit(3);`);
    const children = await childrenIn(running.folder);
    const spawner = await spawnerOf(running.pid);
    await writeFile(join(running.folder, "go"), "");
    expect(await running.ended).toMatchObject({ code: 3 });
    await untilGone(children);
    await untilNothingIsLeft(running, spawner);
  });

  test("after a program was killed whose command had ended and left children", async () => {
    const running = program(`await bash({ command: ${JSON.stringify(LEAVING_CHILDREN)} }); await there("never");`);
    const children = await leftChildrenIn(running.folder);
    const spawner = await spawnerOf(running.pid);
    process.kill(running.pid, "SIGKILL");
    await untilGone(children);
    await expect(untilNothingIsLeft(running, spawner)).resolves.toBeUndefined();
  });

  test("after a program with several toolkits, jobs and concurrent calls was killed", async () => {
    const [one, two] = [await workspace(), await workspace()];
    const body = `
      for (const workDir of ${JSON.stringify([one, two])}) {
        const each = await createToolkit({ workDir, preset: "all", sandbox: "off", policy: { autonomy: "full" }, stateDir: ${JSON.stringify(temporaryFolder())} });
        void each.call({ name: "bash", input: { command: ${COMMAND}, background: workDir === ${JSON.stringify(one)} } });
      }
      await there("never");`;
    const running = program(body);
    const children = [await childrenIn(one), await childrenIn(two)];
    const spawner = await spawnerOf(running.pid);
    process.kill(running.pid, "SIGKILL");
    for (const each of children) await untilGone(each);
    await expect(untilNothingIsLeft(running, spawner)).resolves.toBeUndefined();
  });
});

describe.concurrent("stopping one command", () => {
  test("leaves others running, also those whose children have left their groups", async () => {
    const folders = await Promise.all(Array.from({ length: 4 }, () => workspace()));
    const root = await workspace();
    const toolkit = await toolkitWith({
      workDir: root,
      preset: "all",
      policy: { autonomy: "full", allowedRoots: folders },
    });
    const script = (folder: string) =>
      `cd ${folder}; setsid sh -c 'echo $$ >away.pid; exec sleep 1000' & echo $$ >shell.pid; wait`;
    const controllers = folders.map(() => new AbortController());
    const calls = folders.map((folder, index) =>
      toolkit.call({ name: "bash", input: { command: script(folder) } }, { signal: controllers[index]!.signal }),
    );
    const pids = await Promise.all(folders.map((folder) => childrenIn(folder, ["away", "shell"])));
    for (const [index, controller] of controllers.entries()) {
      controller.abort();
      expect(await calls[index]).toMatchObject({ status: "aborted" });
      await expectGone(pids[index]!);
      for (const others of pids.slice(index + 1)) {
        for (const pid of others.values()) expect(await isAlive(pid)).toBe(true);
      }
    }
  });

  test("distinguishes number 1 from number 11", async () => {
    const folder = await workspace();
    const toolkit = await toolkitWith({ workDir: folder, preset: "all", policy: { autonomy: "full" } });
    const first = new AbortController();
    const script = (name: string) => `setsid sh -c 'echo $$ >${name}.pid; exec sleep 1000' & wait`;
    const call = toolkit.call({ name: "bash", input: { command: script("first") } }, { signal: first.signal });
    const one = await runningPid(folder, "first");
    for (let count = 2; count <= 10; count++) await toolkit.call({ name: "bash", input: { command: ":" } });
    void toolkit.call({ name: "bash", input: { command: script("eleventh") } });
    const eleven = await runningPid(folder, "eleventh");
    const marks = [one, eleven].map(
      (pid) => /HANDRAIL_PROCESS=([^\0]*)/.exec(readFileSync(`/proc/${pid}/environ`, "latin1"))?.[1],
    );
    expect(marks.map((mark) => /\.(\d+):$/.exec(mark ?? "")?.[1])).toEqual(["1", "11"]);
    first.abort();
    await call;
    expect(await isAlive(one)).toBe(false);
    expect(await isAlive(eleven)).toBe(true);
  });

  test("also ends everything started by a program inside it that uses the library", async () => {
    const folder = await workspace();
    const temporary = temporaryFolder();
    const inner = `
      process.env.TMPDIR = ${JSON.stringify(temporary)};
      import { createToolkit } from ${JSON.stringify(LIBRARY)};
      const toolkit = await createToolkit({ preset: "all", sandbox: "off", policy: { autonomy: "full" }, stateDir: ${JSON.stringify(temporaryFolder())} });
      await toolkit.call({ name: "bash", input: { command: ${COMMAND} } });`;
    await writeFile(join(folder, "inner.mjs"), inner);
    const toolkit = await toolkitWith({ workDir: folder, preset: "all", policy: { autonomy: "full" } });
    const controller = new AbortController();
    const command = `echo $$ >outer.pid; node inner.mjs & echo $! >inner.pid; wait`;
    const call = toolkit.call({ name: "bash", input: { command } }, { signal: controller.signal });
    const children = new Map([...(await childrenIn(folder)), ...(await childrenIn(folder, ["inner", "outer"]))]);
    const spawner = await spawnerOf(children.get("inner")!);
    expect(pipesFolders(temporary)).toHaveLength(1);
    controller.abort();
    await call;
    await expectGone(children);
    expect(await isAlive(spawner)).toBe(false);
    expect(pipesFolders(temporary)).toEqual([]);
  });
});

describe.concurrent("a program that uses the library", () => {
  test("exits when it has nothing left to do, although it closed nothing", async () => {
    const running = program(`const { status } = await bash({ command: "echo hi" }); say(status);`);
    const { code, stdout, stderr } = await running.ended;
    expect({ code, said: said(stdout), stderr }).toEqual({ code: 0, said: ["ok"], stderr: "" });
    await until("its pipes are gone", () => pipesFolders(running.temporary).length === 0);
  });

  test("is not kept alive by a background child that writes, and leaves nothing of it", async () => {
    const command =
      "sh -c 'echo $$ >writer.pid; while :; do echo x; sleep 0.01; done' & while [ ! -s writer.pid ]; do sleep 0.01; done";
    const running = program(`
      await bash({ command: ${JSON.stringify(command)} });
      say(1);
      await there("go");`);
    const writer = await runningPid(running.folder, "writer");
    await until("the call is over", () => running.stdout() !== "");
    expect(await isAlive(writer)).toBe(true);
    await writeFile(join(running.folder, "go"), "");
    expect(await running.ended).toMatchObject({ code: 0 });
    await until("the writer is gone", async () => !(await isAlive(writer)));
  });

  test("needs no spawner until it runs something", async () => {
    const running = program(`
      const { status } = await toolkit.call({ name: "ls", input: {} });
      say([status, (await import("node:fs")).readdirSync(process.env.TMPDIR)]);
      await toolkit.close();`);
    expect(said((await running.ended).stdout)).toEqual([["ok", []]]);
    expect(existsSync(running.temporary)).toBe(true);
  });
});
