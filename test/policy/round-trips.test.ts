// The cost of a decision when files are distant: everything before `tool.run` takes at most two rounds of look-ups,
// with the same decisions as for local files.
import { execFileSync } from "node:child_process";
import { chmod, link } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { local } from "../../src/machine/local/backend.ts";
import type { Effect } from "../../src/core/contract/effect.ts";
import type { Toolkit } from "../../src/core/contract/toolkit.ts";
import { PRESETS } from "../../src/tools/presets/presets.ts";
import type { PolicySettings } from "../../src/policy/policy-settings.ts";
import { type Layout, layout } from "../support/layout.ts";
import { type FarBackend, farBackend } from "../support/round-trips.ts";
import { toolkitWith } from "../support/workspace.ts";

const MOST_ROUNDS = 2;

interface Place {
  readonly world: Layout;
  readonly near: Toolkit;
  readonly far: Toolkit;
  readonly measured: FarBackend;
}

/** A project with a repository, used by a local toolkit and by a distant one. */
async function place(policy: PolicySettings = {}): Promise<Place> {
  const world = await layout();
  for (const file of [
    "a",
    "b",
    "c",
    "one.log",
    "two.log",
    "old/x",
    "src/deep/x",
    "sub/run.sh",
    "data.csv",
    "script.py",
  ])
    await world.file(file);
  await world.link("link.log", "one.log");
  await world.link("way-out", world.outside);
  await world.link("leads", "src/deep");
  await link(`${world.workDir}/b`, `${world.workDir}/hard`);
  await chmod(`${world.workDir}/sub/run.sh`, 0o755);
  execFileSync("git", ["init", "-q", world.workDir]);
  const options = {
    policy: { forbiddenPaths: world.forbiddenPaths, ...policy },
    stateDir: world.stateDir,
    preset: "every",
    toolsets: { every: [...PRESETS.all().map(({ name }) => name), "shell"] },
    approver: async () => ({ answer: "once" as const }),
  };
  const backend = () => local({ workDir: world.workDir, home: world.home, outputFolder: `${world.stateDir}/outputs` });
  const measured = farBackend(await backend());
  return {
    world,
    measured,
    near: await toolkitWith({ ...options, target: await backend() }),
    far: await toolkitWith({ ...options, target: measured.backend }),
  };
}

/** Returns the rounds of the very first decision, and of the same again. */
async function roundsOf({ far, near, measured }: Place, effects: readonly Effect[]) {
  const expected = await near.judge(effects);
  const all: (readonly (readonly string[])[])[] = [];
  for (let time = 0; time < 2; time++) {
    await measured.reset();
    const decision = await far.judge(effects);
    all.push(measured.rounds());
    expect(decision).toEqual(expected);
  }
  return all;
}

const MANY = Array.from({ length: 20 }, (_, index) => `new/p${index}`).join(" ");

describe("a command is judged after at most two rounds of look-ups, also the first time", () => {
  test.each([
    "npm test",
    "git status",
    "git diff HEAD~1",
    "cd sub && git log && cd ../src && git status",
    "git -C src status",
    "cd leads && git status",
    "cat a b c > out",
    "echo x > hard",
    "cp a src/hooks/use > src/config/made",
    "cp -r src dst && rm -rf old",
    "cd sub && make && ./run.sh x",
    "rm *.log",
    "cat src/../*.log way-out/../srv/ws/a",
    "echo x > leads/../made",
    "rm sub/../*.log",
    "cp a b c old; mv *.log old; head -n 3 data.csv script.py",
    `touch ${MANY}`,
    `cat ${MANY} src/*`,
    "find . -name '*.ts' | xargs grep -n TODO | sort | uniq -c | tee out",
    "python3 script.py data.csv",
    "node_modules/.bin/tool src && /usr/bin/env ls a",
    "cat /etc/passwd way-out/secret.txt",
    "if test -f a; then cat b; else rm c; fi; for f in *.log; do wc -l $f; done",
    'sh -c "cat a && rm -r old" > out 2>&1',
  ])("%s", async (command) => {
    for (const rounds of await roundsOf(await place(), [{ kind: "exec", command }])) {
      expect(rounds.length, JSON.stringify(rounds, null, 1)).toBeLessThanOrEqual(MOST_ROUNDS);
    }
  });

  test("whatever the autonomy, people's rules and allowed roots", async () => {
    const policies = [
      { autonomy: "full" },
      { autonomy: "readonly" },
      { commands: { deny: ["Read(src/**)", "Edit(old/**)"], ask: ["git *"], allow: ["Read(**)", "cat *"] } },
      { workspaceOnly: false, allowedRoots: ["~", "/srv"] },
    ] as const;
    for (const policy of policies) {
      const here = await place(policy);
      const command = "git status && cat src/deep/x *.log ~/x* ../beside > old/out";
      for (const rounds of await roundsOf(here, [{ kind: "exec", command }])) {
        expect(rounds.length, JSON.stringify([policy, rounds], null, 1)).toBeLessThanOrEqual(MOST_ROUNDS);
      }
    }
  });

  test("also if a forbidden folder cannot be followed, such as another user's home", async () => {
    const forbiddenPaths = ["~/in-a-circle"];
    const here = await place({ forbiddenPaths });
    await here.world.link(`${here.world.home}/in-a-circle`, "in-a-circle");
    const command = "git status; cd src && ls *; cat ../*.log > ../old/out";
    for (const rounds of await roundsOf(here, [{ kind: "exec", command }])) {
      expect(rounds.length, JSON.stringify(rounds, null, 1)).toBeLessThanOrEqual(MOST_ROUNDS);
      const asked = rounds.flat().filter((look) => look.endsWith("/in-a-circle"));
      expect(asked).toHaveLength(1);
    }
    expect(await here.far.judge([{ kind: "read", path: "~/in-a-circle/x" }])).toMatchObject({ verdict: "deny" });
  });

  test("a plain command is judged after one round, or two for the content of a file or a folder", async () => {
    const here = await place();
    for (const command of [
      "cat a b c | grep x",
      "git log --oneline -3",
      "wc -l *.log old/*",
      "cd src && cat ../a && ls deep",
    ]) {
      for (const rounds of await roundsOf(here, [{ kind: "exec", command }])) {
        expect(rounds.length, JSON.stringify([command, rounds], null, 1)).toBeLessThanOrEqual(
          /\*|^git/.test(command) ? 2 : 1,
        );
      }
    }
  });

  test("a new repository, and a changed configuration, are seen by the next decision", async () => {
    const here = await place();
    const git = (...args: readonly string[]) => execFileSync("git", ["-C", here.world.workDir, ...args]);
    const judged = async () => {
      await here.measured.reset();
      const decision = await here.far.judge([{ kind: "exec", command: "git diff" }]);
      expect(here.measured.rounds().length).toBeLessThanOrEqual(MOST_ROUNDS);
      return decision.verdict;
    };
    execFileSync("mv", [`${here.world.workDir}/.git`, `${here.world.root}/kept`]);
    expect(await judged()).toBe("ask");
    execFileSync("mv", [`${here.world.root}/kept`, `${here.world.workDir}/.git`]);
    expect(await judged()).toBe("allow");
    git("config", "diff.external", "./anything");
    expect(await judged()).toBe("ask");
    git("config", "--unset", "diff.external");
    expect(await judged()).toBe("allow");
  });
});

