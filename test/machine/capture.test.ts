import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { local } from "../../src/machine/local/backend.ts";
import type { Backend, Command, OutputLog, Process } from "../../src/core/contract/backend.ts";
import { KEPT_OF_END, KEPT_OF_START } from "../../src/core/output/kept.ts";
import { mustBeHere, requireProgram } from "../support/here.ts";
import { isAlive, until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { cases } from "../support/cases.ts";
import { LIBRARY, processes, program, runningPid, said } from "./program.ts";

let folder: string;
let outputFolder: string;
let backend: Backend;
beforeEach(async () => {
  folder = temporaryFolder();
  outputFolder = join(folder, "outputs");
  const { spawn, ...rest } = await local({ workDir: folder, outputFolder });
  backend = {
    ...rest,
    async spawn(command) {
      const child = await spawn(command);
      started.push(child);
      return child;
    },
  };
});
const started: Process[] = [];
afterEach(async () => {
  await backend.close();
  await Promise.all(
    started.splice(0).map(async ({ output, errors }) => {
      await output.dispose();
      await errors?.dispose();
    }),
  );
});

const bash = (script: string): Command["argv"] => ["bash", "--noprofile", "--norc", "-c", script];
const whole = async (log: OutputLog) => Buffer.from(await log.read(0, log.kept));
const text = async (log: OutputLog) => (await whole(log)).toString();
const cmdlineOf = (pid: number) => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
};
const sha = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

async function run(script: string, options: Omit<Command, "argv"> = {}): Promise<Process> {
  const child = await backend.spawn({ argv: bash(script), ...options });
  await child.exit;
  return child;
}

describe("the streams of a command", () => {
  test("can be opened again by name, read and written", async () => {
    const script = `echo one >/dev/stderr; echo two >/dev/stdout; echo three | tee /dev/stderr; echo four >>/proc/self/fd/1; echo five >/dev/fd/2`;
    expect(await text((await run(script)).output)).toBe("one\ntwo\nthree\nthree\nfour\nfive\n");
    const { output, errors } = await run(script, { streams: "split" });
    expect([await text(output), await text(errors!)]).toEqual(["two\nthree\nfour\n", "one\nthree\nfive\n"]);
  });

  test("can be opened again by name when the output is large", async () => {
    const { output, errors } = await run(
      "seq 100000 | tee /dev/stderr; echo last >/dev/stdout; echo last >/dev/stderr",
      {
        streams: "split",
      },
    );
    const expected = `${Array.from({ length: 100_000 }, (_, index) => `${index + 1}\n`).join("")}last\n`;
    expect((await text(output)) === expected).toBe(true);
    expect((await text(errors!)) === expected).toBe(true);
  });

  test("stdin can be opened by name too", async () => {
    const child = await backend.spawn({ argv: bash("cat /dev/stdin; echo end"), stdin: "pipe" });
    await child.write("written to it\n");
    await child.output.grown(0); // it has opened the file: opening waits for a writer
    await child.endInput();
    expect(await child.exit).toEqual({ how: "exited", code: 0 });
    expect(await text(child.output)).toBe("written to it\nend\n");
  });

  test("when merged, keep their order, also when another program replaces the shell", async () => {
    const child = await run("for i in $(seq 40000); do echo out $i; echo err $i >&2; done");
    const expected = Array.from({ length: 40_000 }, (_, index) => `out ${index + 1}\nerr ${index + 1}\n`).join("");
    expect(child.output.size).toBeGreaterThan(262_144);
    expect((await text(child.output)) === expected).toBe(true);
  });

  test("do not wait for each other when one is full and the other nearly silent", async () => {
    const { output, errors } = await run("head -c 3000000 /dev/zero; echo small >&2; head -c 3000000 /dev/zero", {
      streams: "split",
    });
    expect(output.size).toBe(6_000_000);
    expect(await text(errors!)).toBe("small\n");
  });
});

