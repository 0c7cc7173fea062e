import { existsSync, readFileSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bubblewrapProblem } from "../machine/sandbox/contained.ts";
import { mustBeHere } from "../support/here.ts";
import { isAlive, until } from "../support/until.ts";
import { commandLine } from "./program.ts";

/** Starts children in every way, reports that it is ready, and waits. */
const COMMAND =
  "sleep 600 & echo $! > child.pid; setsid sleep 600 & echo $! > session.pid; echo $$ > shell.pid; echo before; wait";
const PIDS = ["child.pid", "session.pid", "shell.pid"];
/** A process id inside a sandbox is invalid outside. */
const HERE = ["--sandbox", "off"];
const STOPPED = /^The call was stopped before it finished\.\nbefore\n/;

test.for(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
  "%s ends the command with all its processes, and its output is printed",
  async (signal) => {
    const { folder, start, startHere } = await commandLine();
    const args = ["call", "bash", JSON.stringify({ command: COMMAND }), "--yes", ...HERE];
    const running = signal === "SIGTERM" ? start(args) : startHere(args); // Ctrl-C is below
    await until("the command runs", () => written(join(folder, "shell.pid")));
    running.kill(signal);
    const { code, stdout, stderr } = await running.ended;
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(stdout).toMatch(STOPPED);
    for (const file of PIDS) expect(await isAlive(await pidIn(join(folder, file)))).toBe(false);
  },
);

const problem = bubblewrapProblem();
mustBeHere("the sandbox", problem);

test.skipIf(problem !== undefined)("the same ends a command in the sandbox", async () => {
  const { folder, start } = await commandLine();
  const seconds = `6${Math.floor(Math.random() * 1e9)}`;
  const command = `sleep ${seconds} & setsid sleep ${seconds} & (sleep ${seconds} &) ; echo before; : > runs; wait`;
  const running = start(["call", "bash", JSON.stringify({ command }), "--yes", "--sandbox", "on"]);
  await until("the command runs", async () => existsSync(join(folder, "runs")) && processesWith(seconds).length >= 3);
  running.kill("SIGTERM");
  const { code, stdout } = await running.ended;
  expect(code).toBe(1);
  expect(stdout).toMatch(STOPPED);
  expect(processesWith(seconds)).toEqual([]);
});

test("Ctrl-C on the terminal does the same", async () => {
  const { folder, terminal: open } = await commandLine({ "call.json": JSON.stringify({ command: COMMAND }) });
  const terminal = open("trap : INT; handrail call bash - --yes --sandbox off < call.json > result.txt; exit $?");
  await terminal.shows("before");
  terminal.type("\x03");
  expect(await terminal.ended).toBe(1);
  expect(await readFile(join(folder, "result.txt"), "utf8")).toMatch(STOPPED);
  for (const file of PIDS) expect(await isAlive(await pidIn(join(folder, file)))).toBe(false);
});

test("with --json the stopped call is a result like any other", async () => {
  const { folder, startHere } = await commandLine();
  const running = startHere(["call", "bash", JSON.stringify({ command: COMMAND }), "--yes", ...HERE, "--json"]);
  await until("the command runs", () => written(join(folder, "shell.pid")));
  running.kill("SIGTERM");
  const { code, stdout } = await running.ended;
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    status: "aborted",
    content: [{ type: "text", text: expect.stringMatching(/^before\n/) }],
  });
});

test("a command that ignores TERM is killed, and the program still ends with a result", async () => {
  const { folder, startHere: start } = await commandLine();
  const command = "trap '' TERM; echo $$ > shell.pid; echo before; while :; do sleep 0.02; done";
  const running = start(["call", "bash", JSON.stringify({ command }), "--yes", ...HERE]);
  await until("the command runs", () => written(join(folder, "shell.pid")));
  running.kill("SIGTERM");
  const { code, stdout, stderr } = await running.ended;
  expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
  expect(stdout).toMatch(/^The call was stopped before it finished\.\n/);
  expect(await isAlive(await pidIn(join(folder, "shell.pid")))).toBe(false);
});

test("a second signal ends the program at once", async () => {
  const { folder, start } = await commandLine();
  const command = "trap '' TERM; echo $$ > shell.pid; while :; do sleep 0.02; done";
  const running = start(["call", "bash", JSON.stringify({ command }), "--yes", ...HERE]);
  await until("the command runs", () => written(join(folder, "shell.pid")));
  running.kill("SIGTERM");
  await new Promise((resolve) => setTimeout(resolve, 200));
  running.kill("SIGTERM");
  const { code } = await running.ended;
  process.kill(await pidIn(join(folder, "shell.pid")), "SIGKILL");
  expect(code).toBe(143);
});

/** Returns the processes of this machine that were started with this word. */
function processesWith(word: string): readonly string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0").includes(word);
    } catch {
      return false; // it ended meanwhile
    }
  });
}

async function pidIn(path: string): Promise<number> {
  return Number(await readFile(path, "utf8"));
}

async function written(path: string): Promise<boolean> {
  return (await readFile(path, "utf8").catch(() => "")).endsWith("\n");
}
