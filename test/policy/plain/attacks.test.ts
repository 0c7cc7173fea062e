// Ways to make a plain command, or one next to it, do more than it was judged for. Real programs, without a sandbox.
import { execFileSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { chmod, utimes } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { PolicySettings } from "../../../src/policy/policy-settings.ts";
import { asText } from "../../../src/core/call/result.ts";
import { type Layout, layout } from "../../support/layout.ts";

const SECRET = "the-planted-secret";

async function repository() {
  const world = await layout();
  const git = (...args: readonly string[]) =>
    execFileSync("git", ["-C", world.workDir, "-c", "user.name=A", "-c", "user.email=a@b.c", ...args], {
      encoding: "utf8",
    }).trim();
  git("init", "-q", "-b", "main");
  await world.file("a.txt", "one\n");
  await world.file("src/b.txt", "two\n");
  await world.file(".env", `${SECRET}\n`);
  await world.file("private/x", `${SECRET}\n`);
  git("add", ".");
  git("commit", "-qm", "all");
  await world.file(".env", `${SECRET} changed\n`);
  await world.file("private/x", `${SECRET} changed\n`);
  await world.file("src/b.txt", "two changed\n");
  return { world, git };
}

async function runner(world: Layout, policy: PolicySettings = {}) {
  const { workDir } = world;
  const toolkit = await world.toolkit({
    policy: { forbiddenPaths: [...world.forbiddenPaths, join(workDir, "private")], ...policy },
  });
  return async (command: string) => asText(await toolkit.call({ name: "bash", input: { command } }));
}

describe("next to a command that a rule allows, plain commands run rewritten", () => {
  const allow = { commands: { allow: ["touch:*", "./run.sh:*"] } };

  test("so that a search omits secrets", async () => {
    const { world } = await repository();
    const run = await runner(world, allow);
    await world.file("b.txt", "the-planted\n");
    const text = await run("grep -r the-planted src b.txt; touch x");
    expect(text).toContain("b.txt:the-planted");
    const all = await run("grep -rh the-planted . ; touch x");
    expect(all).not.toContain(SECRET);
  });

  test("so that git starts no hook; patterns are still those of the shell", async () => {
    const { world, git } = await repository();
    await world.file("run.sh", '#!/bin/sh\necho ran "$@"\n');
    await world.file(".git/hooks/post-index-change", `#!/bin/sh\ntouch ${world.workDir}/pwned\n`);
    await chmod(join(world.workDir, "run.sh"), 0o755);
    await chmod(join(world.workDir, ".git/hooks/post-index-change"), 0o755);
    // Its index entry is stale, so any status that may write the index does so, and runs the hook.
    await utimes(join(world.workDir, "a.txt"), 1, 1);
    const run = await runner(world, allow);
    expect(await run("git status -s && ./run.sh *.txt")).toContain("ran a.txt");
    expect(existsSync(join(world.workDir, "pwned"))).toBe(false);
    git("status"); // run by the person
    expect(existsSync(join(world.workDir, "pwned"))).toBe(true);
  });
});

describe("programs are used from folders where no tool writes", () => {
  test("also those that others start, and those of allowed roots", async () => {
    const { world } = await repository();
    const path = process.env["PATH"];
    try {
      const [own, roots] = [join(world.workDir, "bin"), join(world.outside, "bin")];
      for (const file of [join(own, "helper"), join(roots, "tree"), join(own, "tac")]) {
        await world.file(file, `#!/bin/sh\ntouch ${world.workDir}/pwned\n`);
        await chmod(file, 0o755);
      }
      // A system program that starts "helper" by its name.
      const system = join(world.root, "system");
      await world.file(join(system, "nl"), "#!/bin/sh\nhelper; echo numbered\n");
      await chmod(join(system, "nl"), 0o755);
      process.env["PATH"] = `${own}:${roots}:${system}:${path}`;
      const run = await runner(world, { allowedRoots: [world.outside] });
      expect(await run("nl a.txt")).toContain("numbered");
      expect(await run("tree")).toContain("is a program that tools can write");
      expect(await run("tac a.txt")).toContain("is a program that tools can write");
    } finally {
      process.env["PATH"] = path;
    }
    expect(existsSync(join(world.workDir, "pwned"))).toBe(false);
  });
});

describe("git shows no content by another name", () => {
  test.each([
    "git show light",
    "git show annotated",
    "git show HEAD light",
    "git cat-file -p light",
    "git cat-file blob light",
    "git show 'HEAD@{0:0}:.env'",
    "git show 'main@{1 day ago at 10:00}:.env'",
    "git log -p --follow -- notes.txt",
    "git log -p --follow notes.txt",
    "git log --follow --cc notes.txt",
    "git diff HEAD~1 -- '*env'",
    "git diff light annotated",
    "git diff light notes.txt",
    "git blame light notes.txt",
  ])("%s", async (command) => {
    const { world, git } = await repository();
    git("tag", "light", "HEAD:.env");
    git("tag", "-a", "-m", "x", "annotated", "HEAD:private/x");
    const lines = "a line\n".repeat(40);
    await world.file(".env", `${lines}${SECRET}\n`);
    git("commit", "-qam", "longer");
    git("mv", ".env", "notes.txt");
    await world.file("notes.txt", lines);
    git("add", ".");
    git("commit", "-qm", "renamed, without the secret");
    expect(await (await runner(world))(command)).not.toContain(SECRET);
  });

  test("a name that is a path stays one, and a commit a commit", async () => {
    const { world } = await repository();
    const run = await runner(world);
    expect(await run("git show HEAD src/b.txt")).toContain("+two");
    expect(await run("git show HEAD src/b.txt")).not.toContain("+one");
    expect(await run("git show main")).toContain("+one");
    expect(await run("git cat-file -t HEAD")).toContain("commit");
    expect(await run("git cat-file blob HEAD:a.txt")).toContain("one");
  });

  test("and starts no filter of the person's own configuration", async () => {
    const { world, git } = await repository();
    const mark = join(world.outside, "filtered");
    const filter = `[filter "x"]\n\tclean = touch ${mark}; cat\n\trequired = true\n[filter "lfs"]\n\tclean = touch ${mark}\n`;
    await world.file(join(world.home, ".gitconfig"), filter);
    await world.file(".gitattributes", "a.txt filter=x\nsrc/* filter=lfs\n");
    await world.file("a.txt", "one changed\n");
    const { HOME, GIT_CONFIG_GLOBAL } = process.env;
    try {
      process.env["HOME"] = world.home;
      delete process.env["GIT_CONFIG_GLOBAL"];
      const run = await runner(world);
      for (const command of ["git status", "git diff", "git blame a.txt", "git diff --stat", "git log -p -1"])
        expect(await run(command)).not.toContain("approval");
      expect(existsSync(mark)).toBe(false);
      git("diff"); // run by the person
      expect(existsSync(mark)).toBe(true);
    } finally {
      process.env["HOME"] = HOME;
      if (GIT_CONFIG_GLOBAL !== undefined) process.env["GIT_CONFIG_GLOBAL"] = GIT_CONFIG_GLOBAL;
    }
  });
});

describe("git shows what the path rules allow", () => {
  test.each([
    "git diff",
    "git log -p",
    "git log -p -- '[.]env'",
    "git show",
    "git show HEAD",
    "git diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "git diff HEAD src private",
  ])("%s", async (command) => {
    const { world } = await repository();
    const run = await runner(world);
    const text = await run(command);
    expect(text).not.toContain(SECRET);
    if (/^git (diff|show|log -p)$/.test(command)) expect(text).toContain("+two");
  });

  test("a file of a revision is judged as a path, and an object that is named must be a commit", async () => {
    const { world, git } = await repository();
    const run = await runner(world);
    expect(await run("git show HEAD:a.txt")).toContain("one");
    expect(await run("cd src && git show HEAD:./b.txt")).toContain("two");
    const [secret, commit] = [git("rev-parse", "HEAD:.env"), git("rev-parse", "--short", "HEAD")];
    const shows = [
      "show HEAD:private/x",
      "show HEAD:.env",
      `show ${secret}`,
      `show ${secret}^{}`,
      `cat-file -p ${secret}`,
    ].concat([
      `cat-file blob ${secret}`,
      "cat-file -p HEAD:private/x",
      `log -p ${secret}`,
      `diff ${secret} HEAD:a.txt`,
    ]);
    for (const words of shows) expect(await run(`git ${words}`), words).not.toContain(SECRET);
    expect(await run(`git show ${commit}`)).toContain("all");
    expect(await run(`git diff ${commit}`)).toContain("+two changed");
  });

  test.each([
    ["packed-refs", "outside"],
    ["shallow", "outside"],
    ["info/grafts", "outside"],
    ["index", "outside"],
    ["rebase-merge/done", "outside"],
    ["objects/pack", "folder"],
    ["objects/info/alternates", "file"],
  ])("nothing that a link in .git leads to: %s", async (path, kind) => {
    const { world } = await repository();
    const out = await world.file(join(world.outside, "secret"), `${SECRET}\n`);
    const at = `.git/${path}`;
    execFileSync("rm", ["-rf", join(world.workDir, at)]);
    if (kind === "file") await world.file(at, `${world.outside}\n`);
    else await world.link(at, kind === "folder" ? world.outside : (out ?? join(world.outside, "secret")));
    const run = await runner(world);
    for (const command of ["git log", "git status", "git diff"]) {
      const text = await run(command);
      expect(text).toContain("requires approval");
      expect(text).not.toContain(SECRET);
    }
  });

  test("and writes nothing", async () => {
    const { world } = await repository();
    execFileSync("touch", ["-d", "2001-01-01", join(world.workDir, "a.txt")]);
    const index = join(world.workDir, ".git/index");
    const before = statSync(index, { bigint: true }).mtimeNs;
    const run = await runner(world, { autonomy: "readonly" });
    expect(await run("git diff; git status")).toContain("two changed");
    expect(statSync(index, { bigint: true }).mtimeNs).toBe(before);
  });
});
