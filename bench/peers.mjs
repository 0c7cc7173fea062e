/**
 * Measures Handrail beside the programs that people compare it with: `npm run bench:peers`.
 *
 * In:  dist/ (built when stale); npm, which installs the peers in bench/peers as its lock file says; tmux, /proc.
 * Out: one table, from one run: medians of turns A B A B …, so that a drift of the machine's speed favours none. Losses
 *      are printed like wins.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { buildIfStale } from "../scripts/build.mjs";

const ROUNDS = 5;
const CALLS = 50;
const IDLE_MS = 10_000;
const FRAME_MS = 60_000;
const LINE = "A line of twenty-five.....\n";

/** The peers' package.json and lock file. */
const here = fileURLToPath(new URL("peers/", import.meta.url));
const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const peers = createRequire(join(here, "package.json"));
const bin = (/** @type {string} */ name) => join(here, "node_modules/.bin", name);

await buildIfStale();
if (!existsSync(bin("pi"))) spawnSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: here, stdio: "inherit" });
const folder = mkdtempSync(join(tmpdir(), "handrail-peers-"));
const work = join(folder, "work");
mkdirSync(join(work, "list"), { recursive: true });
writeFileSync(join(work, "read.txt"), LINE.repeat(800));
for (let file = 0; file < 30; file++) writeFileSync(join(work, "list", `${file}.txt`), LINE);
const env = { ...process.env, HOME: folder, XDG_STATE_HOME: join(folder, "state"), TERM: "xterm-256color" };

const CHAT_ROWS = /** @type {const} */ ([
  ["chat: start to the first frame", "ms"],
  ["chat: a key to the screen", "ms"],
  ["chat: CPU a minute at its prompt", "ms"],
  ["chat: memory", "MB"],
]);

