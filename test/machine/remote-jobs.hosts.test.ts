import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Command } from "../../src/core/contract/backend.ts";
import { isAlive, until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { running, textOf, there } from "./there.ts";

/** Returns seconds that no other process sleeps, to find the process by. */
const someSeconds = () => String(100_000 + Math.floor(Math.random() * 900_000));

const leased = { lifetime: "toolkit" } as const;

/** Returns the remote folders of jobs. */
const jobsIn = (folder: string) =>
  readdirSync(folder)
    .filter((name) => name.startsWith("handrail-"))
    .flatMap((name) => readdirSync(join(folder, name)).filter((job) => !job.startsWith("claim")));

describe("a job", () => {
  test("returns its output and exit status, and leaves nothing on the host once it is disposed", async () => {
    const host = await there();
    const job = await host.sh("echo one; echo two >&2; pwd; exit 7", leased);
    expect(await job.exit).toEqual({ how: "exited", code: 7 });
    expect(await textOf(job)).toBe(`one\ntwo\n${host.folder}\n`);
    await job.output.dispose();
    expect(jobsIn(host.folder)).toEqual([]);
    await host.close();
    expect(readdirSync(host.folder).filter((name) => name.startsWith("handrail-"))).toEqual([]);
  });

  test("that cannot be started is reported", async () => {
    const host = await there();
    await expect(host.start(["no-such-program-here"], leased)).rejects.toThrow(
      "cannot start no-such-program-here: no such program on the PATH",
    );
    await expect(host.start(["true"], { ...leased, cwd: "/no/folder" })).rejects.toThrow(
      "cannot start true: there is no folder /no/folder",
    );
    await expect(host.start(["true", "x".repeat(200_000)], leased)).rejects.toThrow(
      "cannot start true: its arguments are too long",
    );
    expect(jobsIn(host.folder)).toEqual([]);
  });

  test("shows its output while it runs, unchanged to the byte", async () => {
    const host = await there();
    const job = await host.start(
      ["sh", "-c", "printf '\\001\\000\\377'; sleep 0.3; echo; head -c 3000000 /dev/zero; sleep 0.2; echo end"],
      leased,
    );
    await job.output.grown(0);
    expect(Buffer.from(await job.output.read(0, 3))).toEqual(Buffer.from([1, 0, 255]));
    expect(await job.exit).toEqual({ how: "exited", code: 0 });
    expect(job.output.size).toBe(3_000_008);
    expect(Buffer.from(await job.output.tail(5)).toString("latin1")).toBe("\0end\n");
  });

  test("ignores no signals, and has arguments, variables, its own session and no descriptors of ours", async () => {
    const host = await there();
    const script =
      'printf "%s|" "$@" "$WORD"; echo; ls /proc/$$/fd; grep SigIgn /proc/$$/status; cut -d" " -f 1,6 /proc/$$/stat';
    const job = await host.start(["sh", "-c", script, "sh", "a'b", "$(x)", "-n\n"], {
      ...leased,
      env: { WORD: "w o" },
    });
    await job.exit;
    const lines = (await textOf(job)).trim().split("\n");
    expect(lines.slice(0, 2)).toEqual(["a'b|$(x)|-n", "|w o|"]);
    expect(lines.slice(2, -2).filter((line) => Number(line) < 10)).toEqual(["0", "1", "2"]);
    expect(lines.at(-2)).toMatch(/^SigIgn:\s0000000000000000$/);
    expect(new Set(lines.at(-1)?.split(" ")).size).toBe(1);
  });

  test("survives a lost connection with its stdin, and all its output arrives", async () => {
    const host = await there();
    const job = await host.start(["sh", "-c", "echo begun; while read line; do echo got $line; done; exit 5"], {
      ...leased,
      stdin: "pipe",
    });
    await job.write("one\n");
    await until("it answers", async () => (await textOf(job)).includes("got one"));
    for (let loss = 1; loss <= 2; loss++) {
      host.transport.cut();
      await until("it is known", () => host.losses() === loss);
      expect(await isAlive(Number(job.id))).toBe(true);
      await job.write(`after ${loss}\n`);
    }
    await job.endInput();
    expect(await job.exit).toEqual({ how: "exited", code: 5 });
    expect(await textOf(job)).toBe("begun\ngot one\ngot after 1\ngot after 2\n");
    await expect(job.write("late")).rejects.toThrow("the process no longer reads its stdin");
  });

  test("that ends while the connection is lost reports its true exit status", async () => {
    const host = await there();
    const job = await host.start(["sh", "-c", "sleep 0.3; echo done; exit 9"], leased);
    host.transport.cut();
    expect(await job.exit).toEqual({ how: "exited", code: 9 });
    expect(await textOf(job)).toBe("done\n");
  });

  test("is killed with all its processes, also after a lost connection", async () => {
    const host = await there();
    const seconds = someSeconds();
    const job = await host.start(
      ["sh", "-c", `(setsid sleep ${seconds} &); env -i sleep ${seconds} & echo go; wait`],
      leased,
    );
    await job.output.grown(0);
    host.transport.cut();
    await until("it is known", () => host.losses() === 1);
    await job.kill();
    expect(await job.exit).toEqual({ how: "signaled", signal: "SIGTERM" });
    expect(running(`^sleep ${seconds}`)).toEqual([]);
  });

  test("ends at its timeout, and with the backend", async () => {
    const host = await there();
    const seconds = someSeconds();
    const late = await host.start(["sleep", seconds], { ...leased, timeoutMs: 200 });
    expect(await late.exit).toMatchObject({ how: "timed-out" });
    const job = await host.start(["sleep", seconds], leased);
    await host.close();
    expect((await job.exit).how).toBe("signaled");
    expect(running(`^sleep ${seconds}`)).toEqual([]);
  });

  test("that ends while a background child holds its output has ended", async () => {
    const host = await there();
    const seconds = someSeconds();
    const job = await host.sh(`sleep ${seconds} & echo mine`, leased);
    expect(await job.exit).toEqual({ how: "exited", code: 0 });
    expect(await textOf(job)).toBe("mine\n");
  });

  test("that ends while a background child writes endlessly has ended", async () => {
    const host = await there();
    const job = await host.sh("(while :; do echo more; done) & echo mine", leased);
    expect(await job.exit).toEqual({ how: "exited", code: 0 });
    expect((await textOf(job)).split("\n")).toContain("mine");
    await host.close();
  });

  test("that does not read its stdin blocks nobody", async () => {
    const host = await there();
    const job = await host.start(["sleep", "1"], { ...leased, stdin: "pipe" });
    const writing = job.write("x".repeat(1_000_000));
    writing.catch(() => undefined);
    expect(await textOf(await host.sh("echo meanwhile"))).toBe("meanwhile\n");
    await expect(writing).rejects.toThrow("the process no longer reads its stdin");
    expect(await job.exit).toEqual({ how: "exited", code: 0 });
  });

  test("runs concurrently with others, with more jobs than shells", async () => {
    const host = await there();
    const all = await Promise.all(
      Array.from({ length: 12 }, (_, index) => host.sh(`sleep 0.5; echo ${index}`, leased)),
    );
    expect(await Promise.all(all.map(textOf))).toEqual(Array.from({ length: 12 }, (_, index) => `${index}\n`));
  });

  test("is ended on the host when its owner does not return in time", async () => {
    const host = await there({ unclaimedSeconds: 1 });
    const seconds = someSeconds();
    const job = await host.start(["sleep", seconds], leased);
    const first = Number((await host.shells.ask("echo $$")).out.toString());
    // As if the network were gone: no connection can be opened.
    host.transport.open = () => Promise.reject(new Error("no network"));
    process.kill(first, "SIGHUP");
    await until("it is ended there", () => running(`^sleep ${seconds}`).length === 0);
    expect(await isAlive(Number(job.id))).toBe(false);
    await until("its folder is gone", () => !readdirSync(host.folder).some((name) => name.startsWith("handrail-")));
  });
});

describe("a full remote disk", () => {
  test.skipIf(process.getuid?.() !== 0)(
    "does not stop a detached process, and what is not kept is counted",
    async () => {
      const folder = temporaryFolder();
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "none", folder]);
      try {
        const host = await there({ preamble: `XDG_STATE_HOME=${folder}` });
        const child = await host.start(["sh", "-c", "head -c 1000000 /dev/zero; exit 6"], {
          lifetime: "detached",
          label: "much",
        });
        expect(await child.exit).toEqual({ how: "exited", code: 6 });
        expect(child.output.kept).toBeGreaterThan(100_000);
        expect(child.output.kept).toBeLessThanOrEqual(262_144);
        expect(child.output.size).toBeGreaterThan(800_000);
        await host.close();
      } finally {
        execFileSync("umount", ["-l", folder]);
      }
    },
  );

  test.skipIf(process.getuid?.() !== 0)(
    "neither stops a job nor hides how it ends; what it kept is there",
    async () => {
      const host = await there();
      const small = join(host.folder, "small");
      execFileSync("sh", ["-c", `mkdir ${small} && mount -t tmpfs -o size=256k none ${small}`]);
      try {
        const family = await there({ temporary: small });
        const job = await family.start(["sh", "-c", "head -c 1000000 /dev/zero; sleep 0.3; exit 6"], leased);
        expect(await job.exit).toEqual({ how: "exited", code: 6 });
        expect(job.output.kept).toBeGreaterThan(100_000);
        expect(job.output.kept).toBeLessThanOrEqual(262_144);
        expect(job.output.size).toBeGreaterThan(800_000);
        await family.close();
        expect(readdirSync(small)).toEqual([]);
      } finally {
        execFileSync("umount", ["-l", small]);
      }
    },
  );
});

