// A job swaps folders of the workspace for links to the outside, again and again, while file tools look: grep, find and
// ls must never show what lies outside.
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { asText } from "../../../src/core/call/result.ts";
import { cases } from "../../support/cases.ts";
import { mustBeHere } from "../../support/here.ts";
import { until } from "../../support/until.ts";
import { temporaryFolder, toolkitWith, workspace } from "../../support/workspace.ts";
import { noSandbox, world } from "./world.ts";

mustBeHere("the sandbox", noSandbox);

const ROUNDS = cases(30);
/** Everything outside has this in its name and in its lines; nothing inside has. */
const OUTSIDE = "swordfish";

/** Each folder is there half of the time, so that many are swapped between being listed and being opened. */
const SWAPS = `
import os, sys
names = ["a"] + ["b/%d" % number for number in range(40)]
while True:
    for name in names:
        os.rename(name, "kept" + name.replace("/", "-")); os.symlink(sys.argv[1], name)
    for name in names:
        os.unlink(name); os.rename("kept" + name.replace("/", "-"), name)
    open("runs", "w").close()
`;

test.skipIf(noSandbox !== undefined).each([["ripgrep"], ["a folder that packages link to"]])(
  "grep, find and ls show nothing outside while a job swaps folders: %s",
  async (kind) => {
    const one = await world();
    const { workDir } = one;
    const outside = join(one.root, kind === "ripgrep" ? "outside" : "home/node_modules");
    mkdirSync(join(outside, "deep"), { recursive: true });
    for (const name of [`${OUTSIDE}.txt`, `deep/${OUTSIDE}.txt`])
      writeFileSync(join(outside, name), `the ${OUTSIDE}\n`);
    for (const folder of ["a", "keep", ...Array.from({ length: 40 }, (_, at) => `b/${at}/deep`)]) {
      mkdirSync(join(workDir, folder), { recursive: true });
      writeFileSync(join(workDir, folder, "1.txt"), "the inside\n");
    }
    symlinkSync(outside, join(workDir, "link"));
    writeFileSync(join(workDir, "swap.py"), SWAPS);
    const toolkit = await toolkitWith({ preset: "all", target: one.backend, stateDir: temporaryFolder() });
    const job = await one.backend.spawn({ argv: ["python3", "swap.py", outside] });
    await until("the job swaps", () => existsSync(join(workDir, "runs")));

    const calls = [
      { name: "grep", input: { pattern: "the (sword|in)" } },
      { name: "grep", input: { pattern: "the (sword|in)", path: "b" } },
      { name: "find", input: { pattern: "*.txt" } },
      { name: "find", input: { pattern: "*", path: "a" } },
      { name: "ls", input: { path: "a" } },
      { name: "ls", input: { path: "b" } },
    ];
    const shown: string[] = [];
    let looked = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const call = calls[round % calls.length];
      if (call === undefined) break;
      const text = asText(await toolkit.call(call));
      if (/\d\.txt/.test(text)) looked++;
      if (text.includes(OUTSIDE)) shown.push(`${call.name} ${JSON.stringify(call.input)}: ${text.slice(0, 200)}`);
    }
    await job.kill();
    await toolkit.close();
    await one.backend.close();
    expect(looked).toBeGreaterThan(ROUNDS / 10);
    expect(shown.length, `${shown.length} of ${ROUNDS}: ${shown[0] ?? ""}`).toBe(0);
  },
  cases(60_000),
);

test.skipIf(noSandbox !== undefined)("a search works where Handrail's own state is in the workspace", async () => {
  const workDir = await workspace({ "notes.txt": "one\n", "state/handrail/token.txt": "one\n" });
  const toolkit = await toolkitWith({ preset: "workspace", workDir, stateDir: join(workDir, "state/handrail") });
  const read = async (name: string, input: object) => asText(await toolkit.call({ name, input }));
  expect(await read("find", { pattern: "*.txt" })).toMatch(/^notes\.txt\n/);
  expect(await read("grep", { pattern: "one" })).toMatch(/^notes\.txt:1: one/);
});