describe("output at the moment when a copier takes over from Node", () => {
  /** Writes `bytes` in pieces of these sizes, with these pauses. */
  const WRITER = `
    import os, sys, time
    data = open("data", "rb").read()
    at = 0
    for step in sys.argv[1:]:
        size, pause = step.split(":")
        end = min(len(data), at + int(size))
        while at < end:
            at += os.write(1, data[at:end])
        if pause != "0":
            time.sleep(int(pause) / 1000)
    while at < len(data):
        at += os.write(1, data[at:])
  `.replaceAll(/^ {4}/gm, "");

  test("is complete to the byte, whatever the sizes and pauses", async () => {
    await writeFile(join(folder, "writer.py"), WRITER);
    requireProgram("python3");
    const data = Buffer.alloc(700_000);
    for (let index = 0; index < data.length; index++)
      data[index] = (index * 7 + (index >> 8) * 13 + (index >> 16) * 5) & 0xff;
    await writeFile(join(folder, "data"), data);
    const edge = fc.constantFrom(262_143, 262_144, 262_145, 65_536, 262_144 - 4_096, 262_144 + 65_536);
    const size = fc.oneof(edge, fc.integer({ min: 1, max: 5_000 }), fc.integer({ min: 60_000, max: 300_000 }));
    const step = fc.record({ size, pause: fc.constantFrom(0, 0, 0, 1, 5, 30) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 200_000, max: 700_000 }),
        async (steps, length) => {
          await writeFile(join(folder, "data"), data.subarray(0, length));
          const child = await backend.spawn({
            argv: ["python3", "writer.py", ...steps.map((each) => `${each.size}:${each.pause}`)],
          });
          expect(await child.exit).toEqual({ how: "exited", code: 0 });
          expect(child.output.size).toBe(length);
          const written = await whole(child.output);
          expect(Buffer.compare(written, data.subarray(0, length))).toBe(0);
          await child.output.dispose();
        },
      ),
      { numRuns: cases(10) },
    );
  });

  test.each([262_143, 262_144, 262_145, 262_146, 327_680])(
    "is complete when it ends right there, at %i bytes",
    async (length) => {
      for (let round = 0; round < 5; round++) {
        const { output } = await run(`head -c ${length} /dev/zero`);
        expect([output.size, output.kept]).toEqual([length, length]);
        expect((await whole(output)).equals(Buffer.alloc(length))).toBe(true);
      }
    },
  );

  test("is read back by Node when the copier is killed", async () => {
    const child = await backend.spawn({
      argv: bash("seq 60000; while [ ! -e go ]; do sleep 0.01; done; seq 60001 150000"),
    });
    await until("the first part is there", async () => (await text(child.output)).endsWith("\n60000\n"));
    const ours = processes().filter(
      ({ pid, parent }) => cmdlineOf(pid) === "cat\0" && cmdlineOf(parent).includes(`/proc/${process.pid}/fd/`),
    );
    expect(ours).toHaveLength(1);
    process.kill(ours[0]!.pid, "SIGKILL");
    // Data that it reads from the pipe before the signal arrives is lost with it.
    await until("the copier has ended", () => cmdlineOf(ours[0]!.pid) === "");
    await writeFile(join(folder, "go"), "");
    expect(await child.exit).toEqual({ how: "exited", code: 0 });
    expect(
      (await text(child.output)) === Array.from({ length: 150_000 }, (_, index) => `${index + 1}\n`).join(""),
    ).toBe(true);
  });

  test("can be followed throughout", async () => {
    const child = await backend.spawn({
      argv: bash("for i in $(seq 30); do head -c 20000 /dev/zero | tr '\\0' x; sleep 0.01; done"),
    });
    let length = 0;
    for await (const chunk of child.output.follow()) length += chunk.length;
    expect(length).toBe(600_000);
    expect(await child.exit).toEqual({ how: "exited", code: 0 });
  });

  test("is kept as far as it arrived when the command is stopped at that moment", async () => {
    const child = await backend.spawn({ argv: bash("seq 60000; echo there; exec sleep 1000") });
    await until("all was written", async () => (await text(child.output)).endsWith("there\n"));
    await child.kill();
    expect((await text(child.output)).split("\n")).toHaveLength(60_002);
  });
});

