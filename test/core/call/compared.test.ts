import { appendFile, mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import type { Effect } from "../../../src/core/contract/effect.ts";
import { defineTool } from "../../../src/core/contract/tool.ts";
import { isGranted } from "../../../src/core/call/confine-schedules.ts";
import { namedFilesIn } from "../../../src/policy/commands/named-files.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";

const FILES = {
  "x.sh": "echo one\n",
  "sub/x.sh": "echo one\n",
  "sub/deep/x.sh": "echo one\n",
  "x.py": "print(1)\n",
  "pkg/__init__.py": "",
  "pkg/__main__.py": "print(1)\n",
  "pkg/part.py": "print(1)\n",
  "x.mjs": "console.log(1)\n",
  "lib/index.js": "console.log(1)\n",
  "wrap.sh": ". ./inner.sh\n",
  "inner.sh": "echo one\n",
  "data.txt": "a\nb\n",
  Makefile: "all:\n\t./x.sh\n",
  "package.json": '{ "scripts": { "x": "node x.mjs", "y": "./x.sh" } }',
  "sub/package.json": '{ "scripts": { "x": "./x.sh" } }',
  "node_modules/.bin/tool": "#!/bin/sh\n",
  "odd name.sh": "echo one\n",
  "README.md": "# Read\n",
  "sub/more.mk": "include sub/included.mk\n",
  "sub/included.mk": "all:\n\techo\n",
};

/** Commands, and the file that each runs or loads. */
const SPELLINGS: readonly (readonly [command: string, file: string])[] = [
  ["sh x.sh", "x.sh"],
  ["./x.sh", "x.sh"],
  ["cd sub && ./x.sh", "sub/x.sh"],
  ["cd sub; cd deep; sh x.sh", "sub/deep/x.sh"],
  ["(cd sub && ./x.sh)", "sub/x.sh"],
  ["pushd sub && ./x.sh", "sub/x.sh"],
  ["./x.s?", "x.sh"],
  ["sh sub/*.sh", "sub/x.sh"],
  ["sh [x].sh", "x.sh"],
  ["sh {x,inner}.sh", "x.sh"],
  ["$PWD/x.sh", "x.sh"],
  ['"${PWD}/x.sh"', "x.sh"],
  ["$(pwd)/x.sh", "x.sh"],
  ["x=./x.sh; $x", "x.sh"],
  ["for f in x inner; do sh $f.sh; done", "x.sh"],
  ["make -fx.sh", "x.sh"],
  ["make -f x.sh", "x.sh"],
  ["make --file=x.sh", "x.sh"],
  ["make", "Makefile"],
  ["make all", "x.sh"],
  ["make -C sub", "sub/Makefile"],
  ["env -C sub ./x.sh", "sub/x.sh"],
  ["env --chdir=sub sh x.sh", "sub/x.sh"],
  ["env A=b ./x.sh", "x.sh"],
  [". x.sh", "x.sh"],
  ["source ./x.sh", "x.sh"],
  ["bash < x.sh", "x.sh"],
  ["bash <x.sh", "x.sh"],
  ["cat x.sh | sh", "x.sh"],
  ["cat x.s* | sh", "x.sh"],
  ["bash -c './x.sh'", "x.sh"],
  ["bash -c 'cd sub; ./x.sh'", "sub/x.sh"],
  ["bash -lc ./x.sh", "x.sh"],
  ["bash <<END\n./x.sh\nEND", "x.sh"],
  ["eval ./x.sh", "x.sh"],
  ["exec ./x.sh", "x.sh"],
  ["nohup ./x.sh &", "x.sh"],
  ["timeout 5 ./x.sh", "x.sh"],
  ["xargs -a data.txt ./x.sh", "x.sh"],
  ["find . -name data.txt -exec ./x.sh {} \\;", "x.sh"],
  ["f() { ./x.sh; }; f", "x.sh"],
  ["BASH_ENV=./x.sh bash -c true", "x.sh"],
  ["PATH=$PWD/sub:$PATH x.sh", "sub/x.sh"],
  ["'./odd name.sh'", "odd name.sh"],
  ["sh odd\\ name.sh", "odd name.sh"],
  ["sh wrap.sh", "inner.sh"],
  ["python3 x.py", "x.py"],
  ["python3 -m pkg", "pkg/__main__.py"],
  ["python3 -m pkg.part", "pkg/part.py"],
  ["python3 -m x", "x.py"],
  ["cd pkg && python3 -m part", "pkg/part.py"],
  ["PYTHONPATH=pkg python3 -m part", "pkg/part.py"],
  ["python3 -c 'import x'", "x.py"],
  ["python3 -c 'from pkg import part'", "pkg/part.py"],
  ["sh ~+/x.sh", "x.sh"],
  ["make -f sub/more.mk", "sub/included.mk"],
  ["node .", "package.json"],
  ["python3 pkg", "pkg/__main__.py"],
  ["node x", "x.mjs"],
  ["node ./lib", "lib/index.js"],
  ["node --import ./x.mjs -e 1", "x.mjs"],
  ["node --require=./lib -e 1", "lib/index.js"],
  ["npm run x", "package.json"],
  ["npm run x", "x.mjs"],
  ["npm run y", "x.sh"],
  ["npm --prefix sub run x", "sub/package.json"],
  ["npm --prefix sub run x", "sub/x.sh"],
  ["npx tool", "node_modules/.bin/tool"],
];

/** What is refused otherwise is asked about too: a shell that reads from a pipe. */
const POLICY = { shellConfirm: true, blockHighRiskCommands: false };

const exec = (command: string, real: string): Effect => ({ kind: "exec", command, real });

/** Two approved calls of a tool that would run a command. Nothing is run. */
async function parkedWith(command: string, workDir: string) {
  let runs = 0;
  const start = defineTool({
    ...{ name: "start", description: "Starts.", touches: ["exec"], input: Type.Object({}) },
    effects: () => [exec(command, workDir)],
    run: async () => {
      runs += 1;
      return "started";
    },
  });
  const toolkit = await toolkitWith({ workDir, tools: [start], policy: POLICY, park: "now" });
  for (const id of ["a", "b"]) {
    expect(await toolkit.call({ id, name: "start", input: {} })).toMatchObject({ status: "parked" });
    const [question] = await toolkit.store.questions();
    await toolkit.store.answer(question?.question ?? "", { answer: "once" }, "test");
  }
  return { toolkit, runs: () => runs };
}

describe("an approval of a parked command", () => {
  test.each(SPELLINGS)("%s: counts until %s has changed", async (command, file) => {
    const workDir = await workspace(FILES);
    const { toolkit, runs } = await parkedWith(command, workDir);
    expect(await toolkit.resume("a")).toMatchObject({ status: "ok" });
    await appendFile(join(workDir, file), "\n# changed\n");
    expect(await toolkit.resume("b")).toMatchObject({ status: "parked", changed: expect.any(Array) as string[] });
    expect(runs()).toBe(1);
    await toolkit.close();
  });

  test.each([
    "npm ci && npm test",
    "git add -A && git commit -m 'Add x' && git push",
    'echo "$HOME" > out.txt',
    "rm -rf build/*",
    "tar czf backup-$(date +%F).tgz src",
    "find . -name '*.tmp' -exec rm {} +",
    "docker compose up -d",
    'curl -s https://example.org/?q=1 | grep -c "x"',
    'for f in *.md; do wc -l "$f"; done',
    "sed -i 's/a/b/' data.txt",
  ])("%s: an everyday command is not asked about again when only other files have changed", async (command) => {
    const workDir = await workspace({ ...FILES, "src/a.ts": "1" });
    const { toolkit, runs } = await parkedWith(command, workDir);
    if (!command.includes("*.md")) await writeFile(join(workDir, "NOTES.md"), "new\n");
    expect(await toolkit.resume("a")).toMatchObject({ status: "ok" });
    expect(runs()).toBe(1);
  });

  test("is asked about again when a file appears, is removed, or becomes a link to another one", async () => {
    for (const change of [
      (at: string) => writeFile(`${at}/tool.py`, "print(2)"),
      (at: string) => rm(`${at}/x.py`),
      async (at: string) => {
        await rename(`${at}/x.py`, `${at}/y.py`);
        await symlink("y.py", `${at}/x.py`);
      },
    ]) {
      const workDir = await workspace(FILES);
      const { toolkit } = await parkedWith("python3 x.py; python3 -m tool", workDir);
      await change(workDir);
      expect(await toolkit.resume("a")).toMatchObject({ status: "parked" });
    }
  });

  test("whose program the environment names is asked about again, once", async () => {
    const { toolkit, runs } = await parkedWith("sh $SOME_SCRIPT", await workspace(FILES));
    const changed = ["what $SOME_SCRIPT is when it runs"];
    expect(await toolkit.resume("a")).toMatchObject({ status: "parked", changed });
    const [again] = await toolkit.store.questions();
    await toolkit.store.answer(again?.question ?? "", { answer: "once" }, "test");
    expect(await toolkit.resume("a")).toMatchObject({ status: "ok" });
    expect(runs()).toBe(1);
  });

  test("is asked about again when the workspace of an unknown word has too many files to compare", async () => {
    const workDir = await workspace(FILES);
    await mkdir(join(workDir, "many"));
    await Promise.all(Array.from({ length: 2_100 }, (_, at) => writeFile(join(workDir, `many/${at}`), "")));
    const { toolkit } = await parkedWith("for f in x y; do sh $f.sh; done", workDir);
    expect(await toolkit.resume("a")).toMatchObject({ status: "parked" });
  });
});

describe("a schedule that a person approved", () => {
  const added = async (command: string) => {
    const workDir = await workspace(FILES);
    const toolkit = await toolkitWith({
      ...{ workDir, preset: "all", policy: POLICY, approver: async () => ({ answer: "once" }) },
    });
    const input = { name: "job", schedule: { kind: "cron", expr: "0 3 * * *" }, command };
    expect(await toolkit.call({ name: "cron_add", input })).toMatchObject({ status: "ok" });
    const [schedule] = await toolkit.schedules.list();
    return { toolkit, workDir, isApproved: () => isGranted(schedule!, toolkit.backend, namedFilesIn) };
  };

  test.each(SPELLINGS.filter((_, at) => at % 5 === 0))(
    "%s: is asked about when %s has changed, and not before",
    async (command, file) => {
      const { workDir, isApproved, toolkit } = await added(command);
      expect(await isApproved()).toBe(true);
      await appendFile(join(workDir, file), "\n# changed\n");
      expect(await isApproved()).toBe(false);
      await toolkit.close();
    },
  );

  test("stays approved when what it only writes has changed", async () => {
    const { workDir, isApproved } = await added("./x.sh > out.txt; cp data.txt copy.txt; date >> log.txt");
    for (const name of ["out.txt", "copy.txt", "log.txt"]) await writeFile(join(workDir, name), "written");
    expect(await isApproved()).toBe(true);
    expect(await readFile(join(workDir, "x.sh"), "utf8")).toBe(FILES["x.sh"]);
  });

  test("is never approved beforehand when its program comes from the environment", async () => {
    expect(await (await added("sh $SOME_SCRIPT")).isApproved()).toBe(false);
  });
});