describe("a job that outlives a connection, when its remote watcher was killed,", () => {
  const UNTIL_GO = "echo $$ >shell.pid; seq 3; while [ ! -e go ]; do sleep 0.02; done; seq 4 6";
  const KINDS: readonly (readonly [string, Omit<Command, "argv">])[] = [
    ["a job", leased],
    ["a detached process", { lifetime: "detached", label: "some" }],
  ];

  /** Starts a job, and kills the remote shell that waits for its end. */
  const unwatched = async (script: string, command: Omit<Command, "argv">) => {
    const host = await there();
    const child = await host.start(["sh", "-c", script], command);
    await child.output.grown(0);
    const pid = readFileSync(join(host.folder, "shell.pid"), "utf8").trim();
    const parent = Number(execFileSync("ps", ["-o", "ppid=", "-p", pid], { encoding: "utf8" }));
    expect(parent).toBeGreaterThan(1);
    process.kill(parent, "SIGKILL");
    await until("the watcher is gone", async () => !(await isAlive(parent)));
    expect(await isAlive(Number(pid))).toBe(true);
    return { host, child, pid: Number(pid) };
  };

  test.each(KINDS)("%s continues; its exit status is lost, its output is not", async (_, command) => {
    const { host, child } = await unwatched(UNTIL_GO, command);
    writeFileSync(join(host.folder, "go"), "");
    expect(await child.exit).toEqual({ how: "lost", reason: "the process that watched it has died too" });
    expect(await textOf(child)).toBe("1\n2\n3\n4\n5\n6\n");
    if (command.lifetime !== "detached") return;
    const [found] = await host.processes.detached.list();
    expect(found?.ended).toEqual({ how: "lost", reason: "the process that watched it has died too" });
    const [again] = await host.processes.detached.list();
    expect(again?.endedMs).toBe(found?.endedMs); // so that it is removed some day
  });

  test.each(KINDS)("%s can still be stopped", async (_, command) => {
    const { child, pid } = await unwatched(UNTIL_GO, command);
    await child.kill();
    expect(await isAlive(pid)).toBe(false);
  });
});