describe("a flood", () => {
  test("of 100 MB is complete, and Node's memory stays flat", async () => {
    const running = program(`
      const { local } = await import(${JSON.stringify(LIBRARY)});
      const { createHash } = await import("node:crypto");
      const backend = await local({ workDir: ".", outputFolder: "." });
      await (await backend.spawn({ argv: ["seq", "100000"] })).exit; // all is loaded
      global.gc?.();
      const before = process.memoryUsage().rss;
      let most = before;
      const timer = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 5);
      const script = "head -c 100000000 /dev/urandom | tee >(sha256sum >sum.txt); while [ ! -s sum.txt ]; do sleep 0.01; done";
      const child = await backend.spawn({ argv: ["bash", "-c", script] });
      const { code } = await child.exit;
      clearInterval(timer);
      const hash = createHash("sha256");
      for (let at = 0; at < child.output.kept; at += 1 << 20) hash.update(await child.output.read(at, at + (1 << 20)));
      say({ code, size: child.output.size, grown: most - before, sum: hash.digest("hex") });
      await backend.close();`);
    const { stdout } = await running.ended;
    const [{ code, size, grown, sum }] = said(stdout) as [{ code: number; size: number; grown: number; sum: string }];
    expect({ code, size }).toEqual({ code: 0, size: 100_000_000 });
    expect(sum).toBe(readFileSync(join(running.folder, "sum.txt"), "utf8").slice(0, 64));
    expect(grown).toBeLessThan(48 * 1024 * 1024);
  });

  test("without end, stopped by its timeout, leaves a bounded file", async () => {
    const child = await backend.spawn({ argv: ["yes"], timeoutMs: 700 });
    expect(await child.exit).toMatchObject({ how: "timed-out" });
    const { kept, size } = child.output;
    expect(kept).toBeGreaterThan(1_000_000);
    expect(kept).toBeLessThanOrEqual(KEPT_OF_START + 2 * KEPT_OF_END + 100);
    expect(size).toBeGreaterThanOrEqual(kept);
    expect(Buffer.from(await child.output.read(0, 8)).toString()).toBe("y\ny\ny\ny\n");
    // No process continues to write to it.
    const used = () => Number(execFileSync("du", ["-sb", outputFolder]).toString().split("\t")[0]);
    const before = used();
    expect(before).toBeLessThan(KEPT_OF_START + 2 * KEPT_OF_END + 1_000_000);
    await child.output.dispose();
    expect(used()).toBeLessThan(10_000);
  });

  test.each([
    ["a little more than is kept of its beginning", KEPT_OF_START + 1_000_000, ""],
    ["much more", KEPT_OF_START + 100_000_000, ""],
    [
      "much more while a background child holds the pipe",
      KEPT_OF_START + 100_000_000,
      "sh -c 'echo $$ >holder.pid; exec sleep 1000' & while [ ! -s holder.pid ]; do sleep 0.01; done; ",
    ],
  ])("of %s is counted to the byte, keeps its end, and does not stop the command", async (_, bytes, before) => {
    const child = await run(`${before}head -c ${bytes} /dev/zero; echo the error; echo done >finished`);
    expect(existsSync(join(folder, "finished"))).toBe(true);
    if (before !== "") expect(await isAlive(await runningPid(folder, "holder"))).toBe(true);
    const { kept, size } = child.output;
    expect(size).toBe(bytes + 10);
    expect(Buffer.from(await child.output.tail(11)).toString()).toBe("\0the error\n");
    if (bytes < KEPT_OF_START + KEPT_OF_END) expect(kept).toBe(size);
    else expect(kept).toBeGreaterThan(KEPT_OF_START);
    expect(kept).toBeLessThan(KEPT_OF_START + 2 * KEPT_OF_END + 100);
    expect(readdirSync(outputFolder)).toHaveLength(1);
    await child.output.dispose();
  });
});

