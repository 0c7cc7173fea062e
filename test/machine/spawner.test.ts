import { execFileSync, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, openSync, readFileSync, readdirSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { local } from "../../src/machine/local/backend.ts";
import { isAlive, until } from "../support/until.ts";
import { temporaryFolder, workspace } from "../support/workspace.ts";
import { WITH_CHILDREN, childrenIn, expectGone, untilGone } from "./children.ts";
import { LIBRARY, pipesFolders, processes, program, runningPid, said, spawnerOf } from "./program.ts";

const SPAWNER = fileURLToPath(new URL("../../dist/spawner.js", import.meta.url));

describe.concurrent("a spawner that is killed", () => {
  test("ends running commands as lost and stops them, and the next command has a new one", async () => {
    const running = program(`
      const { status, message } = await bash({ command: ${JSON.stringify(`echo before; ${WITH_CHILDREN}`)} });
      say([status, message]);
      say((await bash({ command: "echo after" })).data);
      await there("go"); // and then nothing: nobody is to be held by what replaced it
    `);
    const children = await childrenIn(running.folder);
    const first = await spawnerOf(running.pid);
    process.kill(first, "SIGKILL");
    await until("the call has ended", () => said(running.stdout()).length === 2);
    await expectGone(children);
    expect(await spawnerOf(running.pid)).not.toBe(first);
    expect(said(running.stdout())).toEqual([
      ["failed", "the exit status of the command is unknown: the process that watched it has died, so it was stopped"],
      { output: "after\n", exit_code: 0, signal: null },
    ]);
    await writeFile(join(running.folder, "go"), "");
    expect(await running.ended).toMatchObject({ code: 0, stderr: "" });
    await until("all pipes are gone", () => pipesFolders(running.temporary).length === 0);
  });

  test("lets its owner exit, and leaves no folder of pipes", async () => {
    const running = program(`await bash({ command: "true" }); say(1); await there("go");`);
    await until("the command has ended", () => running.stdout() !== "");
    const spawner = await spawnerOf(running.pid);
    expect(pipesFolders(running.temporary)).toHaveLength(1);
    process.kill(spawner, "SIGKILL");
    await until("its pipes are gone", () => pipesFolders(running.temporary).length === 0);
    expect(await isAlive(running.pid)).toBe(true);
    await writeFile(join(running.folder, "go"), "");
    expect(await running.ended).toMatchObject({ code: 0, stderr: "" });
  });

  test("repeatedly, is replaced each time", async () => {
    const running = program(`
      for (let round = 0; round < 5; round++) {
        const { status, data } = await bash({ command: "echo $PPID; exec sleep 1000" });
        say(status);
      }
      say((await bash({ command: "echo fine" })).data.output);
      await toolkit.close();`);
    for (let round = 0; round < 5; round++) {
      process.kill(await spawnerWithChild(running.pid), "SIGKILL");
      await until(`call ${round} has ended`, () => said(running.stdout()).length > round);
    }
    expect(said((await running.ended).stdout)).toEqual([...Array.from({ length: 5 }, () => "failed"), "fine\n"]);
    await until("all pipes are gone", () => pipesFolders(running.temporary).length === 0);
  });

  test("during a lot of output, loses nothing of what was written", async () => {
    const running = program(`
      const { content } = await bash({ command: "seq 200000; echo $$ >shell.pid; exec sleep 1000" });
      const id = /output:\\/\\/\\w+/.exec(content.at(-1).text)[0];
      say((await toolkit.call({ name: "read", input: { path: id, offset: 200000 } })).content[0].text.split("\\n")[0]);
      await toolkit.close();`);
    await runningPid(running.folder, "shell");
    process.kill(await spawnerWithChild(running.pid), "SIGKILL");
    expect(said((await running.ended).stdout)).toEqual(["200000"]);
  });

  test("during a lot of output, leaves no writer in what was kept", async () => {
    const running = program(`
      const { local } = await import(${JSON.stringify(LIBRARY)});
      const backend = await local({ workDir: ".", outputFolder: "." });
      const script = "trap '' TERM; seq 100000; echo $$ >shell.pid; while [ ! -e go ]; do sleep 0.01; done; seq 100001 200000; echo >done; exec sleep 1000";
      const child = await backend.spawn({ argv: ["bash", "-c", script] });
      await there("ready");
      const { how } = await child.exit;
      const text = Buffer.from(await child.output.read(0, child.output.kept)).toString();
      const expected = Array.from({ length: 200000 }, (_, index) => (index + 1) + "\\n").join("");
      say([how, text.length, [...expected].findIndex((each, index) => each !== text[index])]);
      await backend.close();`);
    await runningPid(running.folder, "shell");
    const spawner = await spawnerWithChild(running.pid);
    process.kill(spawner, "SIGKILL");
    await Promise.all([writeFile(join(running.folder, "go"), ""), writeFile(join(running.folder, "ready"), "")]);
    await until("all was written", () => existsSync(join(running.folder, "done")));
    expect(said((await running.ended).stdout)).toEqual([["lost", 1_288_895, -1]]);
  });

  test("by TERM, ends the commands too and is replaced", async () => {
    const running = program(`
      say((await bash({ command: ${JSON.stringify(WITH_CHILDREN)} })).status);
      say((await bash({ command: "echo after" })).data.output);
      await toolkit.close();`);
    const children = await childrenIn(running.folder);
    process.kill(await spawnerOf(running.pid), "SIGTERM");
    expect(said((await running.ended).stdout)).toEqual(["failed", "after\n"]);
    await untilGone(children);
    await until("all pipes are gone", () => pipesFolders(running.temporary).length === 0);
  });
});

describe("a spawner whose owner dies", () => {
  test("does not wait for the other end of a pipe that nobody has open", async () => {
    const folder = temporaryFolder();
    execFileSync("mkfifo", [join(folder, "in"), join(folder, "out")]);
    const child = fork(SPAWNER, {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      env: { TMPDIR: folder, PATH: process.env["PATH"] },
    });
    child.send({ op: "pipes", id: 1 });
    await once(child, "message");
    const request = {
      op: "start",
      argv: ["sleep", "1000"],
      cwd: "/",
      env: {},
      mark: ":test-mark.1:",
      family: ":test-mark.",
    };
    child.send({ ...request, id: 2, stdout: join(folder, "out"), stdin: join(folder, "in") });
    child.disconnect();
    const [code] = (await once(child, "exit")) as [number];
    expect(code).toBe(0);
    expect(readdirSync(folder).toSorted()).toEqual(["in", "out"]);
  });

  test("during its start, leaves nothing either", async () => {
    const folder = temporaryFolder();
    const child = fork(SPAWNER, {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      env: { TMPDIR: folder, PATH: process.env["PATH"] },
    });
    child.disconnect();
    expect(await once(child, "exit")).toEqual([0, null]);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe.concurrent("its pipes", () => {
  test("suffice for many concurrent commands", async () => {
    const folder = await workspace();
    const backend = await local({ workDir: folder, outputFolder: temporaryFolder() });
    const outputs = await Promise.all(
      Array.from({ length: 80 }, async (_, index) => {
        const child = await backend.spawn({
          argv: ["sh", "-c", "cat; echo $0 >&2", String(index)],
          stdin: "pipe",
          streams: "split",
        });
        await child.write(`in ${index}`);
        await child.endInput();
        await child.exit;
        const text = async (log: typeof child.output | undefined) =>
          Buffer.from((await log?.read(0, 100)) ?? []).toString();
        return [await text(child.output), await text(child.errors)];
      }),
    );
    expect(outputs).toEqual(Array.from({ length: 80 }, (_, index) => [`in ${index}`, `${index}\n`]));
    await backend.close();
  });

  test("are recreated when the temporary folder is cleared, also for stdin", async () => {
    const running = program(`
      const { rmSync, readdirSync } = await import("node:fs");
      const { local } = await import(${JSON.stringify(LIBRARY)});
      const backend = await local({ workDir: ".", outputFolder: "." });
      for (const stdin of ["closed", "pipe", "pipe", "closed"]) {
        await (await backend.spawn({ argv: ["true"] })).exit;
        for (const name of readdirSync(process.env.TMPDIR)) rmSync(process.env.TMPDIR + "/" + name, { recursive: true });
        const before = readdirSync("/proc/self/fd").length;
        const child = await backend.spawn({ argv: ["cat"], stdin, streams: "split" });
        if (stdin === "pipe") await child.write("through the pipe");
        await child.endInput();
        const exit = await child.exit;
        say([exit.code, Buffer.from(await child.output.tail(100)).toString()]);
      }
      await backend.close();`);
    const { stdout, stderr } = await running.ended;
    expect({ said: said(stdout), stderr }).toEqual({
      said: [
        [0, ""],
        [0, "through the pipe"],
        [0, "through the pipe"],
        [0, ""],
      ],
      stderr: "",
    });
  });

  test("may be cleared while a command runs", async () => {
    const running = program(`
      const { rmSync, readdirSync } = await import("node:fs");
      const call = bash({ command: "echo one; : >ready; while [ ! -e go ]; do sleep 0.02; done; seq 100000 | tail -1" });
      await there("ready");
      for (const name of readdirSync(process.env.TMPDIR)) rmSync(process.env.TMPDIR + "/" + name, { recursive: true });
      (await import("node:fs")).writeFileSync("go", "");
      say((await call).data.output);`);
    expect(said((await running.ended).stdout)).toEqual(["one\n100000\n"]);
  });

  test("without mkfifo are reported with the program that is missing, for commands and jobs", async () => {
    const folder = temporaryFolder();
    const child = fork(SPAWNER, {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      env: { TMPDIR: folder, PATH: temporaryFolder() },
    });
    const answers: object[] = [];
    child.on("message", (answer: object) => answers.push(answer));
    child.send({ op: "pipes", id: 1 });
    child.send({
      op: "start",
      id: 2,
      argv: ["/bin/sh"],
      program: "/bin/sh",
      cwd: "/",
      env: {},
      job: folder,
      stdout: "out",
    });
    await until("it has answered", () => answers.length === 2);
    child.disconnect();
    const why = "the program mkfifo is missing on the PATH; install it (coreutils)";
    expect(answers).toContainEqual(expect.objectContaining({ id: 1, names: [], problem: why }));
    expect(answers).toContainEqual(expect.objectContaining({ id: 2, type: "failed", code: "", message: why }));
  });

  test("that cannot be created are reported in words, and nothing hangs", async () => {
    const running = program(`
      const { status, message, hint } = await bash({ command: "echo hi" });
      say([status, message, hint]);
      process.env.TMPDIR = ${JSON.stringify(await workspace())};
      say((await bash({ command: "echo hi" })).data.output);
      await toolkit.close();`);
    await rm(running.temporary, { recursive: true });
    const { stdout, stderr } = await running.ended;
    expect({ said: said(stdout), stderr }).toEqual({
      said: [
        ["failed", "the process that starts commands exited at once", "`handrail doctor` shows the cause."],
        "hi\n",
      ],
      stderr: "",
    });
  });
});

describe.concurrent("its costs", () => {
  test("100 commands leave no descriptor, no process and no pipe behind", async () => {
    const running = program(`
      const { readdirSync } = await import("node:fs");
      const { local } = await import(${JSON.stringify(LIBRARY)});
      const backend = await local({ workDir: ".", outputFolder: "." });
      const one = async (round) => {
        const child = await backend.spawn({
          argv: round % 10 === 0 ? ["seq", "100000"] : ["sh", "-c", "cat; true & echo x >&2"],
          stdin: round % 2 === 0 ? "pipe" : "closed",
          streams: round % 3 === 0 ? "split" : "merged",
        });
        await child.endInput();
        await child.exit;
        await Promise.all([child.output.dispose(), child.errors?.dispose()]);
      };
      await Promise.all(Array.from({ length: 20 }, (_, round) => one(round)));
      say(readdirSync("/proc/self/fd").length);
      await there("go");
      for (let round = 0; round < 100; round += 5) await Promise.all([0, 1, 2, 3, 4].map((more) => one(round + more)));
      for (let waited = 0; waited < 200 && readdirSync("/proc/self/fd").length > 40; waited++) await new Promise((resolve) => setTimeout(resolve, 10));
      say(readdirSync("/proc/self/fd").length);
      await there("stop");
      await backend.close();`);
    await until("it is warm", () => said(running.stdout()).length === 1);
    const spawner = await spawnerOf(running.pid);
    const held = () => readdirSync(`/proc/${spawner}/fd`).length;
    const childrenOf = (parent: number) => processes().filter((each) => each.parent === parent);
    await until("nothing runs any more", () => childrenOf(spawner).length === 0);
    const before = held();
    await writeFile(join(running.folder, "go"), "");
    await until("100 commands have run", () => said(running.stdout()).length === 2, 25_000);
    await until("the spawner has no children, no zombies either", () => childrenOf(spawner).length === 0);
    expect(held()).toBeLessThanOrEqual(before);
    expect(childrenOf(running.pid).map(({ pid }) => pid)).toEqual([spawner]);
    const [warm, after] = said(running.stdout()) as [number, number];
    expect(after).toBeLessThanOrEqual(warm);
    const [folder = ""] = pipesFolders(running.temporary);
    expect(readdirSync(join(running.temporary, folder)).length).toBeLessThan(100);
    await writeFile(join(running.folder, "stop"), "");
    expect(await running.ended).toMatchObject({ code: 0 });
  });

  test("waiting for a command uses no CPU time", async () => {
    const running = program(`
      await bash({ command: "true" });
      const before = process.cpuUsage();
      await bash({ command: "sleep 3" });
      const { user, system } = process.cpuUsage(before);
      say((user + system) / 1e6);
      say(1);
      await there("go");`);
    const spawner = await spawnerOf(running.pid);
    await until("the command has ended", () => said(running.stdout()).length === 2, 20_000);
    const [seconds] = said(running.stdout()) as [number];
    expect(seconds).toBeLessThan(1);
    // Its CPU time since its start, in hundredths of a second (proc(5), fields 14 and 15).
    const line = readFileSync(`/proc/${spawner}/stat`, "latin1");
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
    expect((Number(fields[11]) + Number(fields[12])) / 100).toBeLessThan(2);
    await writeFile(join(running.folder, "go"), "");
    await running.ended;
  });
});

describe.concurrent("what it passes on", () => {
  test("no descriptors that our program was started with", async () => {
    const folder = temporaryFolder();
    await writeFile(join(folder, "extra.txt"), "");
    const extra = openSync(join(folder, "extra.txt"), "r");
    const script = `
      import { createToolkit } from ${JSON.stringify(LIBRARY)};
      import { readdirSync, readlinkSync } from "node:fs";
      const ours = readdirSync("/proc/self/fd").filter((fd) => { try { return readlinkSync("/proc/self/fd/" + fd).endsWith("extra.txt"); } catch { return false; } });
      const toolkit = await createToolkit({ preset: "all", sandbox: "off", policy: { autonomy: "full", forbiddenPaths: [], allowedRoots: ["/proc"] }, stateDir: ${JSON.stringify(temporaryFolder())} });
      const output = async (input) => (await toolkit.call({ name: "bash", input })).data;
      const list = "ls -l /proc/$$/fd; echo of the spawner:; ls -l /proc/$PPID/fd";
      const { output: called } = await output({ command: list });
      await output({ command: "exec >job.txt; " + list, background: true });
      await toolkit.call({ name: "jobs", input: { action: "wait", id: "1" } });
      const job = (await import("node:fs")).readFileSync("job.txt", "utf8");
      console.log(JSON.stringify({ ours, called, job }));
      await toolkit.close();`;
    const stdio: ("ignore" | "pipe" | "inherit" | number)[] = ["ignore", "pipe", "inherit"];
    for (let fd = 3; fd <= 50; fd++) stdio[fd] = [3, 4, 20, 50].includes(fd) ? extra : "ignore";
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], { cwd: folder, stdio });
    let stdout = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    await once(child, "close");
    const { ours, called, job } = JSON.parse(stdout) as { ours: string[]; called: string; job: string };
    expect(ours).toEqual(expect.arrayContaining(["3", "4", "20", "50"]));
    for (const listed of [called, job]) {
      expect(listed).toMatch(/ -> [^]*of the spawner:[^]* -> /);
      expect(listed).not.toContain("extra.txt");
    }
    expect(called.split("of the spawner:")[0]?.match(/ -> /g)).toHaveLength(3);
  });

  test("no secrets of our environment, neither to commands nor to itself", async () => {
    const secret = "s3cr3t-value";
    const running = program(
      `say((await bash({ command: "env; tr '\\\\0' '\\\\n' </proc/$PPID/environ" })).data.output);
       await bash({ command: "env >job.txt", background: true });
       await toolkit.call({ name: "jobs", input: { action: "wait", id: "1" } });
       await bash({ command: "env >detached.txt.part; mv detached.txt.part detached.txt", detached: true });
       await there("detached.txt");
       await there("go");`,
      { env: { MY_API_KEY: secret, NODE_OPTIONS: "--title=s3cr3t-value", LD_LIBRARY_PATH: `/${secret}` } },
    );
    const spawner = await spawnerOf(running.pid);
    await until(
      "all have run",
      () => existsSync(join(running.folder, "detached.txt")) && running.stdout().endsWith("\n"),
    );
    const seen = [
      ...said(running.stdout()).map(String),
      readFileSync(join(running.folder, "job.txt"), "utf8"),
      readFileSync(join(running.folder, "detached.txt"), "utf8"),
      readFileSync(`/proc/${spawner}/environ`, "latin1"),
    ];
    expect(seen).toHaveLength(4);
    for (const environment of seen) {
      expect(environment).toContain("PATH=");
      expect(environment).not.toContain(secret);
    }
    await writeFile(join(running.folder, "go"), "");
    expect(await running.ended).toMatchObject({ code: 0 });
  });

  test("its working directory can be removed", async () => {
    const folder = join(temporaryFolder(), "gone");
    await mkdir(folder);
    const running = program(`await bash({ command: "true" }); say(process.cwd()); await there("${folder}/../go");`, {
      folder,
    });
    const spawner = await spawnerOf(running.pid);
    await until("it has run", () => running.stdout() !== "");
    expect(readFileSync(`/proc/${spawner}/stat`, "latin1")).toContain("(");
    expect(execFileSync("readlink", [`/proc/${spawner}/cwd`]).toString()).toBe("/\n");
    await writeFile(join(folder, "..", "go"), "");
    await running.ended;
  });
});

/** Returns the spawner of a program, once one of its commands runs. */
async function spawnerWithChild(owner: number): Promise<number> {
  const spawner = await spawnerOf(owner);
  await until("a command runs", () => processes().some(({ parent, state }) => parent === spawner && state === "S"));
  return spawner;
}