describe("a call reaches its tool after at most two rounds of look-ups", () => {
  test.each<[string, { readonly [name: string]: unknown }]>([
    ["read", { path: "a" }],
    ["read", { path: "way-out/../srv/ws/../ws/leads/x" }],
    ["write", { path: "new/made", content: "x" }],
    ["write", { path: "new/hooks/config/made", content: "x" }],
    ["edit", { path: "c", old_text: "content", new_text: "words" }],
    ["grep", { pattern: "content", path: "src" }],
    ["ls", {}],
    ["find", { path: "src", pattern: "*" }],
    ["bash", { command: "cat a b > made" }],
    ["shell", { command: "git status" }],
  ])("%s %j", async (name, input) => {
    const { far, measured } = await place();
    for (let time = 0; time < 2; time++) {
      await measured.reset();
      let before: readonly (readonly string[])[] | undefined;
      const result = await far.call(
        { name, input },
        {
          onEvent: ({ type }) => {
            if (type === "call.approved") before ??= measured.rounds();
          },
        },
      );
      expect(before, JSON.stringify(result)).toBeDefined();
      // A path that may be in a repository's folder is looked at after the folders that are forbidden, which are kept.
      const more = time === 0 && JSON.stringify(input).includes("hooks") ? 1 : 0;
      expect(before?.length, JSON.stringify(before, null, 1)).toBeLessThanOrEqual(MOST_ROUNDS + more);
    }
  });
});

test("local folders are refused on a remote target without being looked up there", async () => {
  const { world, measured } = await place();
  const elsewhere = { ...measured.backend, access: { program: ["ssh", "host"], options: ["--ssh", "host"] } };
  const toolkit = await toolkitWith({ target: elsewhere, stateDir: world.stateDir });
  await measured.reset();
  const path = `${world.stateDir}/grants/x`;
  expect(await toolkit.judge([{ kind: "write", path }])).toMatchObject({ verdict: "deny", rule: "state" });
  expect(measured.rounds().flat()).not.toContain(`realPath ${world.stateDir}`);
});

test("a write looks for the parts of a repository only if its path has such a name", async () => {
  const { far, measured } = await place();
  const looks = async (path: string) => {
    await measured.reset();
    await far.judge([{ kind: "write", path }]);
    return measured.rounds().flat();
  };
  await looks("a"); // the roots
  expect(await looks("src/new/made.ts")).toHaveLength(2);
  expect(await looks("src/hooks/made.ts")).toHaveLength(6);
});

test("sequential requests take a round each, and concurrent ones one together", async () => {
  const { world, measured } = await place();
  const { files } = measured.backend;
  await Promise.all([files.realPath("a"), files.stat("b"), files.list(".")]);
  expect(measured.rounds()).toEqual([["realPath a", "stat b", "list ."]]);
  await files.realPath("a");
  const file = await files.open("a");
  expect(Buffer.from(await file.read(0, 100)).toString()).toBe("content\n");
  await file.close();
  await expect(files.list(`${world.workDir}/missing`)).rejects.toThrow("missing");
  expect(measured.rounds().map(([what]) => what)).toEqual([
    "realPath a",
    "realPath a",
    "open a",
    "read a",
    "close a",
    `list ${world.workDir}/missing`,
  ]);
});
