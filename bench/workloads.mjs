/** What `npm run bench` measures. Targets are those of the project's performance notes, given with each. */
import { execFile, spawn } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  closeSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { rgPath } from "@vscode/ripgrep";
import { createToolkit, defineTool, edit, find, grep, read, truncateHead, truncateTail } from "handrail";

const run = promisify(execFile);
const WIDE = { maxBuffer: 512 * 1024 * 1024 };

/**
 * @typedef {object} Workload
 * @property {string} name
 * @property {string} what
 * @property {number} [rounds]
 * @property {string} [unit]
 * @property {number} [scale] from milliseconds of a run to the unit
 * @property {{ text: string, met(measured: { ours: number, ratio: number }): boolean }} target
 * @property {(folder: string) => Promise<{ ours(): unknown, ceiling?(): unknown, peer?(): unknown, cleanUp?(): unknown }>} prepare
 */

/** @param {number} most */
const atMost = (most) => ({ text: `<= ${most}x`, met: (/** @type {{ ratio: number }} */ { ratio }) => ratio <= most });
/** @param {number} most @param {string} unit */
const within = (most, unit) => ({
  text: `<= ${most} ${unit}`,
  met: (/** @type {{ ours: number }} */ { ours }) => ours <= most,
});

const CALLS = 20_000;

/** @type {readonly Workload[]} */
export const WORKLOADS = [
  {
    name: "dispatch",
    what: "a no-op call of 6 fields, JSON in and out, record in memory",
    unit: "µs",
    scale: 1_000 / CALLS,
    target: within(5, "µs"),
    async prepare() {
      const noop = defineTool({
        name: "noop",
        description: "Nothing.",
        touches: [],
        input: {
          type: "object",
          properties: {
            a: { type: "string" },
            b: { type: "integer" },
            c: { type: "boolean" },
            d: { type: "string" },
            e: { type: "array", items: { type: "string" } },
            f: { type: "number" },
          },
          required: ["a", "b", "c", "e", "f"],
        },
        effects: () => [],
        run: async ({ a }) => ({ a }),
      });
      const toolkit = await createToolkit({ tools: [noop] });
      const input = JSON.stringify({ a: "x", b: 1, c: true, e: ["p"], f: 1.5 });
      const bare = async (/** @type {{ a: string }} */ { a }) => ({ a });
      return {
        ours: async () => {
          for (let call = 0; call < CALLS; call++) JSON.stringify(await toolkit.call({ name: "noop", input }));
        },
        ceiling: async () => {
          for (let call = 0; call < CALLS; call++) JSON.stringify(await bare(JSON.parse(input)));
        },
        cleanUp: () => toolkit.close(),
      };
    },
  },
  {
    name: "grep-rare",
    what: "a word that stands once in 50,000 files; ceiling rg, peer grep -rn",
    target: atMost(1.1),
    async prepare(folder) {
      const tree = sourceTree(folder);
      const toolkit = await toolkitIn(tree, [grep()]);
      return {
        ours: () => ok(toolkit.call({ name: "grep", input: { pattern: "xylophone_needle" } })),
        ceiling: () => run(rgPath, ["--no-config", "-n", "-i", "xylophone_needle", tree], WIDE),
        peer: () => run("grep", ["-rni", "xylophone_needle", tree], WIDE),
        cleanUp: () => toolkit.close(),
      };
    },
  },
  {
    name: "grep-100",
    what: "a word that is everywhere, stopped at 100; ceiling rg killed at the 100th line",
    target: atMost(1.3),
    async prepare(folder) {
      const tree = sourceTree(folder);
      const toolkit = await toolkitIn(tree, [grep()]);
      return {
        ours: () => ok(toolkit.call({ name: "grep", input: { pattern: "return" } })),
        ceiling: () => firstLines(rgPath, ["--no-config", "-n", "-i", "return", tree], 100),
        cleanUp: () => toolkit.close(),
      };
    },
  },
  {
    name: "find",
    what: "*.h among 50,000 files; ceiling rg --files",
    target: atMost(1.2),
    async prepare(folder) {
      const tree = sourceTree(folder);
      const toolkit = await toolkitIn(tree, [find()]);
      return {
        ours: () => ok(toolkit.call({ name: "find", input: { pattern: "*.h", type: "file" } })),
        ceiling: () => run(rgPath, ["--no-config", "--files", tree], WIDE),
        peer: () => run("find", [tree, "-name", "*.h"], WIDE),
        cleanUp: () => toolkit.close(),
      };
    },
  },
  {
    name: "read-first",
    what: "lines 1,000,000-1,000,100 of 1 GB, never read before; ceiling head, peer sed",
    rounds: 5,
    target: atMost(1.2),
    async prepare(folder) {
      const file = bigFile(folder);
      return {
        ours: async () => {
          // A new toolkit knows nothing of the file.
          const toolkit = await toolkitIn(folder, [read()]);
          await ok(toolkit.call({ name: "read", input: { path: file, offset: 1_000_000, limit: 101 } }));
          await toolkit.close();
        },
        ceiling: () => run("sh", ["-c", `head -n 1000100 "${file}" | tail -n 101`], WIDE),
        peer: () => run("sed", ["-n", "1000000,1000100p;1000100q", file], WIDE),
      };
    },
  },
  {
    name: "read-again",
    what: "the same lines, read again",
    target: within(1.5, "ms"),
    async prepare(folder) {
      const file = bigFile(folder);
      const toolkit = await toolkitIn(folder, [read()]);
      return {
        ours: () => ok(toolkit.call({ name: "read", input: { path: file, offset: 1_000_000, limit: 101 } })),
        cleanUp: () => toolkit.close(),
      };
    },
  },
  {
    name: "truncate",
    what: "100 MB of text to 50 KB, with its line count; peer split",
    target: within(40, "ms"),
    async prepare() {
      const text = "The quick brown fox jumps over the lazy dog, and then it does the same again. 0123\n".repeat(
        1_250_000,
      );
      return {
        ours: () => truncateTail(text).totalLines,
        ceiling: () => Buffer.byteLength(text),
        peer: () => text.split("\n").slice(-2_000).join("\n"),
      };
    },
  },
  {
    name: "truncate-head",
    what: "the same, keeping the beginning",
    target: within(40, "ms"),
    async prepare() {
      const text = "The quick brown fox jumps over the lazy dog, and then it does the same again. 0123\n".repeat(
        1_250_000,
      );
      return { ours: () => truncateHead(text).totalLines, ceiling: () => Buffer.byteLength(text) };
    },
  },
  {
    name: "edit",
    what: "one line of 10 MB, with its diff; ceiling copy and rename",
    target: atMost(1.5),
    async prepare(folder) {
      const file = join(folder, "ten-megabytes.txt");
      const line = (/** @type {number} */ number) =>
        `${String(number).padStart(8, "0")} the same words on every line of this file\n`;
      writeFileSync(file, Array.from({ length: 190_000 }, (_, number) => line(number)).join(""));
      const toolkit = await toolkitIn(folder, [edit()]);
      let turn = 0;
      return {
        ours: () => {
          const [from, to] = turn++ % 2 === 0 ? ["00150000 the", "00150000 The"] : ["00150000 The", "00150000 the"];
          return ok(toolkit.call({ name: "edit", input: { path: file, old_text: from, new_text: to } }));
        },
        ceiling: () => {
          copyFileSync(file, `${file}.copy`);
          renameSync(`${file}.copy`, `${file}.other`);
        },
        cleanUp: () => toolkit.close(),
      };
    },
  },
];

