/**
 * Records a run of the demo model (`npm run docs:agent`).
 *
 * In:  dist (built when stale).
 * Out: docs/pictures/agent.svg, the output of the command on both streams of a terminal. The recording is real; only
 *      the times and the thread's id, which differ each time, are replaced. Exit code 1, with the output, when the run
 *      did not succeed.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildIfStale } from "./build.mjs";
import { projectRoot } from "./lib/project.mjs";
import { terminalPicture } from "./lib/terminal-picture.mjs";
import { FILES } from "./tour.mjs";

const COLUMNS = 112;
const COMMAND = 'handrail run "Repair the failing test" --model demo --yes';

await buildIfStale();
const folder = mkdtempSync(join(tmpdir(), "handrail-record-"));
const state = mkdtempSync(join(tmpdir(), "handrail-record-state-"));
try {
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  const program = join(projectRoot, "dist", "cli.js");
  const { status, stdout } = spawnSync(
    "sh",
    ["-c", 'exec "$0" "$1" run "Repair the failing test" --model demo --yes 2>&1', process.execPath, program],
    { cwd: folder, encoding: "utf8", env: { ...process.env, XDG_STATE_HOME: state, NO_COLOR: "1" } },
  );
  if (status !== 0) throw new Error(`the run ended with ${status}:\n${stdout}`);
  const shown = stdout
    .trimEnd()
    .replaceAll(/ \d+ ms$/gm, "")
    .replace(/--resume \w+/, "--resume k43c3sttm4")
    .split("\n")
    .filter((line) => line !== "");
  const lines = [`$ ${COMMAND}`, ...shown].flatMap(wrapped);
  writeFileSync(join(projectRoot, "docs/pictures/agent.svg"), terminalPicture([{ title: "", lines }], COLUMNS));
  process.stdout.write("docs/pictures/agent.svg written\n");
} catch (error) {
  process.stderr.write(`recording the run: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  for (const made of [folder, state]) rmSync(made, { recursive: true, force: true });
}

/**
 * Wraps a line as a terminal does.
 *
 * @param {string} line
 */
function wrapped(line) {
  return line.match(new RegExp(`.{1,${COLUMNS}}`, "g")) ?? [""];
}
