import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { atMost } from "./shared.mjs";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

let calls = 0;

/** What many hooks do: they look for a word in the event. */
const BASH_HOOK = `event=$(cat); printf %s "$event" | grep -q 'rm -rf' && { echo no >&2; exit 2; }; exit 0`;

/** @type {readonly import("./shared.mjs").Workload[]} */
export const START = [
  starting("--version", ["--version"], 1.2),
  starting("--help", ["--help"], 1.2),
  starting("tools", ["tools"], 1.4),
  starting("call", ["call", "read", '{"path":"a.txt"}'], 1.8),
  starting("run", ["run", "Hi", "--model", "demo", "--preset", "none"], undefined),
  starting("call-bash", ["call", "bash", '{"command":"true"}', "--yes"], 3),
  starting("hook", ["hook", "codex"], 1.6, hookEvent),
  starting("hook-bash", ["hook", "codex"], undefined, hookEvent, ["bash", "-c", BASH_HOOK]),
];

/** @param {string} cwd */
function hookEvent(cwd) {
  return {
    ...{ session_id: "s", cwd, hook_event_name: "PreToolUse", tool_name: "view_image", tool_use_id: `${(calls += 1)}` },
    tool_input: { path: "a.txt" },
  };
}

/**
 * @param {string} name
 * @param {readonly string[]} args
 * @param {number | undefined} most
 * @param {(cwd: string) => object} [event] what it reads from stdin, as JSON
 * @param {readonly string[]} [ceiling] the command to compare with, which reads the same
 * @returns {import("./shared.mjs").Workload}
 */
function starting(name, args, most, event, ceiling = [process.execPath, "-e", "0"]) {
  return {
    name: `start-${name}`,
    what: `handrail ${args[0]}${args[1] === undefined ? "" : ` ${args[1]}`}; ceiling ${ceiling[0] === "bash" ? "a hook in bash" : "node -e 0"}`,
    rounds: 15,
    target: most === undefined ? { text: "", met: () => true } : atMost(most),
    async prepare(folder) {
      const cwd = join(folder, "start");
      mkdirSync(cwd, { recursive: true });
      writeFileSync(join(cwd, "a.txt"), "one line\n");
      const options = {
        cwd,
        env: { ...process.env, XDG_STATE_HOME: join(cwd, "state"), XDG_CONFIG_HOME: join(cwd, "config") },
      };
      /** @param {readonly string[]} argv */
      const start = (argv) => {
        const [program = "", ...words] = argv;
        const ended = run(program, words, options);
        ended.child.stdin?.end(event === undefined ? "" : JSON.stringify(event(cwd)));
        return ended;
      };
      return {
        ours: () => start([process.execPath, PROGRAM, ...args]),
        ceiling: () => start(ceiling),
      };
    },
  };
}
