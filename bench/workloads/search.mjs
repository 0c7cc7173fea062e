import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { rgPath } from "@vscode/ripgrep";
import { find, grep } from "handrail";
import { atMost, ok, toolkitIn } from "./shared.mjs";

const run = promisify(execFile);
const WIDE = { maxBuffer: 512 * 1024 * 1024 };

/** @type {readonly import("./shared.mjs").Workload[]} */
export const SEARCH = [
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
];

/**
 * Creates 52,000 files in 520 folders, with some lines each.
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
 * Starts a program and kills it once it has written this many lines.
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
