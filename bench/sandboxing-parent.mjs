// Runs the same command in our sandbox, in plain bubblewrap with the same arguments, and without a sandbox, always
// through the same spawner. A separate process, so that it can run as another user.
//
// In: as arguments, a folder that contains the workspace `ws`, how often to run, the pause before each (milliseconds), and
//      how many run at once; messages "HOW SCRIPT", where HOW is ours, bwrap or none; "ready?".
// Out: a message with the milliseconds that the runs took without the pauses, or with an error.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { local, sandbox } from "handrail";

const folder = process.argv[2] ?? "";
const [times = 1, pauseMs = 0, together = 1] = process.argv.slice(3).map(Number);
const inner = await local({
  workDir: join(folder, "ws"),
  home: join(folder, "home"),
  outputFolder: join(folder, "outputs"),
});
const contained = await sandbox(inner, { folder: join(folder, "sandbox"), required: true });
const words = await wordsOfOne();

process.on("message", (/** @type {string} */ message) => void answer(message));

/** @param {string} message */
async function answer(message) {
  const [how, script = ""] = message.split(/ (.*)/s);
  try {
    let took = 0;
    for (let time = 0; how !== "ready?" && time < times; time++) {
      if (pauseMs > 0) await pause(pauseMs);
      const started = performance.now();
      await Promise.all(Array.from({ length: together }, () => run(how, script)));
      took += performance.now() - started;
    }
    process.send?.(took);
  } catch (error) {
    process.send?.(String(error));
  }
}

/**
 * @param {string | undefined} how
 * @param {string} script
 */
async function run(how, script) {
  /** @type {[string, ...string[]]} */
  const argv = ["bash", "--noprofile", "--norc", "-c", script];
  const child = await (how === "ours"
    ? contained.spawn({ argv })
    : inner.spawn({ argv: how === "bwrap" ? ["bwrap", ...words, "--", ...argv] : argv }));
  const exit = await child.exit;
  if (exit.how !== "exited" || exit.code !== 0) throw new Error(`${how}: ${script} ended with ${JSON.stringify(exit)}`);
  await child.output.tail(1_000);
  await child.output.dispose();
}

/**
 * Returns the arguments that bwrap gets for our command, read from a file while the command runs. Omits what is passed
 * as open files.
 */
async function wordsOfOne() {
  const child = await contained.spawn({ argv: ["cat"], stdin: "pipe" });
  const sessions = join(folder, "sandbox", "sessions");
  const session = readdirSync(sessions)[0] ?? "";
  const file = readdirSync(join(sessions, session))
    .filter((name) => name.endsWith(".args"))
    .toSorted((one, other) => Number.parseInt(other, 10) - Number.parseInt(one, 10))[0];
  const all = readFileSync(join(sessions, session, file ?? ""), "utf8")
    .split("\0")
    .slice(0, -1);
  await child.endInput();
  await child.exit;
  const handed = new Set(["--seccomp", "--json-status-fd"]);
  const plain = all.filter((word, index) => !handed.has(word) && !handed.has(all[index - 1] ?? ""));
  // Our commands join a network that exists already; plain bubblewrap creates its own.
  return plain.includes("--unshare-net") ? plain : ["--unshare-net", ...plain];
}
