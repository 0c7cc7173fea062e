// The two regimes with real commands. Outside the sandbox nothing that may create a marker runs without a question. In
// the sandbox it runs, and its effects stay inside.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bubblewrapProblem } from "../../machine/sandbox/contained.ts";
import { representatives } from "../../support/cases.ts";
import { type Layout, layout } from "../../support/layout.ts";
import { toolkitWith } from "../../support/workspace.ts";

const problem = bubblewrapProblem();

interface Attack {
  /** Creates `pwned` in the workspace if the hidden command runs. */
  readonly script: string;
  readonly prepare?: (world: Layout) => Promise<unknown>;
}

const touch = "touch pwned";
const program = (path: string) => async (world: Layout) => {
  await world.file(path, `#!/bin/sh\n${touch}\n`);
  execFileSync("chmod", ["+x", join(world.workDir, path)]);
};

/** Attacks by class. Each has once run without a question, or is of the same class as one that has. */
const ATTACKS: { readonly [kind: string]: readonly Attack[] } = {
  "two readers that disagree": [
    { script: `echo x[$(${touch})]` },
    { script: `x=($(${touch}))a` },
    { script: `echo {a,b<(${touch})}` },
    { script: `cat <<A\n\${x:-$(${touch})}\nA` },
    { script: `z='$(${touch})'; echo \${z@P}` },
    { script: `z='$(${touch})'; echo "\${x:-\${z@P}}"` },
  ],
  "builtins that execute or assign": [
    { script: `jobs -x ${touch}` },
    { script: `wait -p 'a[$(${touch})]'` },
    { script: `test -v 'a[$(${touch})]'` },
    { script: `x='a[$(${touch})]'; test "$x" -eq 1` },
    { script: `declare -a 'x=($(${touch}))'` },
    { script: `printf -v 'a[$(${touch})]' x` },
    { script: `printf '12%n' 'a[$(${touch})]'` },
    { script: `PATH=.; export PATH; ls`, prepare: program("ls") },
    { script: `printf './' > p; ls`, prepare: program("ls") },
    { script: `set -o keyword; ls PATH=.`, prepare: program("ls") },
    { script: `enable -f ./x.so x; ${touch}` },
  ],
  "version requests that run files of the workspace": [
    { script: "make help", prepare: ({ file }) => file("Makefile", `help:\n\t@${touch}\n`) },
    { script: "make -v help", prepare: ({ file }) => file("Makefile", `x:=$(shell ${touch})\nhelp:\n`) },
    { script: "python3 -m pip list", prepare: ({ file }) => file("pip/__main__.py", "open('pwned', 'w')\n") },
    { script: "node help", prepare: ({ file }) => file("help.js", "require('fs').writeFileSync('pwned', '')\n") },
  ],
  "options of git that another reading makes": ["log -iS", "log -mG", "show -ES", "log -FG", "log -gS", "show -S"].map(
    (words) => ({ script: `git ${words} --output=pwned` }),
  ),
  "git reads that execute": [
    {
      script: "git status",
      prepare: async (world) => git(world, ["config", "core.fsmonitor", `${touch} #`]),
    },
    {
      script: "git diff",
      prepare: async (world) => {
        git(world, ["config", "diff.external", `${touch} #`]);
        await world.file("a.txt", "changed\n");
      },
    },
    {
      script: "git log -p",
      prepare: async (world) => {
        await world.file(".gitattributes", "*.txt diff=x\n");
        git(world, ["config", "diff.x.textconv", `${touch}; cat`]);
      },
    },
    {
      script: "git status",
      prepare: async (world) => {
        await world.file(".gitattributes", "* filter=x\n");
        git(world, ["config", "filter.x.clean", `${touch}; cat`]);
        await world.file("a.txt", "other\n");
      },
    },
    {
      script: "git log --show-signature",
      prepare: async (world) => git(world, ["config", "gpg.program", `${world.workDir}/gpg`]),
    },
    {
      script: "cd bare && git status",
      prepare: async (world) => {
        git(world, ["init", "-q", "--bare", "bare"]);
        git(world, ["-C", "bare", "config", "core.bare", "false"]);
        git(world, ["-C", "bare", "config", "core.worktree", ".."]);
        git(world, ["-C", "bare", "config", "core.fsmonitor", `${touch} #`]);
      },
    },
    { script: "env -i git status", prepare: async (world) => git(world, ["config", "core.fsmonitor", `${touch} #`]) },
    { script: "git -c core.fsmonitor='touch pwned #' status" },
    { script: "git diff --output=pwned" },
    { script: "git grep -O./tool one", prepare: program("tool") },
  ],
  "words that become options": [
    { script: `x=--checkpoint-action=exec=${touch.replace(" ", "\\ ")}; tar cf a.tar --checkpoint=1 $x a.txt` },
    { script: ": > ./-delete && find * ; test -e a.txt || touch pwned" },
    { script: "sort * -o pwned" },
    { script: "uniq a.txt pwned" },
    { script: "sed -n -e 'w pwned' a.txt" },
    { script: "find . -fprint pwned" },
    { script: "rg --pre ./tool one", prepare: program("tool") },
  ],
  "programs of the workspace": [
    { script: "./ls", prepare: program("ls") },
    { script: "node_modules/.bin/ls", prepare: program("node_modules/.bin/ls") },
    { script: "ls() { touch pwned; }; ls" },
    { script: "alias ls='touch pwned'\nshopt -s expand_aliases\nls" },
  ],
};

