/**
 * Records a chat with the demo model (`npm run docs:chat`).
 *
 * In:  dist (built when stale), tmux.
 * Out: docs/pictures/chat.svg, the screen of a terminal in which a person asks for a repair and answers a question. The
 *      recording is real; only times and folders, which differ each time, are replaced. Exit code 1, with the reason,
 *      when it cannot be recorded.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../bench/places/sshd.mjs";
import { buildIfStale } from "./build.mjs";
import { projectRoot } from "./lib/project.mjs";
import { terminalPicture } from "./lib/terminal-picture.mjs";
import { FILES } from "./tour.mjs";

const COLUMNS = 100;
const PROGRAM = join(projectRoot, "dist", "cli.js");

await buildIfStale();
const folder = mkdtempSync(join(tmpdir(), "handrail-record-"));
const state = mkdtempSync(join(tmpdir(), "handrail-record-state-"));
const tmux = (/** @type {readonly string[]} */ ...words) =>
  execFileSync("tmux", ["-u", "-S", join(state, "tmux"), "-f", "/dev/null", ...words], { encoding: "utf8" });
/** Returns the screen once it shows this text. @param {RegExp} text */
const screen = (text) =>
  until(() => {
    const seen = tmux("capture-pane", "-p").trimEnd();
    if (!text.test(seen)) throw new Error(`the person does not see ${text}, but:\n${seen}`);
    return seen;
  });
try {
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  const variables = [`XDG_STATE_HOME=${state}`, `XDG_CONFIG_HOME=${state}`, "NO_COLOR=1"];
  const chat = ["env", "-u", "TMUX", "-u", "TMUX_PANE", ...variables, process.execPath, PROGRAM, "chat"];
  const words = [...chat, "--model", "demo", "--sandbox", "off"];
  tmux("new-session", "-d", "-c", folder, "-x", String(COLUMNS), "-y", "60", ...words);
  await screen(/^>$/m);
  tmux("send-keys", "Repair the failing test", "Enter");
  await screen(/\[y\/N\/s\]$/m);
  tmux("send-keys", "s", "Enter");
  const seen = await screen(/All tests pass now[^]*\n>$/);
  const shown = seen
    .replaceAll(folder, "~/shop")
    .replaceAll(/ {2}\d+\.\d s$/gm, "  0.4 s")
    .replaceAll(/duration_ms [\d.]+/g, "duration_ms 361.2")
    .replace(/^\d+(\.\d)? s, /m, "4.1 s, ")
    .split("\n");
  const lines = ["$ handrail chat --model demo", ...shown].filter((line) => line !== "");
  writeFileSync(
    join(projectRoot, "docs/pictures/chat.svg"),
    terminalPicture([{ title: "", lines, hasStatus: false }], COLUMNS),
  );
  process.stdout.write("docs/pictures/chat.svg written\n");
} catch (error) {
  process.stderr.write(`recording the chat: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  try {
    tmux("kill-server");
  } catch {
    // it was never started
  }
  for (const made of [folder, state]) rmSync(made, { recursive: true, force: true });
}
