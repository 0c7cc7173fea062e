import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { createToolkit, defineTool } from "handrail";
import { atMost, ok, within } from "./shared.mjs";

const run = promisify(execFile);

// How long the act of a turn waits for the state before it. The state after it is awaited, and not counted.
/** @type {readonly import("./shared.mjs").Workload[]} */
export const UNDO = [
  {
    name: "undo-unchanged",
    what: "the wait before the first act of a turn, 50,000 unchanged files; ceiling git status, peer git stash create",
    target: atMost(1.5),
    prepare: (folder) => acting(folder, async () => {}),
  },
  {
    name: "undo-changed",
    what: "the same with 100 files changed since; ceiling git status, peer git stash create",
    target: within(1_000, "ms"),
    prepare: (folder) => {
      let round = 0;
      return acting(folder, async (tree) => {
        round++;
        for (let n = 0; n < 100; n++) writeFileSync(join(tree, `d${n}/f${n % 25}`), `round ${round} ${n}\n`);
      });
    },
  },
];

/**
 * @param {string} folder
 * @param {(tree: string) => Promise<void>} change
 */
async function acting(folder, change) {
  const tree = repository(folder);
  const stateDir = join(folder, "undo-state");
  const act = defineTool({
    name: "act",
    description: "Does nothing.",
    touches: ["foreign"],
    input: {},
    effects: () => [{ kind: "foreign", from: "bench" }],
    run: async () => null,
  });
  const toolkit = await createToolkit({
    tools: [act],
    workDir: tree,
    policy: { autonomy: "full" },
    approver: async () => ({ answer: "once" }),
    stateDir,
    undo: true,
  });
  let turns = 0;
  const ours = async () => {
    await change(tree);
    const started = performance.now();
    await ok(toolkit.call({ name: "act", input: {}, turn: `${stateDir} ${process.pid} ${++turns}` }));
    const time = performance.now() - started;
    while (isActing(stateDir)) await pause(10);
    return time;
  };
  const timed = (/** @type {readonly string[]} */ args) => async () => {
    const started = performance.now();
    await run("git", ["-C", tree, "-c", "user.name=Bench", "-c", "user.email=bench@example.org", ...args]);
    return performance.now() - started;
  };
  await ours(); // the first run reads everything
  return {
    ours,
    ceiling: timed(["status", "--porcelain"]),
    peer: timed(["stash", "create"]),
    measuresItself: true,
    cleanUp: () => toolkit.close(),
  };
}

/** @param {string} stateDir */
function isActing(stateDir) {
  const [store = ""] = readdirSync(join(stateDir, "undo"));
  const file = join(stateDir, "undo", store, "log.json");
  return !existsSync(file) || JSON.parse(readFileSync(file, "utf8")).acting.length !== 0;
}

/**
 * Creates 50,000 committed files in 2,000 folders.
 *
 * @param {string} folder
 */
function repository(folder) {
  const tree = join(folder, "undo-tree");
  if (existsSync(tree)) return tree;
  for (let d = 0; d < 2_000; d++) {
    mkdirSync(join(tree, `d${d}`), { recursive: true });
    for (let f = 0; f < 25; f++) writeFileSync(join(tree, `d${d}/f${f}`), `file ${d} ${f}\n`.repeat(1 + (f % 40)));
  }
  const git = (/** @type {readonly string[]} */ ...args) => execFileSync("git", ["-C", tree, ...args]);
  git("init", "--quiet");
  git("config", "gc.auto", "0"); // otherwise it continues in the background
  git("-c", "core.fsync=none", "add", "--all");
  git("-c", "user.name=Bench", "-c", "user.email=bench@example.org", "commit", "--quiet", "--message", "All files");
  return tree;
}
