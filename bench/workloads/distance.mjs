import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { createToolkit } from "handrail";
import { ssh } from "handrail/ssh";
import { isThere, sshdProblem, startSshd } from "../places/sshd.mjs";
import { ok, within } from "./shared.mjs";

const run = promisify(execFile);

const SSH =
  sshdProblem() === undefined ? execFileSync("sh", ["-c", "command -v ssh"], { encoding: "utf8" }).trim() : "";

/** Long enough to make the work itself negligible. Milliseconds. */
const ROUND_TRIP_MS = 400;

/** Run as the user who works there, who may replace the files. */
const MAKE_FILES =
  "mkdir -p far/folder && cd far && echo 'line 0' >edited.txt && echo 'a needle' | tee a.txt written.txt folder/b.txt";

/** One call of each tool, and how many round trips it may take. */
/** @type {readonly { readonly tool: string, readonly input: (round: number) => object, readonly most: number }[]} */
const CALLS = [
  { tool: "bash", input: () => ({ command: "true" }), most: 1.2 },
  { tool: "read", input: () => ({ path: "a.txt" }), most: 1.2 },
  { tool: "ls", input: () => ({ path: "folder" }), most: 1.2 },
  { tool: "grep", input: () => ({ pattern: "needle", path: "folder" }), most: 1.2 },
  { tool: "find", input: () => ({ pattern: "*.txt", path: "folder" }), most: 1.2 },
  { tool: "write", input: (round) => ({ path: "written.txt", content: `content ${round}\n` }), most: 2.2 },
  {
    tool: "edit",
    input: (round) => ({ path: "edited.txt", old_text: `line ${round}\n`, new_text: `line ${round + 1}\n` }),
    most: 2.2,
  },
];

/** None where there is nothing to work in. */
/** @type {readonly import("./shared.mjs").Workload[]} */
export const DISTANCE =
  sshdProblem() === undefined
    ? [
        ...CALLS.map((call) => calling(call, `distance-${call.tool}`, {})),
        ...(isThere("bwrap")
          ? CALLS.slice(0, 1).map((call) => calling({ ...call, most: 1.5 }, "distance-sandbox", { sandbox: true }))
          : []),
        ...(isThere("tmux")
          ? CALLS.slice(0, 1).map((call) => calling({ ...call, most: 4 }, "distance-tmux", { tmux: "bench" }))
          : []),
      ]
    : [];

/**
 * @param {(typeof CALLS)[number]} call
 * @param {string} name
 * @param {{ readonly tmux?: string, readonly sandbox?: boolean }} place
 * @returns {import("./shared.mjs").Workload}
 */
function calling({ tool, input, most }, name, { tmux, sandbox = false }) {
  const where = tmux !== undefined ? " in tmux" : sandbox ? " in the sandbox" : "";
  return {
    name,
    what: `a call of ${tool}${where} over ssh on a link of ${ROUND_TRIP_MS} ms; peer ssh host true on a connection that is open`,
    unit: "round trips",
    scale: 1 / ROUND_TRIP_MS,
    target: within(most, "round trips"),
    async prepare(folder) {
      const server = await startSshd(folder, ROUND_TRIP_MS);
      await run("ssh", [...server.shared, server.target, MAKE_FILES]);
      const place =
        tmux === undefined && !sandbox
          ? { target: await ssh({ ...server, workDir: "~/far", outputFolder: join(folder, "outputs") }) }
          : {
              target: `ssh:${configured(server, folder)}`,
              workDir: "~/far",
              ...(tmux !== undefined && { terminal: tmux }),
              ...(sandbox && /** @type {const} */ ({ sandbox: "on" })),
            };
      const toolkit = await createToolkit({
        ...place,
        preset: "workspace",
        approver: async () => ({ answer: "once" }),
        stateDir: join(folder, "state"),
      });
      let round = 0;
      return {
        async ours() {
          await ok(toolkit.call({ name: tool, input: input(round++) }));
        },
        peer: () => run("ssh", [...server.shared, server.target, "true"]),
        async cleanUp() {
          await toolkit.close();
          // The session is kept for people; here it would prevent the removal of its user.
          if (tmux !== undefined) await run("ssh", [...server.shared, server.target, "tmux kill-server"]);
          server.stop();
        },
      };
    },
  };
}

/**
 * Makes the host known by a name to the ssh on the PATH.
 *
 * @param {{ readonly target: string, readonly configFile: string }} server
 * @param {string} folder
 */
function configured({ target, configFile }, folder) {
  const programs = join(folder, "programs");
  mkdirSync(programs, { recursive: true });
  writeFileSync(join(programs, "ssh"), `#!/bin/sh\nexec ${SSH} -F ${configFile} "$@"\n`, { mode: 0o755 });
  process.env["PATH"] = `${programs}:${process.env["PATH"]}`;
  return target;
}
