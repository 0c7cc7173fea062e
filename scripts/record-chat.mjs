/**
 * Records a chat with the demo model (`npm run docs:chat`).
 *
 * In:  dist (built when stale), tmux, a sandbox.
 * Out: docs/pictures/chat.svg, four screens of a terminal of 80x24 in which a person without a key is offered the demo,
 *      has it make the practice project, approves its question, and undoes all. The recording is real; only times, which
 *      differ each time, are replaced. Exit code 1, with the reason, when it cannot be recorded.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../bench/places/sshd.mjs";
import { buildIfStale } from "./build.mjs";
import { projectRoot } from "./lib/project.mjs";
import { terminalPicture } from "./lib/terminal-picture.mjs";

const [COLUMNS, ROWS] = [80, 24];
const PROGRAM = join(projectRoot, "dist", "cli.js");

await buildIfStale();
// A short path, so that lines are wrapped as in ~/shop.
const home = mkdtempSync(join(tmpdir(), "h-"));
const folder = join(home, "shop");
mkdirSync(folder);
const tmux = (/** @type {readonly string[]} */ ...words) =>
  execFileSync("tmux", ["-u", "-S", join(home, "tmux"), "-f", "/dev/null", ...words], { encoding: "utf8" });
const type = (/** @type {string} */ text) => tmux("send-keys", text, "Enter");
/** Returns the lines of the screen once it shows this text. @param {RegExp} text */
const screen = (text) =>
  until(() => {
    const seen = tmux("capture-pane", "-p", "-J").replaceAll(/ +$/gm, "").trimEnd(); // joins what the terminal wrapped
    if (!text.test(seen)) throw new Error(`the person does not see ${text}, but:\n${seen}`);
    return seen
      .replaceAll(folder, "~/shop")
      .replaceAll(/ {2}\d+\.\d s$/gm, "  0.1 s")
      .replaceAll(/^\d+(\.\d)? s, /gm, "12 s, ")
      .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, "2026-01-05 10:00:00")
      .split("\n");
  });
try {
  const state = join(home, "state");
  const variables = ["OLLAMA_HOST=127.0.0.1:9", `XDG_STATE_HOME=${state}`, `XDG_CONFIG_HOME=${state}`, "NO_COLOR=1"];
  const chat = ["env", "-u", "TMUX", "-u", "TMUX_PANE", ...variables, process.execPath, PROGRAM, "chat"];
  tmux("new-session", "-d", "-c", folder, "-x", String(COLUMNS), "-y", String(ROWS), ...chat);
  await screen(/d {2}start the demo[^]*d, q\?$/);
  type("d");
  const offered = await screen(/^>$/m);
  type("practice");
  await screen(/FAIL: [^]*change that one place/);
  const asked = await screen(/pre-commit[^]*\[y\/N[^\]]*\]$/);
  type("y");
  const done = await screen(/That was the practice project[^]*\n>$/);
  type("/undo");
  await screen(/To restore: [^]*\n>$/);
  type("/undo yes");
  const undone = await screen(/estored[^]*\n>$/);
  const screens = [
    { title: "$ handrail chat, without a key", lines: offered },
    { title: "The practice project: what may run code later is asked about", lines: asked },
    { title: "It was approved; the job has ended", lines: done },
    { title: "/undo takes everything back", lines: undone },
  ].map(({ title, lines }) => ({ title, lines, hasStatus: false }));
  writeFileSync(join(projectRoot, "docs/pictures/chat.svg"), terminalPicture(screens, COLUMNS));
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
  rmSync(home, { recursive: true, force: true });
}
