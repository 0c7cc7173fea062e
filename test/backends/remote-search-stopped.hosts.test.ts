// A search on another system that has found enough is ended there at once, and is not begun twice without need.
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import type { Backend, Process } from "../../src/contract/backend.ts";
import { asText } from "../../src/engine/result.ts";
import { RIPGREP_ARGUMENTS } from "../../src/tools/shared/ripgrep.ts";
import { grep } from "../../src/tools/grep.ts";
import { until } from "../support/until.ts";
import { temporaryFolder, toolkitWith, workspace } from "../support/workspace.ts";
import { backendThere } from "./search-there.ts";
import { running } from "./there.ts";

/** A search that waits for what is never written to its stdin, and what its command line is known by. */
async function waiting(): Promise<{ readonly name: string; readonly start: () => Promise<Process> }> {
  const backend = await backendThere(temporaryFolder(), "debian", "ripgrep put there");
  const name = `needle-${randomBytes(8).toString("hex")}`;
  return { name, start: () => backend.helper("rg", [...RIPGREP_ARGUMENTS, `--regexp=${name}`], { paths: [] }) };
}

test("one that is killed ends with the signal, it and nothing else there", async () => {
  const { name, start } = await waiting();
  const [search, other] = [await start(), await start()];
  await until("both are searching", () => running(name).length >= 2);
  await search.kill();
  expect(await search.exit).toEqual({ how: "signaled", signal: "SIGTERM" });
  expect(running(name)).toEqual([Number(other.id)]);
  await search.kill(); // once more does nothing
  await other.kill();
  expect(running(name)).toEqual([]);
});

test("one that does not hear the signal is ended all the same", async () => {
  const { name, start } = await waiting();
  const search = await start();
  process.kill(Number(search.id), "SIGSTOP");
  await search.kill();
  expect((await search.exit).how).not.toBe("exited");
  expect(running(name)).toEqual([]);
});

test("one that has ended by itself keeps its own end when it is killed", async () => {
  const folder = await workspace({ "a.txt": "needle\n" });
  const backend = await backendThere(folder, "debian", "ripgrep put there");
  const search = await backend.helper("rg", [...RIPGREP_ARGUMENTS, "--files"], { paths: [folder] });
  expect(await search.exit).toEqual({ how: "exited", code: 0 });
  await search.kill();
  expect(await search.exit).toEqual({ how: "exited", code: 0 });
});

test("what stands in a few files is searched for once, in any order; of too much the first in order are found", async () => {
  const files: { [path: string]: string } = {};
  for (let number = 0; number < 300; number++) files[`${number}.txt`] = "common\n";
  const folder = await workspace({ ...files, "deep/1.txt": "needle\n", "deep/2.txt": "needle\n" });
  const inner = await backendThere(folder, "debian", "ripgrep put there");
  const searches: boolean[] = [];
  const backend: Backend = {
    name: inner.name,
    workDir: inner.workDir,
    home: inner.home,
    files: inner.files,
    spawn: (command) => inner.spawn(command),
    helper(program, args, options) {
      searches.push(args.includes("--sort=path"));
      return inner.helper(program, args, options);
    },
    close: () => inner.close(),
  };
  const toolkit = await toolkitWith({ tools: [grep({ patience: 1 })], target: backend });
  const found = async (pattern: string) =>
    asText(await toolkit.call({ name: "grep", input: { pattern, max_results: 3 } }));
  expect(await found("needle")).toBe("deep/1.txt:1: needle\ndeep/2.txt:1: needle");
  expect(searches).toEqual([false]);
  expect(await found("common")).toContain(
    "0.txt:1: common\n1.txt:1: common\n10.txt:1: common\n\n[Stopped at 3 matches",
  );
  expect(searches.slice(1)).toEqual([false, true]);
});
