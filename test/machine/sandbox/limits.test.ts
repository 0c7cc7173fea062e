import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { startOf } from "../../../src/machine/spawner/process-start.ts";
import { type Limits, type LimitSettings, createLimits } from "../../../src/machine/sandbox/limits/limits.ts";
import { mustBeHere, requireProgram } from "../../support/here.ts";
import { isAlive, until } from "../../support/until.ts";
import { CONTAINED, bubblewrapProblem, run } from "./contained.ts";

const problem = bubblewrapProblem();
const open: Limits[] = [];
const running: ChildProcess[] = [];

afterAll(async () => {
  for (const child of running) child.kill("SIGKILL");
  await Promise.all(open.map((limits) => limits.close()));
});

async function limitsOf(settings: LimitSettings = {}): Promise<Limits> {
  const limits = await createLimits(settings);
  open.push(limits);
  return limits;
}

const { missing } = await limitsOf();
const isUnlimited = (what: string) => missing.some((sentence) => sentence.startsWith(what));
const noGroups = isUnlimited("Memory") ? missing.join(" ") : undefined;

/** The groups named in a prefix. */
const groupsIn = (prefix: readonly string[]) => prefix.filter((word) => word.startsWith("/sys/fs/cgroup/"));

mustBeHere("limits of contained commands", problem ?? (missing.length === 0 ? undefined : missing.join(" ")));

test("a missing limit is a sentence with its reason", () => {
  for (const sentence of missing)
    expect(sentence).toMatch(/^(Memory is not limited|The number of processes is not limited): .+\.$/);
});

test("the prefix becomes the command: no additional process, the same arguments, the same exit status", async () => {
  const { prefix, dispose } = await (await limitsOf()).forCommand();
  const script = `printf '%s|' "$@"; cat; ps -o comm= -p $PPID >/dev/null; exit 7`;
  const argv = ["sh", "-c", script, "sh", "a b", "", "'\"$x", "*", "-n"];
  expect(run([...prefix, ...argv], "input")).toMatchObject({ status: 7, stdout: `a b||'"$x|*|-n|input`, stderr: "" });
  const parent = run([...prefix, "sh", "-c", "echo $PPID"]).stdout.trim();
  expect(Number(parent)).toBe(process.pid);
  await dispose();
});

test("there are no core files, and no way to enable them", async () => {
  const { prefix, dispose } = await (await limitsOf()).forCommand();
  expect(run([...prefix, "sh", "-c", "ulimit -Sc; ulimit -Hc"]).stdout).toBe("0\n0\n");
  await dispose();
});