describe("a child in the background that keeps writing", () => {
  test.each([
    ["a little", "while :; do echo x; sleep 0.02; done"],
    ["more than passes through us", "while :; do head -c 100000 /dev/zero; sleep 0.02; done"],
  ])("%s does not hold the call, lives on, and the output is what it was at the end", async (_, loop) => {
    const child = await run(
      `sh -c 'echo $$ >writer.pid; ${loop}' & while [ ! -s writer.pid ]; do sleep 0.01; done; sleep 0.2; echo the end`,
    );
    const { size } = child.output;
    const writer = await runningPid(folder, "writer");
    const written = () => Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${writer}/io`, "latin1"))?.[1]);
    const before = existsSync(`/proc/${writer}/io`) ? written() : 0;
    await until(
      "it has written more",
      () => !existsSync(`/proc/${writer}/io`) || written() > before || loop.includes("head"),
    );
    expect(await isAlive(writer)).toBe(true);
    expect(child.output.size).toBe(size);
    expect((await text(child.output)).includes("the end\n")).toBe(true);
    await backend.close();
    expect(await isAlive(writer)).toBe(false);
  });
});

describe("bytes that are not text", () => {
  test("arrive unchanged", async () => {
    const data = Buffer.from(Array.from({ length: 400_000 }, (_, index) => (index * 31 + (index >> 9)) & 0xff));
    await writeFile(join(folder, "data.bin"), data);
    const { output } = await run("cat data.bin");
    expect(sha(await whole(output))).toBe(sha(data));
  });
});

describe("a disk that fails", () => {
  const mounted: string[] = [];
  afterAll(() => {
    for (const each of mounted) execFileSync("umount", ["--lazy", each]);
  });
  /** A file system of 1 MB, which only root may mount. */
  const smallDisk = () => {
    const at = join(folder, "small");
    mkdirSync(at);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", at], { stdio: "pipe" });
    mounted.push(at);
    return at;
  };
  const canMount = (() => {
    try {
      const at = temporaryFolder();
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", at], { stdio: "pipe" });
      execFileSync("umount", [at]);
      return true;
    } catch {
      return false;
    }
  })();
  mustBeHere("a full disk", canMount ? undefined : "a tmpfs cannot be mounted (root can)");

  test.skipIf(!canMount)(
    "when it becomes full, the output so far is kept, the rest counted, and the command ends normally",
    async () => {
      const small = await local({ workDir: folder, outputFolder: join(smallDisk(), "outputs") });
      const child = await small.spawn({ argv: bash("head -c 5000000 /dev/zero; echo done >finished") });
      expect(await child.exit).toEqual({ how: "exited", code: 0 });
      expect(existsSync(join(folder, "finished"))).toBe(true);
      expect(child.output.kept).toBeGreaterThan(262_144);
      expect(child.output.kept).toBeLessThan(1_048_577);
      expect(child.output.size).toBeLessThanOrEqual(5_000_000);
      expect(child.output.size).toBeGreaterThanOrEqual(5_000_000 - 65_536); // a block that was not written
      expect((await whole(child.output)).length).toBe(child.output.kept);
      await child.output.dispose();
      const after = await small.spawn({ argv: ["seq", "100000"] });
      await after.exit;
      expect([after.output.kept, after.output.size]).toEqual([588_895, 588_895]);
      await small.close();
    },
  );

  test.skipIf(!canMount)("when it is full already, only what does not fit into memory is lost", async () => {
    const at = smallDisk();
    const small = await local({ workDir: folder, outputFolder: join(at, "outputs") });
    expect(() =>
      execFileSync("sh", ["-c", `head -c 2000000 /dev/zero >${join(at, "filler")}`], { stdio: "pipe" }),
    ).toThrow("No space left");
    const child = await small.spawn({ argv: bash("seq 60000; echo done >finished") });
    expect(await child.exit).toEqual({ how: "exited", code: 0 });
    expect(existsSync(join(folder, "finished"))).toBe(true);
    expect(child.output.size).toBe(348_894);
    expect(child.output.kept).toBeLessThan(child.output.size);
    expect((await text(child.output)).startsWith("1\n2\n3\n")).toBe(true);
    await small.close();
  });

  test("when its folder is removed meanwhile, no output is lost", async () => {
    const child = await backend.spawn({
      argv: bash("seq 50000; while [ ! -e go ]; do sleep 0.01; done; seq 50001 200000"),
    });
    await until("there is a file", () => existsSync(outputFolder) && child.output.kept > 262_144);
    await rm(outputFolder, { recursive: true });
    await writeFile(join(folder, "go"), "");
    await child.exit;
    expect(
      (await text(child.output)) === Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join(""),
    ).toBe(true);
  });

  test("when its folder is removed repeatedly, no command loses output", async () => {
    for (let round = 0; round < 5; round++) {
      const child = await run("seq 100000");
      expect(child.output.kept).toBe(588_895);
      await rm(outputFolder, { recursive: true });
      expect((await text(child.output)).endsWith("\n100000\n")).toBe(true);
    }
  });
});
