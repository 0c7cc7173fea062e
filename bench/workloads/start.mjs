import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { atMost } from "./shared.mjs";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

/** @type {readonly import("./shared.mjs").Workload[]} */
export const START = [
  starting("--version", ["--version"], 1.2),
  starting("--help", ["--help"], 1.2),
  starting("tools", ["tools"], 1.4),
  starting("call", ["call", "read", '{"path":"a.txt"}'], 1.8),
  starting("run", ["run", "Hi", "--model", "demo", "--preset", "none"], undefined),
  starting("call-bash", ["call", "bash", '{"command":"true"}', "--yes"], 3),
];

/**
 * @param {string} name
 * @param {readonly string[]} args
 * @param {number | undefined} most
 * @returns {import("./shared.mjs").Workload}
 */
function starting(name, args, most) {
  return {
    name: `start-${name}`,
    what: `handrail ${args[0]}${args[1] === undefined ? "" : ` ${args[1]}`}; ceiling node -e 0`,
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
      return {
        ours: () => run(process.execPath, [PROGRAM, ...args], options),
        ceiling: () => run(process.execPath, ["-e", "0"], options),
      };
    },
  };
}
