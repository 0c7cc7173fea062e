import { execFile } from "node:child_process";
import { closeSync, copyFileSync, existsSync, openSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { edit, read, truncateHead, truncateTail } from "handrail";
import { atMost, ok, toolkitIn, within } from "./shared.mjs";

const run = promisify(execFile);
const WIDE = { maxBuffer: 512 * 1024 * 1024 };

/** @type {readonly import("./shared.mjs").Workload[]} */
export const FILES = [
  {
    name: "read-first",
    what: "lines 1,000,000-1,000,100 of 1 GB, never read before; ceiling head, peer sed",
    rounds: 5,
    target: atMost(1.2),
    async prepare(folder) {
      const file = bigFile(folder);
      return {
        ours: async () => {
          // A new toolkit has not seen the file.
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
