import { fork, spawnSync } from "node:child_process";
import { cpSync, lchownSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { within } from "./shared.mjs";

/** An ordinary user: the id of the user "nobody" on Debian and other systems. */
const ORDINARY = 65_534;

/** Folders of ten files each: 50,000 files. */
const MANY_FOLDERS = 5_000;

/** How long a model thinks at least between two commands, in milliseconds. Not measured. */
const THINKS_MS = 100;

const ADDED = { text: "<= 5 ms more", met: isAtMost(5) };

const COMMANDS = [
  { name: "true", script: "true", times: 10, what: "true" },
  { name: "git", script: "git status", times: 10, what: "git status" },
  { name: "make", script: "make clean && make", times: 1, what: "a build of five C files" },
  { name: "true-50k", script: "true", times: 10, what: "true beside 50,000 files", folders: MANY_FOLDERS },
  { name: "ready", script: "true", times: 10, what: "true after a pause", pauseMs: THINKS_MS },
  {
    name: "ready-50k",
    ...{ script: "true", times: 10, what: "true after a pause, beside 50,000 files" },
    ...{ folders: MANY_FOLDERS, pauseMs: THINKS_MS },
  },
  { name: "ready-eight", script: "true", times: 2, together: 8, what: "true, eight at once", pauseMs: 4 * THINKS_MS },
  { name: "git-50k", script: "git status", times: 10, what: "git status of 50,000 files", folders: MANY_FOLDERS },
];

const isRoot = process.getuid?.() === 0;
const hasSandbox = spawnSync("bwrap", ["--ro-bind", "/", "/", "true"]).status === 0;

/** None where bubblewrap does not work. */
/** @type {readonly import("./shared.mjs").Workload[]} */
export const SANDBOX = hasSandbox
  ? [undefined, ...(isRoot ? [ORDINARY] : [])].flatMap((user) => COMMANDS.map((command) => contained(command, user)))
  : [];

/**
 * @param {(typeof COMMANDS)[number]} command
 * @param {number | undefined} user
 * @returns {import("./shared.mjs").Workload}
 */
function contained({ name, script, times, what, folders = 0, pauseMs = 0, together = 1 }, user) {
  const who = user !== undefined ? "an ordinary user" : isRoot ? "root" : "this user";
  return {
    name: `sandbox-${name}${user === undefined ? "" : "-user"}`,
    what: `${what}, by ${who}; ceiling bwrap with the same words, peer no sandbox`,
    scale: 1 / times,
    rounds: 9,
    target: pauseMs > 0 && together === 1 ? within(6, "ms") : ADDED,
    async prepare(folder) {
      const own = join(folder, `sandbox-${user ?? "own"}`);
      rmSync(own, { recursive: true, force: true });
      for (const each of ["home", "outputs"]) mkdirSync(join(own, each), { recursive: true });
      const fixture = fileURLToPath(new URL("../../test/fixtures/projects/c", import.meta.url));
      cpSync(fixture, join(own, "ws"), { recursive: true });
      for (let count = 0; count < folders; count++) {
        const at = join(own, "ws", "many", `a${count % 20}`, `b${count % 100}`, `c${count}`);
        mkdirSync(at, { recursive: true });
        for (let file = 0; file < 10; file++) writeFileSync(join(at, `file${file}.c`), "");
      }
      for (const argv of [["./configure"], ["git", "init", "-q"], ["git", "add", "-A"]]) {
        spawnSync(argv[0] ?? "", argv.slice(1), { cwd: join(own, "ws") });
      }
      if (user !== undefined) giveTo(user, own);
      const child = fork(
        fileURLToPath(new URL("../sandboxing-parent.mjs", import.meta.url)),
        [own, String(times), String(pauseMs), String(together)],
        {
          ...(user !== undefined && { uid: user, gid: user }),
          env: { ...process.env, HOME: join(own, "home") },
          cwd: own,
        },
      );
      child.setMaxListeners(0);
      /**
       * @param {string} message
       * @returns {Promise<number>} how long the commands took without the pauses, in milliseconds
       */
      const ask = (message) =>
        new Promise((resolve, reject) => {
          child.once("exit", (code) => reject(new Error(`the process that starts them ended with code ${code}`)));
          child.once("message", (/** @type {unknown} */ answer) =>
            typeof answer === "number" ? resolve(answer) : reject(new Error(JSON.stringify(answer))),
          );
          child.send(message);
        });
      await ask("ready?");
      return {
        measuresItself: true,
        ours: () => ask(`ours ${script}`),
        ceiling: () => ask(`bwrap ${script}`),
        peer: () => ask(`none ${script}`),
        cleanUp() {
          child.kill();
          rmSync(own, { recursive: true, force: true });
        },
      };
    },
  };
}

/** @param {number} most milliseconds more than the ceiling */
function isAtMost(most) {
  return (/** @type {{ ours: number, ratio: number }} */ { ours, ratio }) => ours - ours / ratio <= most;
}

/**
 * @param {number} user
 * @param {string} folder
 */
function giveTo(user, folder) {
  lchownSync(folder, user, user);
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" }))
    lchownSync(join(folder, path), user, user);
}