function git({ workDir, home }: Layout, args: readonly string[]): void {
  execFileSync("git", args, { cwd: workDir, stdio: "pipe", env: { PATH: process.env["PATH"], HOME: home } });
}

/** A repository with one commit, which is copied for each site. */
const repository = await layout();
await repository.file("a.txt", "one\n");
git(repository, ["init", "-q", "--template="]);
git(repository, ["add", "a.txt"]);
git(repository, ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "one"]);

const sites = new Map<Attack, Layout>();

/**
 * The folder in which an attack is tried. It can be reused, because nothing of the attack may have run before bash
 * itself runs it.
 */
async function site(attack: Attack): Promise<Layout> {
  const made = sites.get(attack);
  if (made !== undefined) return made;
  const world = await layout();
  await cp(repository.workDir, world.workDir, { recursive: true });
  await attack.prepare?.(world);
  sites.set(attack, world);
  return world;
}

for (const [kind, all] of Object.entries(ATTACKS)) {
  const attacks = representatives(all, 2);
  describe(kind, () => {
    test.each(attacks.map((attack) => [attack.script, attack] as const))(
      "makes nothing unasked outside the sandbox: %s",
      async (script, attack) => {
        const world = await site(attack);
        // The same commands run without a question in read-only autonomy; there the rest is refused.
        const toolkit = await world.toolkit({ policy: { forbiddenPaths: world.forbiddenPaths } });
        const result = await toolkit.call({ name: "bash", input: { command: script } });
        expect(existsSync(join(world.workDir, "pwned")), JSON.stringify(result)).toBe(false);
      },
    );

    test.skipIf(problem !== undefined).each(attacks.map((attack) => [attack.script, attack] as const))(
      "is held by a read-only workspace in the sandbox: %s",
      async (script, attack) => {
        const world = await site(attack);
        const toolkit = await toolkitWith({
          workDir: world.workDir,
          sandbox: "on",
          policy: { autonomy: "readonly", forbiddenPaths: [] },
        });
        const result = await toolkit.call({ name: "bash", input: { command: script, timeout: 20 } });
        expect(existsSync(join(world.workDir, "pwned")), JSON.stringify(result)).toBe(false);
      },
    );
  });
}

test("most of these attacks are real: run by bash itself, they create the marker", async () => {
  const all = Object.values(ATTACKS).flatMap((attacks) => representatives(attacks, 2));
  let real = 0;
  for (const attack of all) {
    const world = await site(attack);
    await mkdir(join(world.workDir, "unused"), { recursive: true });
    try {
      execFileSync("bash", ["--noprofile", "--norc", "-c", attack.script], {
        cwd: world.workDir,
        stdio: "ignore",
        timeout: 10_000,
        env: { PATH: process.env["PATH"], HOME: world.home },
      });
    } catch {
      // its exit status is irrelevant
    }
    if (existsSync(join(world.workDir, "pwned"))) real++;
  }
  expect(real / all.length).toBeGreaterThan(0.6);
}, 60_000);
