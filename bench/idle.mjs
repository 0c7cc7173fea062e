/**
 * What waiting costs: `npm run bench -- idle`, which takes two minutes or so.
 *
 * In:  dist/, tmux, /proc (Linux); the number of seconds to count as the argument after `idle` (default 60).
 * Out: a table of processes that wait on one store: how often a minute any thread of the process or of its children
 *      woke up, and their CPU time. Below it, how long after a commit of another process a client of `serve` has the
 *      event.
 *
 * A wake-up is a voluntary context switch of a thread, as the kernel counts them.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { projectRoot } from "../scripts/lib/project.mjs";

/** How long processes have to start, and their stores to come to rest, before anything is counted. Milliseconds. */
const SETTLE_MS = 100_000;
const EVENTS = 200;
const TICKS_A_SECOND = 100;

const cli = join(projectRoot, "dist/cli.js");

/** @type {Readonly<Record<string, readonly string[]>>} */
const WAITING = {
  serve: ["serve", "--port", "0"],
  "approvals wait": ["approvals", "wait"],
  mcp: ["mcp"],
  "hook wait": ["hook", "wait"],
  worker: ["worker", "--name", "bench"],
};

/** Prints the table. @param {string} folder for state; it exists @param {number} seconds how long is counted */
export async function idle(folder, seconds = 60) {
  const work = join(folder, "work");
  mkdirSync(work);
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:XDG_|HANDRAIL_)/.test(name)));
  Object.assign(env, { HOME: folder, XDG_STATE_HOME: join(folder, "state"), TERM: "xterm-256color" });
  writeFileSync(join(work, "handrail.yaml"), "");
  const tmux = (/** @type {readonly string[]} */ ...words) =>
    spawnSync("tmux", ["-S", join(folder, "tmux"), "-f", "/dev/null", ...words.flat()], {
      env,
      cwd: work,
      encoding: "utf8",
    });
  /** @type {import("node:child_process").ChildProcess[]} */
  const children = [];
  try {
    let printed = "";
    /** @type {Map<string, number>} */
    const pids = new Map();
    for (const [name, words] of Object.entries(WAITING)) {
      // A worker reports every ten seconds that it lives, which others would notice: it has a store of its own.
      const own = name === "worker" ? { ...env, XDG_STATE_HOME: join(folder, "worker") } : env;
      const child = spawn(process.execPath, [cli, ...words], { env: own, cwd: work, stdio: ["pipe", "pipe", "pipe"] });
      child.stdout.on("data", (bytes) => (printed += name === "serve" ? String(bytes) : ""));
      child.stderr.resume();
      if (child.pid === undefined) throw new Error(`${name} does not start`);
      children.push(child);
      pids.set(name, child.pid);
      if (name === "mcp") child.stdin.write(`${INITIALIZE}\n`);
    }
    tmux([
      "new-session",
      "-d",
      "-x",
      "100",
      "-y",
      "30",
      "-s",
      "idle",
      process.execPath,
      cli,
      "chat",
      "--model",
      "demo",
    ]);
    const pane = Number(tmux(["display", "-p", "-t", "idle", "#{pane_pid}"]).stdout);
    if (!Number.isInteger(pane) || pane === 0) throw new Error("chat does not start in tmux");
    pids.set("chat", pane);
    await pause(SETTLE_MS);
    const screen = tmux(["capture-pane", "-p", "-t", "idle"]).stdout;
    if (screen.trim() === "") throw new Error("the chat shows nothing");
    for (const child of children) if (child.exitCode !== null) throw new Error(`${child.spawnargs.join(" ")} ended`);

    const before = new Map([...pids].map(([name, pid]) => [name, usedBy(pid)]));
    await pause(seconds * 1_000);
    const lines = [...pids].map(([name, pid]) => {
      const [from, to] = [before.get(name) ?? { wakeUps: 0, cpuMs: 0 }, usedBy(pid)];
      const aMinute = (/** @type {number} */ count) => ((count * 60) / seconds).toFixed(0);
      return `${name.padEnd(16)}${aMinute(to.wakeUps - from.wakeUps).padStart(10)}${aMinute(to.cpuMs - from.cpuMs).padStart(12)}`;
    });
    const url = /https?:\/\/\S+/.exec(printed)?.[0] ?? "";
    return [
      `process         wake-ups/min  CPU ms/min   (counted for ${seconds} s)`,
      ...lines,
      "",
      await eventToClient(url, join(folder, "state/handrail/handrail.db")),
      "",
    ].join("\n");
  } finally {
    tmux(["kill-server"]);
    for (const child of children) child.kill("SIGTERM");
  }
}

const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "bench", version: "1" } },
});

/** Voluntary context switches and CPU time of a process and its descendants, so far. @param {number} pid */
function usedBy(pid) {
  const found = { wakeUps: 0, cpuMs: 0 };
  for (const each of [pid, ...descendants(pid)]) {
    try {
      for (const thread of readdirSync(`/proc/${each}/task`)) {
        const status = readFileSync(`/proc/${each}/task/${thread}/status`, "latin1");
        found.wakeUps += Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1] ?? 0);
      }
      const [, times = ""] = /^.*\) (.*)$/s.exec(readFileSync(`/proc/${each}/stat`, "latin1")) ?? [];
      const [user, system] = times.split(" ").slice(11, 13).map(Number);
      found.cpuMs += (((user ?? 0) + (system ?? 0)) * 1_000) / TICKS_A_SECOND;
    } catch {
      // it has ended
    }
  }
  return found;
}

/** @param {number} pid @returns {readonly number[]} */
function descendants(pid) {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").trim().split(" ").filter(Boolean);
    return children.map(Number).flatMap((child) => [child, ...descendants(child)]);
  } catch {
    return [];
  }
}

/** @param {string} url of `serve`, with its token @param {string} file */
async function eventToClient(url, file) {
  const { sqliteStore } = await import("handrail");
  const { origin, searchParams } = new URL(url);
  const stop = new AbortController();
  const response = await fetch(`${origin}/api/events?after=now`, {
    headers: { authorization: `Bearer ${searchParams.get("token") ?? ""}` },
    signal: stop.signal,
  });
  if (!response.ok || response.body === null) throw new Error(`the events of serve: ${response.status}`);
  /** @type {Map<string, (at: number) => void>} */
  const awaited = new Map();
  const read = (async () => {
    let text = "";
    for await (const piece of response.body ?? []) {
      const at = performance.now();
      text += new TextDecoder().decode(piece);
      for (const [call, arrived] of awaited) if (text.includes(call)) arrived(at);
      text = text.slice(-100_000);
    }
  })().catch(() => undefined);
  const store = sqliteStore({ file });
  const times = [];
  for (let count = 0; count < EVENTS; count++) {
    const call = `bench-${count}-${process.pid}`;
    const arrived = new Promise((resolve) => awaited.set(call, resolve));
    await store.commit({ type: "call.started", call, thread: "bench", at: Date.now(), name: "noop", input: {} });
    const committed = performance.now();
    times.push(Number(await arrived) - committed);
    awaited.delete(call);
    await store.commit({ type: "call.finished", call, thread: "bench", at: Date.now(), status: "ok" });
    await pause(20);
  }
  await store.close();
  stop.abort();
  await read;
  times.sort((one, other) => one - other);
  const [middle, late] = [times[EVENTS / 2] ?? 0, times[Math.floor(EVENTS * 0.95)] ?? 0];
  return `event to client: ${middle.toFixed(2)} ms, the slowest 5% over ${late.toFixed(2)} ms (${EVENTS} events)`;
}