/**
 * @param {string} workDir
 * @param {readonly import("handrail").Tool[]} tools
 */
function toolkitIn(workDir, tools) {
  return createToolkit({
    tools,
    workDir,
    policy: { autonomy: "full" },
    stateDir: join(workDir, "..", "handrail-bench-state"),
  });
}

/** @param {Promise<import("handrail").ToolResult>} call */
async function ok(call) {
  const result = await call;
  if (result.status !== "ok") throw new Error(`the call ended as ${result.status}`);
}

/**
 * 52,000 files in 520 folders, some lines each.
 *
 * @param {string} folder
 */
function sourceTree(folder) {
  const tree = join(folder, "tree");
  if (existsSync(join(tree, "done"))) return tree;
  for (let group = 0; group < 520; group++) {
    const into = join(tree, `module${group % 20}`, `part${group}`);
    mkdirSync(into, { recursive: true });
    for (let file = 0; file < 100; file++) {
      const extension = ["c", "h", "ts", "md"][file % 4];
      const body = Array.from(
        { length: 40 },
        (_, number) => `  int value_${group}_${file}_${number} = compute(${number}); return value;`,
      );
      writeFileSync(join(into, `file${file}.${extension}`), `${body.join("\n")}\n`);
    }
  }
  writeFileSync(join(tree, "module7", "part407", "needle.c"), "int xylophone_needle = 1;\n");
  writeFileSync(join(tree, "done"), "");
  return tree;
}

/**
 * 1 GB of lines of 84 bytes.
 *
 * @param {string} folder
 */
function bigFile(folder) {
  const path = join(folder, "one-gigabyte.txt");
  if (existsSync(path)) return path;
  const block = Buffer.from(
    "The quick brown fox jumps over the lazy dog, and then it does the same again. 0123\n".repeat(13_000),
  );
  const file = openSync(`${path}.part`, "w");
  for (let written = 0; written < 1_000_000_000; written += block.length) writeSync(file, block);
  closeSync(file);
  renameSync(`${path}.part`, path);
  return path;
}

/**
 * Starts a program and kills it when it has written so many lines.
 *
 * @param {string} program
 * @param {readonly string[]} args
 * @param {number} lines
 * @returns {Promise<void>}
 */
function firstLines(program, args, lines) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"] });
    let seen = 0;
    child.stdout.on("data", (/** @type {Buffer} */ chunk) => {
      for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) seen++;
      if (seen >= lines) child.kill();
    });
    child.once("error", reject).once("exit", () => resolve());
  });
}