test.skipIf(problem !== undefined || isUnlimited("The number"))(
  "a fork bomb is bounded, and its end is the end of all",
  async () => {
    const { prefix, hit, dispose } = await (await limitsOf({ processes: 60 })).forCommand();
    expect(await hit()).toEqual([]);
    const bomb = "sleep 1000 & bomb() { bomb | bomb & }; bomb; sleep 1000 & sleep 1000 & echo up; wait; sleep 1000";
    const child = spawn(prefix[0]!, [...prefix.slice(1), ...CONTAINED, "bash", "-c", bomb], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    running.push(child);
    let said = "";
    child.stderr.on("data", (text) => void (said += text));
    await until("a fork fails", () => /fork|Resource temporarily unavailable/i.test(said));
    const processes = descendantsOf(child.pid!);
    // if a user's processes are counted, others of the test may have ended meanwhile
    expect(processes.length).toBeLessThanOrEqual(62);
    if (noGroups === undefined) expect(await hit()).toEqual(["processes"]);
    child.kill("SIGKILL"); // bwrap's children die with it, and with the first of a PID namespace all in it
    await until("nothing of it lives", async () =>
      (await Promise.all(processes.map(isAlive))).every((lives) => !lives),
    );
    await dispose();
    for (const group of groupsIn(prefix)) expect(existsSync(group), group).toBe(false);
  },
);

// Without groups the kernel counts all processes of the user, so that whatever else the user starts uses them up too.
test.skipIf(noGroups !== undefined)("other commands start while one has used up its processes", async () => {
  requireProgram("bwrap");
  const limits = await limitsOf({ processes: 20 });
  const first = await limits.forCommand();
  const child = spawn(first.prefix[0]!, [
    ...first.prefix.slice(1),
    ...CONTAINED,
    "sh",
    "-c",
    "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1000 & done; echo up; wait",
  ]);
  running.push(child);
  await until("its children run", () => descendantsOf(child.pid!).length > 10);
  const second = await limits.forCommand();
  expect(run([...second.prefix, "sh", "-c", "true & true & true & wait; echo fine"]).stdout).toBe("fine\n");
  child.kill("SIGKILL");
  await Promise.all([first.dispose(), second.dispose()]);
});

test.skipIf(problem !== undefined || noGroups !== undefined)(
  "a command that takes too much memory ends, with a known reason",
  async () => {
    requireProgram("perl");
    const limits = await limitsOf({ memory: 64 * 1024 * 1024 });
    const [hog, modest] = [await limits.forCommand(), await limits.forCommand()];
    const memory = (bytes: number) => [...CONTAINED, "perl", "-e", `my $x = "a" x ${bytes}; print length $x`];
    const ended = run([...hog.prefix, ...memory(200_000_000)]);
    expect([ended.status, ended.stdout, await hog.hit()]).toEqual([137, "", ["memory"]]);
    expect(run([...modest.prefix, ...memory(10_000_000)]).stdout).toBe("10000000");
    expect(await modest.hit()).toEqual([]);
    await Promise.all([hog.dispose(), modest.dispose()]);
  },
);

test.skipIf(problem !== undefined || noGroups !== undefined)(
  "files in memory that are only read do not count as too much",
  async () => {
    const { prefix, hit, dispose } = await (await limitsOf({ memory: 32 * 1024 * 1024 })).forCommand();
    expect(
      run([...prefix, ...CONTAINED, "sh", "-c", `cat ${process.execPath} ${process.execPath} | wc -c`]).status,
    ).toBe(0);
    expect(await hit()).toEqual([]);
    await dispose();
  },
);

test.skipIf(noGroups !== undefined)("a limit of memory holds for all commands together", async () => {
  requireProgram("perl");
  const limits = await limitsOf({ memory: 96 * 1024 * 1024 });
  const commands = await Promise.all(Array.from({ length: 3 }, () => limits.forCommand()));
  const script = `my $x = "a" x 50_000_000; $| = 1; print "has it\\n"; sleep 1000`;
  const children = commands.map(({ prefix }) => spawn(prefix[0]!, [...prefix.slice(1), "perl", "-e", script]));
  running.push(...children);
  await until("one is ended for it", async () =>
    (await Promise.all(commands.map(({ hit }) => hit()))).flat().includes("memory"),
  );
  await Promise.all(commands.map(({ dispose }) => dispose()));
  await until("none is left", () =>
    children.every(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null),
  );
  expect(children.map(({ signalCode }) => signalCode)).toEqual(["SIGKILL", "SIGKILL", "SIGKILL"]);
});

test.skipIf(noGroups !== undefined)(
  "dispose ends the running processes of the group, also after setsid, and removes it",
  async () => {
    const { prefix, dispose } = await (await limitsOf()).forCommand();
    const child = spawn(prefix[0]!, [
      ...prefix.slice(1),
      "sh",
      "-c",
      "setsid sleep 1000 & setsid sh -c 'sleep 1000 & wait' & echo $!; wait",
    ]);
    running.push(child);
    await until("its children run", () => descendantsOf(child.pid!).length >= 4);
    const processes = descendantsOf(child.pid!);
    await dispose();
    for (const group of groupsIn(prefix)) expect(existsSync(group), group).toBe(false);
    await until("they are gone", async () => (await Promise.all(processes.map(isAlive))).every((lives) => !lives));
  },
);

test.skipIf(noGroups !== undefined)("closing keeps the limits of what is running, and removes the others", async () => {
  const limits = await createLimits({});
  const [used, unused] = [await limits.forCommand(), await limits.forCommand()];
  const child = spawn(used.prefix[0]!, [...used.prefix.slice(1), "sleep", "1000"]);
  running.push(child);
  const [group = ""] = groupsIn(used.prefix);
  await until("it is in its group", () => run(["cat", join(group, "cgroup.procs")]).stdout.includes(String(child.pid)));
  await limits.close();
  expect(groupsIn(used.prefix).every(existsSync)).toBe(true);
  expect(groupsIn(unused.prefix).some(existsSync)).toBe(false);
  expect(await isAlive(child.pid!)).toBe(true);
  await used.dispose();
  await limits.close();
  expect(existsSync(dirname(group))).toBe(false);
});

test.skipIf(noGroups !== undefined)(
  "groups of dead processes are removed, those of living ones and those in use are kept",
  async () => {
    const { prefix } = await (await limitsOf()).forCommand();
    const [own = ""] = groupsIn(prefix).map(dirname);
    const parent = dirname(own);
    const [, namespace] = basename(own).split("-");
    // Other processes remove such groups too, but not those of a living process, so it dies only when everything is in
    // place.
    const owner = spawn("sleep", ["1000"]);
    running.push(owner);
    const name = `${owner.pid}-${startOf(owner.pid!)}`;
    const left = join(parent, `handrail-${namespace}-${name}-1`);
    const inUse = join(parent, `handrail-${namespace}-${name}-2`);
    const elsewhere = join(parent, `handrail-1-${name}-1`); // of another PID namespace
    for (const path of [left, join(left, "1"), inUse, join(inUse, "1"), join(inUse, "2"), elsewhere]) mkdirSync(path);
    const child = spawn("sh", ["-c", `echo 0 > ${join(inUse, "1", "cgroup.procs")}; exec sleep 1000`]);
    running.push(child);
    await until("it is in the group", () =>
      run(["cat", join(inUse, "1", "cgroup.procs")]).stdout.includes(String(child.pid)),
    );
    owner.kill("SIGKILL");
    await until("its owner has died", () => owner.signalCode !== null);
    await limitsOf();
    expect([left, join(inUse, "1"), join(inUse, "2"), elsewhere, own].map(existsSync)).toEqual([
      false,
      true,
      false,
      true,
      true,
    ]);
    child.kill("SIGKILL");
    await until("it has ended", () => child.signalCode !== null);
    run(["rmdir", elsewhere]);
    await limitsOf();
    expect([inUse, own].map(existsSync)).toEqual([false, true]);
  },
);

test.skipIf(noGroups !== undefined)("a command whose group is gone reports it and does not run", async () => {
  const { prefix, dispose } = await (await limitsOf()).forCommand();
  await dispose();
  const { status, stdout, stderr } = run([...prefix, "echo", "ran"]);
  expect([status, stdout]).toEqual([125, ""]);
  expect(stderr).toBe(`handrail: the limits of this command cannot be applied: ${groupsIn(prefix)[0]}\n`);
});

test.skipIf(noGroups === undefined)(
  "if the user's processes are counted, the limit is above those already running",
  async () => {
    const { prefix } = await (await limitsOf({ processes: 30 })).forCommand();
    const limit = Number(run([...prefix, "sh", "-c", "grep processes /proc/self/limits"]).stdout.split(/\s+/)[2]);
    const threads = Number(run(["sh", "-c", "ps -L -o pid= -U $(id -u) | wc -l"]).stdout);
    expect(limit).toBeGreaterThan(30);
    expect(limit).toBeLessThan(threads + 60);
  },
);

/** Returns all processes under one, including itself. */
function descendantsOf(pid: number): readonly number[] {
  let children: readonly number[] = [];
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    children = threads.flatMap((thread) =>
      run(["cat", `/proc/${pid}/task/${thread}/children`])
        .stdout.split(" ")
        .map(Number)
        .filter(Boolean),
    );
  } catch {
    return [];
  }
  return [pid, ...children.flatMap(descendantsOf)];
}