describe("a connection that hangs", () => {
  test("leaves nothing on the host once another is open: its first shell and its processes are ended", async () => {
    const host = await there();
    const seconds = someSeconds();
    const child = await host.start(["sh", "-c", `echo go; exec sleep ${seconds}`]);
    await child.output.grown(0);
    const first = Number((await host.shells.ask("echo $$")).out.toString());
    process.kill(first, "SIGSTOP");
    host.transport.stall();
    expect((await child.exit).how).toBe("lost");
    await until("it is known", () => host.losses() === 1);
    expect(await textOf(await host.sh("echo again"))).toBe("again\n");
    await until("the old shell is gone", async () => !(await isAlive(first)));
    await until("what ran in it is gone", () => running(`^sleep ${seconds}`).length === 0);
  });
});

describe("a detached process", () => {
  test("is followed to its end, also over a lost connection", async () => {
    const host = await there();
    const script =
      "head -c 200000 /dev/zero; until [ -e go ]; do sleep 0.02; done; head -c 300000 /dev/zero; printf end";
    const children = await Promise.all(
      Array.from({ length: 8 }, () => host.start(["sh", "-c", script], { lifetime: "detached", label: "much" })),
    );
    const followed = children.map(async ({ output }) => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of output.follow()) chunks.push(chunk);
      return Buffer.concat(chunks);
    });
    await Promise.all(children.map(({ output }) => output.grown(199_999)));
    host.transport.cut();
    writeFileSync(join(host.folder, "go"), "");
    for (const bytes of await Promise.all(followed)) {
      expect(bytes.length).toBe(500_003);
      expect(bytes.subarray(-4).toString()).toBe("\0end");
    }
    expect(await Promise.all(children.map(({ exit }) => exit))).toEqual(
      children.map(() => ({ how: "exited", code: 0 })),
    );
  });

  test("outlives its backend, and is found, read and stopped by the next one", async () => {
    const one = await there({ detachedOwner: "someone" });
    const seconds = someSeconds();
    const process = await one.start(["sh", "-c", `echo hello; exec sleep ${seconds}`], {
      lifetime: "detached",
      label: "a server",
    });
    await process.output.grown(5);
    expect(await textOf(process)).toBe("hello\n");
    await one.close();
    expect(running(`^sleep ${seconds}`).length).toBe(1);
    expect((await process.exit).how).toBe("lost");

    const two = await there({ detachedOwner: "someone", preamble: `XDG_STATE_HOME=${one.folder}/state` });
    const [found, ...others] = await two.processes.detached.list();
    expect(others).toEqual([]);
    expect(found).toMatchObject({ id: process.id, label: "a server", cwd: one.folder, ended: undefined });
    expect(found === undefined ? undefined : await textOf(found.process)).toBe("hello\n");
    await expect(two.processes.detached.remove(process.id)).rejects.toThrow(`${process.id} still runs`);
    await found?.process.kill();
    expect(await found?.process.exit).toEqual({ how: "signaled", signal: "SIGTERM" });
    expect(running(`^sleep ${seconds}`)).toEqual([]);
    const [ended] = await two.processes.detached.list();
    expect(ended?.ended).toMatchObject({ how: "exited" });
    expect(Math.abs((ended?.endedMs ?? 0) - Date.now())).toBeLessThan(60_000);
    await two.processes.detached.remove(process.id);
    expect(await two.processes.detached.list()).toEqual([]);
    expect(existsSync(join(one.folder, "state/handrail/detached/someone", process.id))).toBe(false);
    await expect(two.processes.detached.remove("../x")).rejects.toThrow("there is no detached process ../x");
  });
});
