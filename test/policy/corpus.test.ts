// Every script of the corpus, judged in the sandbox and outside it.
import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { local } from "../../src/machine/local/backend.ts";
import type { Backend } from "../../src/core/contract/backend.ts";
import type { Toolkit } from "../../src/core/contract/toolkit.ts";
import { type Layout, layout } from "../support/layout.ts";
import { CORPUS, EVERYDAY } from "./corpus.ts";

/** A home that is not in the temporary folder, where the sandbox lets commands remove files. */
const HOME = "/home/dev";
const FILES =
  "src/main.ts src/util.ts src/a.ts src/deep/x dist/a.js README.md a.txt b.txt tool config/.env dashed/-x".split(" ");

/** The listed programs that are there, and not those that the corpus expects to be missing: `tree`, `python3`. */
const INSTALLED =
  "base64 basename bash cat cksum cmake cmp column comm curl cut date df diff dirname du echo false file find fold " +
  "free gcc git grep head hexdump id jq ls make md5sum nl node nproc od paste printf pwd readlink realpath rev sed seq " +
  "sha256sum sleep sort stat strings tac tail tar test tmux tr true uname uniq uptime wc which whoami";

let world: Layout;
let toolkits: { readonly inside: Toolkit; readonly outside: Toolkit };

beforeAll(async () => {
  world = await layout();
  const { workDir, stateDir, forbiddenPaths } = world;
  execFileSync("git", ["init", "--quiet", workDir]);
  for (const path of FILES) await world.file(path);
  await world.file("package.json", '{"version":"1.0.0"}\n');
  await world.link("way-out", world.outside);
  await world.link("out/link", world.outside);
  await world.link("deep-link", "src/deep");
  const programs = await world.folder(join(world.root, "bin"));
  for (const name of INSTALLED.split(" ")) await writeFile(join(programs, name), "#!/bin/sh\n", { mode: 0o755 });
  const outside: Backend = {
    ...(await local({ workDir, home: HOME, outputFolder: join(stateDir, "outputs") })),
    home: HOME,
    programFolders: [programs],
  };
  const sandbox: Backend["sandbox"] = {
    required: false,
    hidden: [`${HOME}/.ssh`, `${HOME}/.npmrc`],
    temporary: [],
    isTemporary: () => false,
    state: async () => ({ works: true, missing: [] }) as const,
  };
  toolkits = {
    inside: await world.toolkit({
      target: { ...outside, name: "sandbox(local)", sandbox },
      policy: { forbiddenPaths },
    }),
    outside: await world.toolkit({ target: outside, policy: { forbiddenPaths } }),
  };
});

describe("the decision on each script", () => {
  test.each(CORPUS.map((row) => [`${row.what}: ${row.inside} in the sandbox, ${row.outside} outside`, row] as const))(
    "%s",
    async (_, { inside, outside, rule, scripts }) => {
      const judged = await Promise.all(
        scripts.map(async (script) => {
          const command = script.replaceAll(/\/srv(?=\/)/g, join(world.root, "srv"));
          const decisions = [
            await toolkits.inside.judge([{ kind: "exec", command }]),
            await toolkits.outside.judge([{ kind: "exec", command }]),
          ];
          return [script, ...decisions.map(({ verdict, rule: by }) => (rule === undefined ? verdict : [verdict, by]))];
        }),
      );
      const expected = [inside, outside].map((verdict) => (rule === undefined ? verdict : [verdict, rule]));
      expect(judged).toEqual(scripts.map((script) => [script, ...expected]));
    },
  );
});

describe("the corpus", () => {
  test("has each script once, and at least 400 everyday ones", () => {
    const scripts = CORPUS.flatMap((row) => row.scripts);
    expect(scripts.length - new Set(scripts).size).toBe(0);
    expect(EVERYDAY.length).toBeGreaterThanOrEqual(400);
  });

  test("says that 98 of 100 everyday scripts run in the sandbox, that none is refused, and that no act is plain", () => {
    const everyday = CORPUS.filter(({ what }) => what.startsWith("everyday"));
    const runs = everyday.filter(({ inside }) => inside === "allow").flatMap(({ scripts }) => scripts);
    expect(runs.length / EVERYDAY.length).toBeGreaterThanOrEqual(0.98);
    expect(everyday.filter(({ inside }) => inside === "deny")).toEqual([]);
    expect(everyday.filter(({ what, outside }) => outside === "allow" && !what.endsWith("only look"))).toEqual([]);
    expect(everyday.filter(({ what, outside }) => outside === "deny" && what.endsWith("only look"))).toEqual([]);
  });
});
