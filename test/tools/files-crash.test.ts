import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { edited, rewritten } from "../fixtures/files/versions.mjs";
import { cases } from "../support/cases.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { toolsOn } from "./tools.ts";

const PROGRAM = join(import.meta.dirname, "../fixtures/files/loop.mjs");
/** The second is used if none of the first kills hit the moments of `isEnough`. */
const [ROUNDS, MOST_ROUNDS] = [cases(1), cases(40)];

/** Whether the two most important moments were hit, between the files and in a write: one in a few rounds, both in many. */
const isEnough = (between: number, inWrite: number): boolean =>
  ROUNDS > 1 ? between > 0 && inWrite > 0 : between + inWrite > 0;

// Around the edited line: a text that takes time to write, in an encoding in which each byte counts.
const [HEAD, TAIL] = ["Überschrift: Käse\n".repeat(6_000), "Ende für heute\n".repeat(6_000)];

test(
  "kill -9 at any moment of writes and edits leaves every file whole, old or new",
  async () => {
    const { folder, text } = await toolsOn({ "rewritten.txt": rewritten(0), "edited.txt": fileWith(0) });
    const stateDir = temporaryFolder();
    let version = 0;
    let between = 0;
    let left: readonly string[] = [];
    for (let round = 0; round < ROUNDS || (round < MOST_ROUNDS && !isEnough(between, left.length)); round++) {
      const done = await killedAfter(Math.floor(Math.random() * 6), folder, stateDir, version + 1);
      version = Math.max(version, done);
      const [first, second] = await Promise.all([
        readFile(join(folder, "rewritten.txt"), "utf8"),
        readFile(join(folder, "edited.txt")),
      ]);
      // Of the version in which it was killed, the first file may exist without the second.
      const steps = [version, version + 1].filter((each) => first === rewritten(each));
      expect(steps, `rewritten.txt is version ${version} or the next`).toHaveLength(1);
      const edits = [version, version + 1].filter((each) => second.equals(fileWith(each)));
      expect(edits, `edited.txt is version ${version} or the next`).toHaveLength(1);
      if (steps[0] !== edits[0]) between++;
      left = (await readdir(folder)).filter((name) => name !== "rewritten.txt" && name !== "edited.txt");
      version = edits[0] ?? 0;
      await writeFile(join(folder, "rewritten.txt"), rewritten(version));
    }
    expect(isEnough(between, left.length), `${between} stops between the files, ${left.length} in a write`).toBe(true);
    for (const name of left) expect(name).toMatch(/^\.handrail-\w+\.tmp$/);
    expect(await text("ls", {})).toMatch(/^\S+ \S+ +\S+ {2}edited\.txt\n\S+ \S+ +\S+ {2}rewritten\.txt$/);
    expect(await text("write", { path: "rewritten.txt", content: "over\n" })).toBe("Replaced rewritten.txt (5B)");
  },
  cases(120_000),
);

/** Runs the program, and kills it after this many versions. Returns the last completed one; 0 if none. */
async function killedAfter(versions: number, folder: string, stateDir: string, next: number): Promise<number> {
  const program = spawn(process.execPath, [PROGRAM, folder, stateDir, String(next)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const closed = once(program, "close");
  let words = "";
  program.stderr.setEncoding("utf8").on("data", (chunk: string) => (words += chunk));
  let last = 0;
  for await (const line of createInterface({ input: program.stdout })) {
    if (line !== "ready") last = Number(line);
    if (line === "ready" ? versions > 0 : last - next + 1 !== versions) continue;
    afterChanges(Math.floor(Math.random() * 12), folder);
    program.kill("SIGKILL");
  }
  const [, signal] = (await closed) as [number | null, string | null];
  expect({ signal, words }).toEqual({ signal: "SIGKILL", words: "" });
  return last;
}

/**
 * Watches the folder, and returns as soon as it has changed this many times: a file was created, grew, was removed or
 * renamed. A kill after that hits a write far more often than one after a fixed time.
 */
function afterChanges(count: number, folder: string): void {
  const deadline = Date.now() + 10_000;
  let before = stateOf(folder);
  for (let seen = 0; seen < count;) {
    const now = stateOf(folder);
    if (now !== before) seen++;
    before = now;
    if (Date.now() > deadline) throw new Error(`waited 10 s in vain for a change in ${folder}`);
  }
}

function stateOf(folder: string): string {
  const states = readdirSync(folder).map((name) => {
    const info = statSync(join(folder, name), { bigint: true, throwIfNoEntry: false });
    return `${name} ${info?.ino} ${info?.size} ${info?.mtimeNs}`;
  });
  return states.join("\n");
}

function fileWith(version: number): Buffer {
  return Buffer.from(HEAD + edited(version) + TAIL, "latin1");
}
