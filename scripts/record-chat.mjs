/**
 * Records chats at a terminal (`npm run docs:chat`).
 *
 * In:  dist (built when stale), tmux, a sandbox.
 * Out: docs/pictures/chat.svg, four screens of 80x24 in which a person without a key is offered the demo, has it make the
 *      practice project, approves its question, and undoes all; docs/pictures/chat-work.svg, three screens of a turn with
 *      a model that plays a script: calls side by side, a question about a change, Markdown; docs/pictures/chat-wide.svg,
 *      the same change at 140 columns. The recordings are real; only times and folders, which differ each time, are
 *      replaced. Exit code 1, with the reason, when one cannot be recorded.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { until } from "../bench/places/sshd.mjs";
import { buildIfStale } from "./build.mjs";
import { projectRoot } from "./lib/project.mjs";
import { serveScript } from "./lib/scripted-model.mjs";
import { terminalPicture } from "./lib/terminal-picture.mjs";

const PROGRAM = join(projectRoot, "dist", "cli.js");

const CONFIG = `export const name = "orchard";
export const connection = { host: "db.internal.example.org", port: 5432, user: "orchard", database: "orchard", ssl: false };
`;

const EDIT = { path: "config.js", old_text: "ssl: false", new_text: 'ssl: "require"' };

const REPORT = `## What I found

The connection was **not encrypted**. Now \`config.js\` asks for TLS:

1. every pool reads the same line, so nothing else has to change,
2. the staging database accepts it; the local one has a certificate of its own, which has to be trusted once.

| File | Change | Why |
|---|---|---|
| config.js | \`ssl: "require"\` | was off |
| .env | a new URL | the old host has no TLS |

\`\`\`js
export const pool = new Pool(connection); // one pool for all
\`\`\`
`;

const SCRIPT = {
  "Is our database connection encrypted": [
    [
      { text: "I look at the configuration and run the tests meanwhile.\n" },
      { call: "read", input: { path: "config.js" } },
      { call: "bash", input: { command: "for i in 1 2 3; do echo test $i ok; done; echo not ok 4 - TLS; exit 1" } },
      { call: "bash", input: { command: "for i in $(seq 1 30); do echo probe $i; sleep 0.2; done" } },
      { call: "bash", input: { command: "sleep 4; echo lint is clean" } },
    ],
    [{ text: "It is not. I change that.\n" }, { call: "edit", input: EDIT }],
    [
      {
        call: "write",
        input: { path: ".env", content: "DATABASE_URL=postgres://db.example.org/orchard?sslmode=require\n" },
      },
    ],
    [{ text: REPORT }],
  ],
};

await buildIfStale();
try {
  await recordDemo();
  await recordWork();
} catch (error) {
  process.stderr.write(`recording the chat: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

/**
 * A chat in a terminal of its own, in a new folder.
 *
 * @param {{ columns: number, rows: number, args: readonly string[], files?: { readonly [name: string]: string } }} options
 */
function chatIn({ columns, rows, args, files = {} }) {
  const home = mkdtempSync(join(tmpdir(), "h-"));
  const folder = join(home, "shop");
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const tmux = (/** @type {readonly string[]} */ ...words) =>
    execFileSync("tmux", ["-u", "-S", join(home, "tmux"), "-f", "/dev/null", ...words], { encoding: "utf8" });
  const state = join(home, "state");
  const variables = ["OLLAMA_HOST=127.0.0.1:9", `XDG_STATE_HOME=${state}`, `XDG_CONFIG_HOME=${state}`];
  const program = [process.execPath, PROGRAM, "chat", ...args];
  const keys = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "NO_COLOR", "TMUX", "TMUX_PANE"];
  const env = ["env", ...keys.flatMap((name) => ["-u", name]), ...variables];
  const size = ["-x", String(columns), "-y", String(rows)];
  tmux("new-session", "-d", "-c", folder, ...size, ...env, ...program, ";", "set", "-g", "status", "off");
  return {
    type: (/** @type {string} */ text) => tmux("send-keys", text, "Enter"),
    /** Answers a question, which counts only half a second after it has appeared. @param {string} key */
    async answer(key) {
      await pause(800);
      tmux("send-keys", key);
    },
    /** Returns the lines of the screen once it shows this text. @param {RegExp} text */
    screen: (text) =>
      until(() => {
        const seen = tmux("capture-pane", "-p", "-e")
          .replaceAll(/[ \t]+$/gm, "")
          .trimEnd();
        const plain = stripVTControlCharacters(seen).replaceAll(/ +$/gm, "");
        if (!text.test(plain)) throw new Error(`the person does not see ${text}, but:\n${plain}`);
        return seen
          .replaceAll(folder, "/home/annabel/shop") // as long, so that nothing moves
          .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, "2026-01-05 10:00:00")
          .split("\n");
      }),
    close() {
      try {
        tmux("kill-server");
      } catch {
        // it was never started
      }
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function recordDemo() {
  const { type, answer, screen, close } = chatIn({ columns: 80, rows: 24, args: [] });
  try {
    await screen(/d {2}start the demo[^]*d, q\?$/);
    type("d");
    const offered = await screen(/^>$/m);
    type("practice");
    const asked = await screen(/pre-commit[^]*y {2}/);
    await answer("y");
    const done = await screen(/That was the practice project[^]*tokens in/);
    await pause(1_000); // the turn is over
    type("/undo");
    const undone = await screen(/Restore \d+ paths\?/);
    picture("chat.svg", 80, [
      { title: "$ handrail chat, without a key", lines: offered },
      { title: "The practice project: what may run code later is asked about", lines: asked },
      { title: "It was approved; the job has ended", lines: done },
      { title: "/undo shows what it would take back, and asks", lines: undone },
    ]);
  } finally {
    close();
  }
}

async function recordWork() {
  const model = await serveScript(SCRIPT);
  const args = ["--model", "openai-compatible:scripted", "--base-url", model.url];
  const files = { "config.js": CONFIG };
  const narrow = chatIn({ columns: 80, rows: 24, args, files });
  const wide = chatIn({ columns: 140, rows: 26, args, files });
  try {
    await narrow.screen(/^>$/m);
    narrow.type("Is our database connection encrypted? Change it if not.");
    const working = await narrow.screen(/exit 1[^]*probe 9/);
    const asked = await narrow.screen(/New file[^]*y {2}/);
    await narrow.answer("y");
    const done = await narrow.screen(/What I found[^]*tokens in/);
    picture("chat-work.svg", 80, [
      { title: "Calls run side by side; each ends in the order of ending", lines: working },
      { title: "What is decided on is shown whole", lines: asked },
      { title: "Markdown is drawn while it streams", lines: done },
    ]);
    await wide.screen(/^>$/m);
    wide.type("Is our database connection encrypted? Change it if not.");
    picture("chat-wide.svg", 140, [
      { title: "140 columns: a change side by side", lines: await wide.screen(/New file[^]*y {2}/) },
    ]);
  } finally {
    narrow.close();
    wide.close();
    model.close();
  }
}

/** @param {string} file @param {number} columns @param {readonly { title: string, lines: readonly string[] }[]} screens */
function picture(file, columns, screens) {
  const all = screens.map((each) => ({ ...each, hasStatus: false }));
  writeFileSync(join(projectRoot, "docs/pictures", file), terminalPicture(all, columns));
  process.stdout.write(`docs/pictures/${file} written\n`);
}
