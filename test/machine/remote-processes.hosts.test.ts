import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { exitOfCode } from "../../src/machine/process/life.ts";
import { isAlive, until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { bundled } from "./bundled.ts";
import { running, textOf, there } from "./there.ts";

/** Returns seconds that no other process sleeps, to find the process by. */
const someSeconds = () => String(100_000 + Math.floor(Math.random() * 900_000));

describe("a command", () => {
  test("returns its output and exit status", async () => {
    const host = await there();
    const child = await host.sh("echo one; echo two >&2; pwd; exit 7");
    expect(await child.exit).toEqual({ how: "exited", code: 7 });
    expect(await textOf(child)).toBe(`one\ntwo\n${host.folder}\n`);
    expect(Number(child.id)).toBeGreaterThan(1);
  });

  test("has separate stdout and stderr when they are split", async () => {
    const host = await there();
    const child = await host.sh("echo out; echo error >&2; echo more; exit 255", { streams: "split" });
    expect(await child.exit).toEqual({ how: "exited", code: 255 });
    expect(await textOf(child)).toBe("out\nmore\n");
    expect(child.errors === undefined ? undefined : await textOf({ output: child.errors })).toBe("error\n");
  });

  test("that does not exist, or whose folder does not exist, is reported", async () => {
    const host = await there();
    await expect(host.start(["no-such-program-here"])).rejects.toThrow(
      "cannot start no-such-program-here: no such program on the PATH",
    );
    await expect(host.start(["cd"])).rejects.toThrow("cannot start cd: no such program on the PATH");
    await expect(host.start(["./nothing"])).rejects.toThrow("cannot start ./nothing: no such file");
    await expect(host.start(["/etc/passwd"])).rejects.toThrow("cannot start /etc/passwd: it is not executable");
    await expect(host.start(["true"], { cwd: "/no/such/folder" })).rejects.toThrow(
      "cannot start true: there is no folder /no/such/folder",
    );
    await expect(host.start(["true", "x".repeat(200_000)])).rejects.toThrow(
      "cannot start true: its arguments are too long; write them to a file",
    );
    expect(await (await host.start(["true"])).exit).toEqual({ how: "exited", code: 0 });
  });

  test("gets its arguments unchanged", async () => {
    const host = await there();
    const words = fc.array(
      fc.string({ unit: "binary", maxLength: 12 }).filter((word) => !word.includes("\0")),
      { maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(words, async (args) => {
        const child = await host.start(["printf", "%s\\0", ...args, "end"]);
        await child.exit;
        expect((await textOf(child)).split("\0").slice(0, -1)).toEqual([...args, "end"]);
      }),
      { numRuns: 25, examples: [[["-n", "$(touch x)", "`id`", "a'b", 'c"d', "\n", "\\", "*", " "]]] },
    );
  });

  test("gets variables with any names, and the shell keeps its own", async () => {
    const host = await there();
    const env = {
      PLAIN: "a b'c\n",
      "with.dot": "dot",
      UID: "12",
      IFS: "x",
      hr_n: "mine",
      PATH: `${process.env["PATH"]}`,
    };
    const child = await host.start(["env", "-0"], { env });
    await child.exit;
    const got = (await textOf(child)).split("\0");
    for (const [name, value] of Object.entries(env)) expect(got).toContain(`${name}=${value}`);
    expect(got.filter((line) => line.startsWith("hr_")).length).toBe(1);
    expect(await textOf(await host.sh("echo $PLAIN-"))).toBe("-\n");
  });

  test("has none of our descriptors, ignores no signals, and has its own session", async () => {
    const host = await there();
    for (const streams of ["merged", "split"] as const) {
      const child = await host.start(
        ["sh", "-c", "ls /proc/$$/fd; grep SigIgn /proc/$$/status; cut -d' ' -f 1,6 /proc/$$/stat"],
        { streams },
      );
      await child.exit;
      const lines = (await textOf(child)).trim().split("\n");
      const [signals, ids = ""] = lines.slice(-2);
      // Higher ones may come from the process that started the tests.
      expect(lines.slice(0, -2).filter((line) => Number(line) < 10)).toEqual(["0", "1", "2"]);
      expect(signals).toMatch(/^SigIgn:\s0000000000000000$/);
      expect(new Set(ids.split(" ")).size).toBe(1);
    }
  });

  test("is read completely, every byte of it", async () => {
    const host = await there();
    const child = await host.start(["head", "-c", "5000000", "/dev/urandom"]);
    expect(await child.exit).toEqual({ how: "exited", code: 0 });
    expect(child.output.size).toBe(5_000_000);
    const file = join(host.folder, "bytes");
    await host.sh(`head -c 300000 /dev/urandom >${file}; printf '\\001\\000\\377\\n\\001' >>${file}`);
    const copy = await host.start(["cat", file]);
    await copy.exit;
    expect(Buffer.from(await copy.output.read(0, copy.output.kept)).equals(await readFile(file))).toBe(true);
  });

  test("reads what is written to it, to the end", async () => {
    const host = await there();
    const child = await host.start(["cat"], { stdin: "pipe" });
    await child.write("one\n");
    await child.output.grown(3);
    await child.write("two\n");
    await child.endInput();
    expect(await child.exit).toEqual({ how: "exited", code: 0 });
    expect(await textOf(child)).toBe("one\ntwo\n");
    await expect(child.write("late")).rejects.toThrow("the process no longer reads its stdin");
    const closed = await host.sh("cat; echo done");
    expect(await textOf(closed)).toBe("done\n");
    await expect(closed.write("x")).rejects.toThrow("this process was started with stdin closed");
  });

  test("that leaves its stdin unread leaves nothing for the shell to run", async () => {
    const host = await there();
    const file = join(host.folder, "made");
    const child = await host.start(["sh", "-c", "read line; sleep 0.2; exit 3"], { stdin: "pipe" });
    await child.write(`first\ntouch ${file}\n`.repeat(500));
    expect(await child.exit).toEqual({ how: "exited", code: 3 });
    await host.sh("true");
    await expect(stat(file)).rejects.toThrow("ENOENT");
  });

  test("is stopped with all its processes: own sessions, double forks, no environment, TERM ignored", async () => {
    const host = await there();
    const seconds = someSeconds();
    const child = await host.start([
      "sh",
      "-c",
      `setsid sleep ${seconds} & (setsid sh -c 'sleep ${seconds} & :' &) ; env -i sleep ${seconds} & (trap '' TERM; sleep ${seconds}; sleep ${seconds}) & echo go; wait`,
    ]);
    await child.output.grown(0);
    await until("all run", () => running(`^sleep ${seconds}`).length === 4);
    await child.kill();
    expect(await child.exit).toEqual({ how: "signaled", signal: "SIGTERM" });
    expect(running(`^sleep ${seconds}`)).toEqual([]);
  });

  test("ends at its timeout and at its signal, with the output so far", async () => {
    const host = await there();
    const late = await host.start(["sh", "-c", "echo so far; exec sleep 60"], { timeoutMs: 300 });
    expect(await late.exit).toMatchObject({ how: "timed-out" });
    expect(await textOf(late)).toBe("so far\n");
    const controller = new AbortController();
    const aborted = await host.start(["sh", "-c", "trap '' TERM; echo deaf; sleep 60; sleep 60"], {
      signal: controller.signal,
    });
    await aborted.output.grown(0);
    controller.abort();
    expect(await aborted.exit).toEqual({ how: "aborted" });
    expect(await isAlive(Number(aborted.id))).toBe(false);
    await expect(host.start(["true"], { signal: controller.signal })).rejects.toThrow(
      "true was stopped before it was started",
    );
  });

  test("has ended when its process has, whoever holds its output, and its shell is used again", async () => {
    const host = await there();
    const seconds = someSeconds();
    for (let round = 0; round < 10; round++) {
      const child = await host.sh(`sleep ${seconds} & echo started`, { streams: round % 2 === 0 ? "merged" : "split" });
      expect(await child.exit).toEqual({ how: "exited", code: 0 });
      expect(await textOf(child)).toBe("started\n");
    }
    expect(running(`^sleep ${seconds}`).length).toBe(10);
    await host.close();
    expect(running(`^sleep ${seconds}`)).toEqual([]);
  });

  test("has ended although a background child never stops writing", async () => {
    const host = await there();
    const child = await host.sh("yes & echo mine");
    expect(await child.exit).toEqual({ how: "exited", code: 0 });
    expect(await textOf(await host.sh("echo next"))).toBe("next\n");
  });

  test("runs concurrently with others, with more commands than shells", async () => {
    const host = await there();
    const all = await Promise.all(Array.from({ length: 12 }, (_, index) => host.sh(`sleep 0.1; echo ${index}`)));
    expect(await Promise.all(all.map(textOf))).toEqual(Array.from({ length: 12 }, (_, index) => `${index}\n`));
  });

  test("can be stopped while something on the way keeps it from starting", async () => {
    const host = await there();
    const hung = async () => {
      await host.sh("true");
      const idle = await host.shells.take();
      process.kill(Number((await idle.ask("echo $$")).out.toString()), "SIGSTOP");
      host.shells.giveBack(idle);
    };
    await hung();
    await expect(host.start(["true"], { signal: AbortSignal.timeout(200) })).rejects.toThrow(
      "true was stopped while it was starting",
    );
    await hung();
    await expect(host.start(["true"], { timeoutMs: 200 })).rejects.toMatchObject({
      message: "true was stopped while it was starting",
      hint: expect.stringContaining(`check that ${host.folder}`),
    });
    expect(await textOf(await host.sh("echo next"))).toBe("next\n");
  });

  test("that is stopped at the moment of its start is ended, or never starts", async () => {
    const host = await there();
    const seconds = someSeconds();
    for (const wait of [0, 1, 2, 4, 8, 16]) {
      const controller = new AbortController();
      const start = host.start(["sleep", seconds], { signal: controller.signal });
      const exit = start.then(
        (child) => child.exit,
        (error: unknown) => String(error),
      );
      for (let turn = 0; turn < wait; turn++) await new Promise(setImmediate);
      controller.abort();
      expect([{ how: "aborted" }, expect.stringContaining("sleep was stopped")]).toContainEqual(await exit);
      await until("nothing of it is left", () => running(`^sleep ${seconds}`).length === 0);
    }
  });

  test("that is started at the moment of closing is ended, or never starts", async () => {
    const seconds = someSeconds();
    for (const wait of [0, 1, 3, 8]) {
      const host = await there();
      if (wait > 1) await host.sh("true");
      const starts = Array.from({ length: 3 }, () => host.start(["sleep", seconds]).catch((error: unknown) => error));
      for (let turn = 0; turn < wait; turn++) await new Promise(setImmediate);
      await host.close();
      for (const started of await Promise.all(starts))
        expect(String(started)).toMatch(/object|closed|stopped|may or may not/);
      await until("nothing of it is left", () => running(`^sleep ${seconds}`).length === 0);
    }
  });

  test("is lost when the first remote shell is killed, and ended when the connection is open again", async () => {
    const host = await there();
    const seconds = someSeconds();
    const child = await host.start(["sh", "-c", `trap 'exit 3' TERM; echo begun; sleep ${seconds} & wait`]);
    await child.output.grown(0);
    process.kill(Number((await host.shells.ask("echo $$")).out.toString()), "SIGKILL");
    expect((await child.exit).how).toBe("lost");
    await until("it is known", () => host.losses() === 1);
    expect(await textOf(await host.sh("echo again"))).toBe("again\n");
    await until("nothing of it is left", () => running(`sleep ${seconds}`).length === 0);
  });

  test("is ended on the host when our process is killed, with its children; jobs end after a while", async () => {
    const seconds = someSeconds();
    const folder = temporaryFolder();
    const argv = JSON.stringify(["sh", "-c", `(setsid sleep ${seconds} &); sleep ${seconds}`]);
    const [command, job] = [`{ argv: ${argv} }`, `{ argv: ["sleep", "${seconds}"], lifetime: "toolkit" }`];
    const program = await bundled(
      `import { there } from ${JSON.stringify(new URL("there-open.ts", import.meta.url).pathname)};
const host = await there({ folder: ${JSON.stringify(folder)}, unclaimedSeconds: 3 });
await host.processes.start(${command}, { cwd: "/" });
await host.processes.start(${job}, { cwd: "/" });
console.log("started");`,
    );
    const ours = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
    await once(ours.stdout, "data");
    await until("all run", () => running(`^sleep ${seconds}`).length === 3);
    ours.kill("SIGKILL");
    await until("the command is ended", () => running(`^sleep ${seconds}`).length <= 1);
    expect(running(`^sleep ${seconds}`).length).toBe(1);
    await until("the job is ended", () => running(`^sleep ${seconds}`).length === 0);
    await until("nothing is left of it", () => !readdirSync(folder).some((name) => name.startsWith("handrail-")));
  });

  test("is lost with the connection, and ended on the host; the next one runs", async () => {
    const host = await there();
    const seconds = someSeconds();
    const child = await host.start(["sh", "-c", `echo begun; (setsid sleep ${seconds} &); sleep ${seconds}`]);
    await child.output.grown(0);
    await until("both run", () => running(`^sleep ${seconds}`).length === 2);
    host.transport.cut();
    const exit = await child.exit;
    expect(exit.how).toBe("lost");
    expect(exit).toMatchObject({ reason: expect.stringContaining("the connection to the shell") });
    expect(await textOf(child)).toBe("begun\n");
    await until("it is known", () => host.losses() === 1);
    expect(await textOf(await host.sh("echo again"))).toBe("again\n");
    await until("nothing of it is left", () => running(`^sleep ${seconds}`).length === 0);
  });
});

test("an exit code that no process can have is a signal, any other only if it was our signal", () => {
  expect([9, 128, 137, 255].map((code) => exitOfCode(code, false))).toEqual(
    [9, 128, 137, 255].map((code) => ({ how: "exited", code })),
  );
  expect([137, 256 + 9, 384 + 9].map((code) => exitOfCode(code, code === 137))).toEqual(
    [1, 2, 3].map(() => ({ how: "signaled", signal: "SIGKILL" })),
  );
  expect(exitOfCode(3, true)).toEqual({ how: "exited", code: 3 });
});

describe("much output", () => {
  test.each(["call", "toolkit", "detached"] as const)(
    "keeps its beginning and its end and is counted, and memory stays flat (lifetime: %s)",
    async (lifetime) => {
      const host = await there();
      const before = process.memoryUsage().rss;
      let most = before;
      const timer = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 50);
      const child = await host.start(["sh", "-c", "head -c 400000000 /dev/zero; echo the error"], { lifetime });
      expect(await child.exit).toEqual({ how: "exited", code: 0 });
      clearInterval(timer);
      expect(Buffer.from(await child.output.tail(10)).toString()).toBe("the error\n");
      expect(child.output.kept).toBeLessThan(310_000_000);
      expect(child.output.size).toBe(400_000_010);
      expect(most - before).toBeLessThan(150_000_000);
      await child.output.dispose();
    },
    60_000,
  );
});
