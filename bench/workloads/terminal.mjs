import { execFile, execFileSync, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { bash, createToolkit } from "handrail";
import { isThere } from "../places/sshd.mjs";
import { atMost, ok } from "./shared.mjs";

const run = promisify(execFile);

const TIMES = 10;
const LINES = 83_334;

/** None where there is no tmux. */
/** @type {readonly import("./shared.mjs").Workload[]} */
export const TERMINAL = isThere("tmux") ? inTmux() : [];

/** @returns {readonly import("./shared.mjs").Workload[]} */
function inTmux() {
  return [
    {
      name: "tmux-true",
      what: "bash call of true in a pane of tmux; ceiling send-keys and wait-for by a client in control mode that is open",
      scale: 1 / TIMES,
      target: atMost(20),
      async prepare(folder) {
        const { toolkit, type, close } = await startTerminal(folder);
        return {
          ours: () => times(() => ok(toolkit.call({ name: "bash", input: { command: "true" } }))),
          ceiling: () => times(() => type("true")),
          cleanUp: close,
        };
      },
    },
    {
      name: "tmux-5mb",
      what: "bash call in a pane of tmux that writes 5 MB, seen there and read whole; ceiling sh -c 'cat > file'",
      rounds: 5,
      target: atMost(50),
      async prepare(folder) {
        const big = join(folder, "big");
        writeFileSync(big, "a line of text that has sixty characters with the end of it\n".repeat(LINES));
        const { toolkit, close } = await startTerminal(folder);
        return {
          ours: () => ok(toolkit.call({ name: "bash", input: { command: `cat ${big}` } })),
          ceiling: () => run("sh", ["-c", `cat ${big} >${folder}/copy`]),
          cleanUp: close,
        };
      },
    },
  ];
}

/**
 * Opens a toolkit in a session, and a client of the same server that types directly. The tmux server is a separate one;
 * that of the person who measures is not touched.
 *
 * @param {string} folder
 */
async function startTerminal(folder) {
  const before = process.env["TMUX_TMPDIR"];
  const own = join(folder, "tmux");
  mkdirSync(own, { recursive: true, mode: 0o700 });
  process.env["TMUX_TMPDIR"] = own;
  execFileSync("tmux", ["-f", "/dev/null", "new-session", "-d", "-s", "raw", "sh"]);
  const toolkit = await createToolkit({
    terminal: "bench",
    tools: [bash()],
    workDir: folder,
    policy: { autonomy: "full" },
    stateDir: join(folder, "state"),
  });
  const client = spawn("tmux", ["-C", "attach", "-t", "raw", "-f", "no-output"], { stdio: ["pipe", "pipe", "ignore"] });
  const lines = createInterface({ input: client.stdout })[Symbol.asyncIterator]();
  const answered = async () => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error("the client of tmux has ended");
      if (value.startsWith("%error")) throw new Error("tmux refused a command");
      if (/^%end .* 1$/.test(value)) return; // the end of a command that this client sent
    }
  };
  let number = 0;
  return {
    toolkit,
    /** @param {string} command */
    async type(command) {
      const done = `done-${++number}`;
      client.stdin.write(`send-keys -t raw: "${command}; tmux wait-for -S ${done}" Enter\nwait-for ${done}\n`);
      await answered();
      await answered();
    },
    async close() {
      await toolkit.close();
      client.kill();
      await run("tmux", ["kill-server"]);
      if (before === undefined) delete process.env["TMUX_TMPDIR"];
      else process.env["TMUX_TMPDIR"] = before;
    },
  };
}

/** @param {() => Promise<unknown>} work */
async function times(work) {
  for (let number = 0; number < TIMES; number++) await work();
}
