// What a model reads of grep and find on a remote host without ripgrep.
import { expect, test } from "vitest";
import { searchWay } from "../../src/machine/shell/search.ts";
import { asText } from "../../src/core/call/result.ts";
import { find } from "../../src/tools/find.ts";
import { grep } from "../../src/tools/grep.ts";
import { type System, backendThere } from "../machine/search-there.ts";
import { mustBeHere, programProblem } from "../support/here.ts";
import { toolkitWith, workspace } from "../support/workspace.ts";

const noBusybox = programProblem("busybox");
mustBeHere("searches with the programs of busybox", noBusybox);
const systems: readonly System[] = noBusybox === undefined ? ["debian", "busybox"] : ["debian"];

test.each(systems)("on %s without ripgrep, grep and find answer, and say what they do not do", async (system) => {
  const workDir = await workspace({
    "a.txt": "hay\nNeedle (a)\n",
    "b/c d.txt": "needle 2\n",
    "odd:1:name.txt": "needle\n",
    ".gitignore": "ignored.txt\n",
    "ignored.txt": "needle\n",
    ".git/HEAD": "needle\n",
    ".env": "NEEDLE=1\n",
  });
  const backend = await backendThere(workDir, system, "grep and find");
  const toolkit = await toolkitWith({ target: backend, tools: [grep(), find()], policy: { autonomy: "full" } });
  const there = async (name: string, input: unknown) => asText(await toolkit.call({ name, input }));
  expect(await searchWay(backend)).toBe("grep and find");
  const text = await there("grep", { pattern: "needle", context_lines: 3 });
  expect(text).toMatch(
    /^a\.txt:2: Needle \(a\)\n--\nb\/c d\.txt:1: needle 2\n--\nignored\.txt:1: needle\n\n\[1 sensitive file /,
  );
  expect(text).toContain("[There is no ripgrep on the shell");
  expect(await there("grep", { pattern: "E (", case_sensitive: true, literal: true })).toContain("No matches found.");
  expect(await there("grep", { pattern: "e (a", path: "a.txt", literal: true })).toMatch(/^a\.txt:2: Needle \(a\)\n/);
  expect(await there("grep", { pattern: "needle", max_results: 1 })).toContain("\n\n[Stopped at 1 match;");
  expect(await there("grep", { pattern: "a(" })).toMatch(/^Tool error: /);
  expect(await there("find", {})).toBe(
    ".gitignore\na.txt\nb/\nb/c d.txt\nodd:1:name.txt\n\n[1 sensitive file left out; name one in the pattern to see it.]",
  );
});
