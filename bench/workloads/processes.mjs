import { fork, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { local } from "handrail";
import { atMost, ok, toolkitIn, within } from "./shared.mjs";
import { bash } from "handrail";

const SPAWNS = 20;

/** @type {readonly import("./shared.mjs").Workload[]} */
export const PROCESSES = [
  spawning({ megabytes: 75, target: atMost(1.1) }),
  spawning({ megabytes: 1_000, target: within(3.5, "ms") }),
  {
    name: "stall-1000",
    what: "the longest that a spawn holds the event loop, parent of 1,000 MB; beside child_process.spawn",
    target: atMost(0.2),
    prepare: () => parent(1_000, "stall"),
  },
  {
    name: "capture",
    what: "500 MB of output, 256 MB of it kept, its end shown; ceiling cat > file",
    rounds: 3,
    target: atMost(2),
    async prepare(folder) {
      const workDir = join(folder, "capture");
      mkdirSync(workDir, { recursive: true });
      const toolkit = await toolkitIn(workDir, [bash()]);
      const command = "head -c 500000000 /dev/zero";
      return {
        ours: () => ok(toolkit.call({ name: "bash", input: { command } })),
        ceiling: () => toFile(`${command} | cat`, join(workDir, "copy")),
        cleanUp: async () => {
          await toolkit.close();
          rmSync(workDir, { recursive: true, force: true });
        },
      };
    },
  },
  {
    name: "capture-200",
    what: "200 MB of output, all of it kept; ceiling cat > file",
    rounds: 3,
    target: atMost(2),
    async prepare(folder) {
      const workDir = join(folder, "capture");
      mkdirSync(workDir, { recursive: true });
      const backend = await local({ workDir, outputFolder: join(workDir, "outputs") });
      const script = "head -c 200000000 /dev/zero";
      return {
        async ours() {
          const child = await backend.spawn({ argv: ["bash", "-c", script] });
          await child.exit;
          if (child.output.kept !== 200_000_000) throw new Error(`${child.output.kept} bytes are kept`);
          await child.output.dispose();
        },
        ceiling: () => toFile(`${script} | cat`, join(workDir, "copy")),
        cleanUp: async () => {
          await backend.close();
          rmSync(workDir, { recursive: true, force: true });
        },
      };
    },
  },
];

/**
 * @param {{ megabytes: number, target: import("./shared.mjs").Workload["target"] }} options
 * @returns {import("./shared.mjs").Workload}
 */
function spawning({ megabytes, target }) {
  return {
    name: `spawn-${megabytes}`,
    what: `true, its output read to the end, parent of ${megabytes} MB; ceiling child_process.spawn with pipes`,
    unit: "ms",
    scale: 1 / SPAWNS,
    target,
    prepare: () => parent(megabytes, "spawn"),
  };
}

/**
 * Starts a process of this many megabytes that spawns. The measurement happens in that process.
 *
 * @param {number} megabytes
 * @param {"spawn" | "stall"} what
 */
async function parent(megabytes, what) {
  const child = fork(fileURLToPath(new URL("../spawning-parent.mjs", import.meta.url)), [
    String(megabytes),
    String(SPAWNS),
  ]);
  /** @param {string} message */
  const ask = (message) =>
    new Promise((resolve, reject) => {
      child.once("exit", (code) => reject(new Error(`the spawning process ended with code ${code}`)));
      child.once("message", resolve);
      child.send(message);
    });
  await ask("ready?");
  child.setMaxListeners(0);
  if (what === "spawn") return { ours: () => ask("ours"), ceiling: () => ask("raw"), cleanUp: () => child.kill() };
  return {
    ours: () => ask("ours stall"),
    ceiling: () => ask("raw stall"),
    measuresItself: true,
    cleanUp: () => child.kill(),
  };
}

/**
 * @param {string} script
 * @param {string} path
 * @returns {Promise<void>}
 */
function toFile(script, path) {
  const file = openSync(path, "w");
  return new Promise((resolve, reject) => {
    const child = spawn("bash", ["-c", script], { stdio: ["ignore", file, "ignore"] });
    closeSync(file);
    child.once("error", reject).once("exit", () => resolve());
  });
}