/** @type {[task: string, ours: string, peer: string, who: string][]} */
const rows = [];
try {
  for (const [who, program] of [
    ["pi", bin("pi")],
    ["opencode", bin("opencode")],
  ]) {
    const run = (/** @type {string[]} */ words) => () => {
      const started = performance.now();
      const { status, error } = spawnSync(words[0] ?? "", words.slice(1), { cwd: work, env, stdio: "ignore" });
      if (status !== 0) throw error ?? new Error(`${words.join(" ")} ended with ${status}`);
      return performance.now() - started;
    };
    await row("start to --version", who, "ms", run([process.execPath, cli, "--version"]), run([program, "--version"]));
    await row("start to --help", who, "ms", run([process.execPath, cli, "--help"]), run([program, "--help"]));
  }
  await overMcp();
  await dispatch();
  const chats = [];
  for (const [who, words] of Object.entries({
    Handrail: [process.execPath, cli, "chat", "--model", "demo"],
    pi: [bin("pi"), "--offline"],
    opencode: [bin("opencode")],
  }))
    chats.push(await attempted(who, () => chat(who, words)));
  const [ours, ...others] = chats;
  for (const other of others)
    for (const [task, unit] of CHAT_ROWS)
      rows.push([task, shown(ours?.[task], unit), shown(other?.[task], unit), other?.who ?? ""]);
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
process.stdout.write(
  `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}\n\n`,
);
process.stdout.write("| Task | Handrail | Peer | Who |\n| --- | --- | --- | --- |\n");
for (const cells of rows) process.stdout.write(`| ${cells.join(" | ")} |\n`);

/**
 * @param {string} task @param {string} who @param {string} unit
 * @param {() => number | Promise<number>} ours @param {() => number | Promise<number>} peer
 */
async function row(task, who, unit, ours, peer) {
  /** @type {[number[], number[]]} */
  const times = [[], []];
  const failed = await attempted(who, async () => {
    for (let round = -1; round < ROUNDS; round++)
      for (const [place, run] of [ours, peer].entries()) {
        const time = await run();
        if (round >= 0) times[/** @type {0 | 1} */ (place)].push(time);
      }
  });
  rows.push([
    task,
    shown(middle(times[0]), unit),
    failed === undefined ? shown(middle(times[1]), unit) : "failed",
    who,
  ]);
}

/**
 * Reports what failed on stderr.
 * @template T @param {string} who @param {() => Promise<T>} attempt
 */
async function attempted(who, attempt) {
  try {
    return await attempt();
  } catch (error) {
    process.stderr.write(`${who}: ${error instanceof Error ? error.message : String(error)}\n`);
    return /** @type {any} */ ({ who, failed: true });
  }
}

async function overMcp() {
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const open = async (/** @type {string} */ command, /** @type {string[]} */ args) => {
    const client = new Client({ name: "bench", version: "1" });
    const own = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
    await client.connect(new StdioClientTransport({ command, args, cwd: work, env: own, stderr: "ignore" }));
    return client;
  };
  const ours = await open(process.execPath, [cli, "mcp", "--preset", "all", "--autonomy", "full"]);
  const peer = await open(bin("mcp-server-filesystem"), [work]);
  writeFileSync(join(work, "ours.txt"), `at 0;\n${LINE.repeat(40)}`);
  writeFileSync(join(work, "theirs.txt"), `at 0;\n${LINE.repeat(40)}`);
  /** @param {(count: number) => Promise<unknown>} call */
  const timed = (call) => {
    let count = 0;
    return async () => {
      const started = performance.now();
      for (let done = 0; done < CALLS; done++) {
        const result = /** @type {{ isError?: boolean }} */ (await call(count++));
        if (result.isError === true) throw new Error(JSON.stringify(result));
      }
      return (performance.now() - started) / CALLS;
    };
  };
  const edit = (/** @type {number} */ at) => [`at ${at};`, `at ${at + 1};`];
  const who = "MCP filesystem server";
  try {
    await row(
      "MCP: list the tools",
      who,
      "ms",
      timed(() => ours.listTools()),
      timed(() => peer.listTools()),
    );
    await row(
      "MCP: read 20 KB",
      who,
      "ms",
      timed(() => ours.callTool({ name: "read", arguments: { path: "read.txt" } })),
      timed(() => peer.callTool({ name: "read_text_file", arguments: { path: join(work, "read.txt") } })),
    );
    await row(
      "MCP: list 30 files",
      who,
      "ms",
      timed(() => ours.callTool({ name: "ls", arguments: { path: "list" } })),
      timed(() => peer.callTool({ name: "list_directory_with_sizes", arguments: { path: join(work, "list") } })),
    );
    await ours.callTool({ name: "read", arguments: { path: "ours.txt" } });
    await row(
      "MCP: edit 1 KB",
      who,
      "ms",
      timed((at) =>
        ours.callTool({ name: "edit", arguments: { path: "ours.txt", old_text: edit(at)[0], new_text: edit(at)[1] } }),
      ),
      timed((at) =>
        peer.callTool({
          name: "edit_file",
          arguments: { path: join(work, "theirs.txt"), edits: [{ oldText: edit(at)[0], newText: edit(at)[1] }] },
        }),
      ),
    );
  } finally {
    await Promise.all([ours.close(), peer.close()]);
  }
}

/** One step of a model that calls a tool which does nothing, through the AI SDK: its own tool, and ours. */
async function dispatch() {
  const { generateText, jsonSchema, tool } = peers("ai");
  const { MockLanguageModelV3 } = peers("ai/test");
  const { createToolkit, defineTool } = await import("handrail");
  const { aiSdk } = await import("handrail/ai-sdk");
  const input = /** @type {const} */ ({ type: "object", properties: { a: { type: "string" } }, required: ["a"] });
  const toolkit = await createToolkit({
    tools: [
      defineTool({
        name: "noop",
        description: "Nothing.",
        touches: [],
        input,
        effects: () => [],
        run: async () => "",
        render: () => "ok",
      }),
    ],
    workDir: work,
    stateDir: join(folder, "own"),
    store: (await import("handrail")).memoryStore(),
  });
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  let id = 0;
  const model = () =>
    new MockLanguageModelV3({
      doGenerate: /** @type {any} */ (
        async () => ({
          content: [{ type: "tool-call", toolCallId: `call-${id++}`, toolName: "noop", input: '{"a":"b"}' }],
          finishReason: { unified: "tool-calls", raw: undefined },
          usage,
          warnings: [],
        })
      ),
    });
  const timed = (/** @type {any} */ tools) => async () => {
    const started = performance.now();
    for (let call = 0; call < CALLS; call++) await generateText({ model: model(), tools, prompt: "go" });
    return (performance.now() - started) / CALLS;
  };
  const theirs = { noop: tool({ inputSchema: jsonSchema(/** @type {any} */ (input)), execute: async () => "ok" }) };
  await row(
    "AI SDK: a step with one call of a no-op",
    "the SDK's own tool",
    "ms",
    timed(aiSdk(toolkit).tools),
    timed(theirs),
  );
  await toolkit.close();
}

/** A chat in tmux: its first frame, a keystroke on the screen, and what it costs to wait. @param {string} who @param {string[]} words */
async function chat(who, words) {
  const socket = join(folder, `tmux-${who}`);
  const tmux = (/** @type {string[]} */ ...args) =>
    spawnSync("tmux", ["-S", socket, "-f", "/dev/null", ...args], { cwd: work, env, encoding: "utf8" }).stdout;
  const screen = () => tmux("capture-pane", "-p", "-t", "chat");
  const until = async (/** @type {() => boolean} */ isSo) => {
    const started = performance.now();
    for (; !isSo(); await pause(2))
      if (performance.now() - started > FRAME_MS) throw new Error(`waited ${FRAME_MS} ms`);
    return performance.now() - started;
  };
  try {
    const started = performance.now();
    tmux("new-session", "-d", "-x", "100", "-y", "40", "-s", "chat", ...words);
    await until(() => screen().trim() !== "");
    const frameMs = performance.now() - started;
    const pid = Number(tmux("display", "-p", "-t", "chat", "#{pane_pid}"));
    await pause(IDLE_MS); // until it has started
    const keys = [];
    for (const key of "qzqzq") {
      const count = () => screen().split(key).length;
      const before = count();
      tmux("send-keys", "-t", "chat", key);
      keys.push(await until(() => count() > before));
    }
    await pause(IDLE_MS);
    const before = cpuMs(pid);
    await pause(IDLE_MS);
    const idle = ((cpuMs(pid) - before) * 60_000) / IDLE_MS;
    return {
      who,
      "chat: start to the first frame": frameMs,
      "chat: a key to the screen": middle(keys),
      "chat: CPU a minute at its prompt": idle,
      "chat: memory": memoryMb(pid),
    };
  } finally {
    tmux("kill-server");
  }
}

/** @param {number} pid @returns {number[]} */
function family(pid) {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").trim().split(" ").filter(Boolean);
    return [pid, ...children.flatMap((child) => family(Number(child)))];
  } catch {
    return [];
  }
}

/** @param {number} pid */
function cpuMs(pid) {
  return family(pid).reduce((sum, each) => {
    const times = (readFileSync(`/proc/${each}/stat`, "latin1").split(") ")[1] ?? "").split(" ");
    return sum + (Number(times[11]) + Number(times[12])) * 10;
  }, 0);
}

/** @param {number} pid */
function memoryMb(pid) {
  return family(pid).reduce((sum, each) => {
    const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${each}/status`, "latin1")) ?? [];
    return sum + Number(kilobytes ?? 0) / 1_024;
  }, 0);
}

/** @param {readonly number[]} values */
function middle(values) {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** @param {unknown} value @param {string} unit */
function shown(value, unit) {
  if (typeof value !== "number" || Number.isNaN(value)) return "failed";
  return `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ${unit}`;
}
