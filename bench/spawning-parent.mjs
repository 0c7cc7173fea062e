/**
 * A process of a given size that spawns, for bench/workloads/processes.mjs.
 *
 * In:  megabytes to occupy; spawns per round. Over the channel: "ready?", "ours", "raw", "ours stall", "raw stall".
 * Out: an answer per round, over the channel; for a stall, the longest time that the event loop was blocked, in
 *      milliseconds.
 */
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { local } from "handrail";

const [megabytes = 0, spawns = 1] = process.argv.slice(2).map(Number);
const ballast = Array.from({ length: Math.max(0, megabytes - 50) }, () => Buffer.alloc(1_048_576, 1));
const backend = await local({ workDir: "/", outputFolder: join(tmpdir(), "handrail-bench", "outputs") });

const ROUNDS = /** @type {Record<string, () => Promise<void>>} */ ({
  async ours() {
    const child = await backend.spawn({ argv: ["true"] });
    await child.exit;
    await child.output.dispose();
  },
  raw: () =>
    new Promise((resolve, reject) => {
      const child = spawn("true", { stdio: ["ignore", "pipe", "pipe"], detached: true });
      child.stdout.resume();
      child.stderr.resume();
      child.once("error", reject).once("close", () => resolve());
    }),
});

process.on("message", (/** @type {string} */ message) => void answer(message));

/** @param {string} message */
async function answer(message) {
  const [name = "", stall] = message.split(" ");
  const round = ROUNDS[name];
  let longest = 0;
  let last = performance.now();
  const watch =
    stall === undefined
      ? undefined
      : setInterval(() => {
          const now = performance.now();
          longest = Math.max(longest, now - last);
          last = now;
        }, 0);
  if (round !== undefined) for (let count = 0; count < spawns; count++) await round();
  clearInterval(watch);
  process.send?.(ballast.length >= 0 ? longest : 0);
}
