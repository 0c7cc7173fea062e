// Which parts of a plain script run, what it is asked about for, and how often files are looked up for that.
import { execFileSync } from "node:child_process";
import { chmod, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { local } from "../../../src/machine/local/backend.ts";
import type { Backend } from "../../../src/core/contract/backend.ts";
import { plainGit } from "../../../src/machine/git/plain.ts";
import { createLookUps } from "../../../src/policy/look-ups.ts";
import { pathJudge } from "../../../src/policy/paths.ts";
import { createPlainJudge } from "../../../src/policy/plain/judge.ts";
import { readPlainScript } from "../../../src/policy/plain/script.ts";
import type { PolicySettings } from "../../../src/policy/policy-settings.ts";
import { type Layout, layout } from "../../support/layout.ts";
import { farBackend } from "../../support/round-trips.ts";

const NAMES = ["bash", "sh", "cat", "ls", "grep", "rg", "find", "du", "diff", "echo", "git", "npm", "wc", "node"];

interface Place {
  readonly world: Layout;
  readonly bin: string;
  /** Returns the verdict on a script; `why` if it is not plain or was not read. */
  judge(text: string, given?: Given): Promise<unknown>;
  rounds(): number;
}

interface Given {
  readonly cwd?: string;
  readonly allows?: (words: readonly string[]) => boolean;
}

/** A workspace, and programs next to it. */
async function place(
  settings: PolicySettings = {},
  more: Partial<Backend> = {},
  folders?: readonly string[],
): Promise<Place> {
  const world = await layout();
  const bin = join(world.root, "bin");
  for (const name of NAMES) await program(join(bin, name));
  const { workDir, home, stateDir } = world;
  const measured = farBackend(await local({ workDir, home, outputFolder: `${stateDir}/outputs` }));
  const programFolders = folders?.map((each) => join(world.root, each)) ?? [bin];
  const backend: Backend = { ...measured.backend, programFolders, ...more };
  const judgePlain = createPlainJudge({ backend });
  const judgePaths = pathJudge({ forbiddenPaths: world.forbiddenPaths, ...settings }, backend);
  await judgePaths(createLookUps(backend.files))("read", ".", undefined); // finds the roots, once for all
  return {
    world,
    bin,
    rounds: () => measured.rounds().length,
    async judge(text, { cwd = workDir, ...given } = {}) {
      const script = readPlainScript(text);
      if (typeof script === "string") return script;
      const look = createLookUps(backend.files, new Set([cwd]));
      await measured.reset();
      const verdict = await judgePlain(script, { cwd, judgePath: judgePaths(look), look, ...given });
      // Returns the reason against the first command that is not plain.
      return verdict.plain ? verdict : { plain: false, ...verdict.problems.find((each) => each !== undefined) };
    },
  };
}

async function program(path: string, mode = 0o755) {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, "#!/bin/sh\n");
  await chmod(path, mode);
}

const ran = (script: string) => ({ plain: true, run: { argv: expect.arrayContaining([script]) } });
const not = (why: string) => ({ plain: false, why: expect.stringContaining(why) });

describe("a plain command is rewritten", () => {
  test("programs by their paths, all other words quoted, for a shell that reads no start-up files", async () => {
    const { world, bin, judge } = await place();
    expect(await judge(`cat -n "it's" 2> /dev/null | grep '$x' >&2\n  echo "" || ls;`)).toEqual({
      plain: true,
      looks: true,
      run: {
        argv: [
          ...[`${bin}/bash`, "--noprofile", "--norc", "-p", "-c"],
          `'${bin}/cat' '-n' 'it'\\''s' 2>/dev/null | '${bin}/grep' '$x' >&2 ; '${bin}/echo' '' || '${bin}/ls'`,
        ],
        env: { PATH: bin },
        cwd: world.workDir,
      },
    });
  });

  test("for sh if there is no bash", async () => {
    const { bin, judge } = await place({}, { shell: "sh" });
    expect(await judge("ls")).toMatchObject({ run: { argv: [`${bin}/sh`, "-c", `'${bin}/ls'`] } });
  });

  test("in the folder that cd leads to, also through a link", async () => {
    const { world, bin, judge } = await place();
    await world.file("src/deep/a");
    await world.link("leads", "src/deep");
    const inDeep = {
      plain: true,
      run: { cwd: `${world.workDir}/src/deep`, argv: expect.arrayContaining([`'${bin}/cat' '../../x'`]) },
    };
    expect(await judge("cd src/deep && cat ../../x")).toMatchObject(inDeep);
    expect(await judge("cd leads && cat ../../x")).toMatchObject(inDeep);
    expect(await judge("cd leads && cat ../../../../outside/x")).toMatchObject({ decision: { verdict: "deny" } });
    expect(await judge("cd src/none && ls")).toMatchObject(not("src/none is not a folder"));
    expect(await judge("cd src/deep/a && ls")).toMatchObject(not("is not a folder"));
    expect(await judge("cd leads/.. && ls")).toMatchObject(not('".."'));
    expect(await judge("cd ../../outside && ls")).toMatchObject({ decision: { verdict: "deny" } });
  });

  test("recursive searches exclude files with sensitive names", async () => {
    const { judge } = await place();
    const words = async (text: string) => {
      const verdict = (await judge(text)) as { run: { argv: readonly string[] } };
      return (verdict.run.argv.at(-1) ?? "").split(" ");
    };
    const grep = await words("grep -r foo --include='.env' -- src");
    expect(grep.slice(1, 5)).toEqual(["'-r'", "'foo'", "'--include=.env'", "'--exclude=.[eE][nN][vV]'"]);
    expect(grep.slice(-3)).toEqual(["'--exclude-dir=.[dD][oO][cC][kK][eE][rR]'", "'--'", "'src'"]);
    expect((await words("grep -r foo src")).at(-1)).toContain("--exclude-dir");
    expect((await words("rg -g '.env' foo")).slice(1, 6)).toEqual([
      "'-g'",
      "'.env'",
      "'foo'",
      "'--no-config'",
      "'--iglob=!.env'",
    ]);
    expect((await words("grep foo src")).length).toBe(3);
  });
});

describe("a program is the first on the PATH that is outside the workspace", () => {
  test.each<[string, readonly string[], unknown]>([
    ["one of the workspace's comes first", ["srv/ws/bin", "bin"], not("cat is a program that tools can write")],
    ["a link leads into the workspace", ["linked", "bin"], not("cat is a program that tools can write")],
    ["the workspace's comes later", ["bin", "srv/ws/bin"], { plain: true }],
    ["what comes first cannot be run", ["data", "bin"], { plain: true }],
    ["a version manager's comes first", ["tools/shims", "bin"], not("lets files of the project choose")],
    ["there is none", ["data"], not("is not in PATH")],
  ])("%s", async (_, folders, expected) => {
    const { world, judge } = await place({}, {}, folders);
    await program(join(world.workDir, "bin/cat"));
    await program(join(world.root, "data/cat"), 0o644);
    await program(join(world.root, "tools/shims/cat"));
    await mkdir(join(world.root, "linked"));
    await symlink(join(world.workDir, "bin/cat"), join(world.root, "linked/cat"));
    expect(await judge("cat a")).toMatchObject(expected as object);
  });

  test("programs are found where the backend says, otherwise in the standard folders", async () => {
    const found = async (programFolders?: readonly string[]) => {
      const { judge } = await place({}, programFolders === undefined ? {} : { programFolders });
      return judge("ls");
    };
    expect(await found()).toMatchObject({ plain: true });
    expect(await found(["/nowhere"])).toMatchObject({ plain: false });
    const { world } = await place();
    const { programFolders: _, ...silent } = await local({
      workDir: world.workDir,
      home: world.home,
      outputFolder: `${world.stateDir}/outputs`,
    });
    const script = readPlainScript("ls");
    if (typeof script === "string") throw new Error(script);
    const look = createLookUps(silent.files);
    const judgePath = pathJudge({ forbiddenPaths: world.forbiddenPaths }, silent)(look);
    const path = process.env["PATH"];
    process.env["PATH"] = "/nowhere"; // our own PATH does not matter to a backend
    try {
      const verdict = await createPlainJudge({ backend: silent })(script, { cwd: world.workDir, judgePath, look });
      expect(verdict).toMatchObject({ plain: true });
    } finally {
      process.env["PATH"] = path;
    }
  });

  test("relative folders of PATH are skipped", async () => {
    const world = await layout();
    const backend = await local({
      workDir: world.workDir,
      home: world.home,
      outputFolder: `${world.stateDir}/outputs`,
    });
    const judge = createPlainJudge({ backend: { ...backend, programFolders: [".", "", "bin"] } });
    const look = createLookUps(backend.files);
    const judgePath = pathJudge({ forbiddenPaths: world.forbiddenPaths }, backend)(look);
    const script = readPlainScript("ls");
    if (typeof script === "string") throw new Error(script);
    expect(await judge(script, { cwd: world.workDir, judgePath, look })).toMatchObject({
      plain: false,
      problems: [{ why: expect.stringContaining("not in PATH") }],
    });
  });
});

describe("each operand is judged as a path", () => {
  test("of the workspace, and not sensitive, forbidden or outside, also through links", async () => {
    const { world, judge } = await place({ forbiddenPaths: ["forbidden"] });
    await world.file(".env");
    await world.file("src/.env.local");
    await world.link("harmless", ".env");
    await world.link("out", world.outside);
    const denied = { plain: false, decision: { verdict: "deny" } };
    const asked = { plain: false, decision: { verdict: "ask", rule: "sensitive_files" } };
    expect(await judge("cat a src/b ./c none/x")).toMatchObject({ plain: true });
    expect(await judge("cat .env")).toMatchObject(asked);
    expect(await judge("cat a harmless")).toMatchObject(asked);
    expect(await judge("grep x src/.env.local")).toMatchObject(asked);
    expect(await judge("grep -e x .env")).toMatchObject(asked);
    expect(await judge("ls a -l forbidden")).toMatchObject(denied);
    expect(await judge("cat /etc/passwd")).toMatchObject(denied);
    expect(await judge("cat ../x")).toMatchObject(denied);
    expect(await judge("cat out/secret.txt")).toMatchObject(denied);
    expect(await judge("ls", { cwd: world.outside })).toMatchObject(denied);
    expect(await judge("echo .env /etc/passwd")).toMatchObject({ plain: true });
    expect(await judge("cat a/../b")).toMatchObject(not('".." in "a/../b" depends on links'));
  });

  test("a quoted ~ is a file, and not the home", async () => {
    const { world, judge } = await place({ forbiddenPaths: ["~"] });
    expect(await judge("cat '~/x' '~'")).toMatchObject({ plain: true });
    expect(await judge(`cat ${world.home}/x`)).toMatchObject({ decision: { verdict: "deny" } });
  });

  test("a command that reads everything below a folder must have nothing forbidden below it", async () => {
    const { world, judge } = await place({ forbiddenPaths: ["src/closed"] });
    await world.file("src/closed/x");
    await world.file("lib/x");
    for (const script of [
      "grep -r x",
      "grep x -r",
      "rg x .",
      "find",
      "ls -R src",
      "du -s src",
      "cd src && rg x",
      "du -s s*",
    ])
      expect(await judge(script), script).toMatchObject(not("may not be read"));
    for (const script of ["grep -r x lib", "rg x lib", "find lib", "ls", "ls src", "cd lib && du"])
      expect(await judge(script), script).toMatchObject({ plain: true });
  });

  test("files are compared, folders are not", async () => {
    const { world, judge } = await place();
    await world.file("a");
    await world.file("folder/x");
    expect(await judge("diff a b")).toMatchObject({ plain: true });
    expect(await judge("diff a folder")).toMatchObject(not("is not a file"));
  });

  test("busybox searches no folders, because it cannot exclude files", async () => {
    const { bin, judge } = await place();
    await rm(join(bin, "grep"));
    await program(join(bin, "busybox"));
    await symlink("busybox", join(bin, "grep"));
    expect(await judge("grep x a")).toMatchObject({ plain: true });
    expect(await judge("grep -r x a")).toMatchObject(not("busybox"));
  });
});

describe("patterns", () => {
  async function files() {
    const here = await place();
    for (const name of [
      "b.ts",
      "a.ts",
      "B.ts",
      "\u{10000}.ts",
      "\uffee.ts",
      ".c.ts",
      "x.md",
      "odd/-rf",
      "cr/a\rb",
      "keys/a.pem",
      "z/é",
    ])
      await here.world.file(name);
    await here.world.link("links/secret", "../../../outside/secret.txt");
    await here.world.link("inner/a", "../a.ts");
    return here;
  }

  test("are expanded by us, in byte order", async () => {
    const { bin, judge } = await files();
    expect(await judge("cat *.ts")).toMatchObject(ran(`'${bin}/cat' 'B.ts' 'a.ts' 'b.ts' '\uffee.ts' '\u{10000}.ts'`));
    expect(await judge("cat ./?.ts")).toMatchObject(
      ran(`'${bin}/cat' './B.ts' './a.ts' './b.ts' './\uffee.ts' './\u{10000}.ts'`),
    );
    expect(await judge("cat .c*")).toMatchObject(ran(`'${bin}/cat' '.c.ts'`));
    expect(await judge("cat -n '*'.ts *.none x*")).toMatchObject(ran(`'${bin}/cat' '-n' '*.ts' '*.none' 'x.md'`));
    expect(await judge("cat inner/*")).toMatchObject(ran(`'${bin}/cat' 'inner/a'`));
    expect(await judge("cd z && cat ?")).toMatchObject(ran(`'${bin}/cat' 'é'`));
  });

  test("match no options, control characters, links or dots, and each file is judged", async () => {
    const { judge } = await files();
    expect(await judge("cat odd/*")).toMatchObject(not('"-rf" is not a plain file name'));
    expect(await judge("cat cr/*")).toMatchObject(not('"a\\rb" is not a plain file name'));
    expect(await judge("cat .*")).toMatchObject(not('".*" may match "."'));
    expect(await judge("cat .?")).toMatchObject(not('".?" may match "."'));
    expect(await judge("cat */x")).toMatchObject(not('before its last "/"'));
    expect(await judge("cat keys/*")).toMatchObject({ decision: { verdict: "ask" } });
    expect(await judge("cat links/*")).toMatchObject({ decision: { verdict: "deny" } });
    expect(await judge("cat ../../outside/*")).toMatchObject({ decision: { verdict: "deny" } });
    expect(await judge("cat /etc/pass*")).toMatchObject({ decision: { verdict: "deny" } });
  });

  test("match at most a thousand names, and end in bounded time", async () => {
    const { world, judge } = await place();
    for (let index = 0; index < 1_001; index++) await world.file(`many/${index}`, "");
    expect(await judge("ls many/1*")).toMatchObject({ plain: true });
    expect(await judge("ls many/*")).toMatchObject(not("more than 1000 names"));
    expect(await judge(`ls ${"many/x* ".repeat(200)}`)).toMatchObject(not("too long to match"));
  });
});

describe("a command that a person's rule allows", () => {
  const allows = ([name, verb]: readonly string[]) => name === "npm" || name === "./run.sh" || verb === "commit";

  test("runs next to plain ones, with its words unchanged", async () => {
    const { world, bin, judge } = await place();
    await world.file("a");
    expect(await judge("npm run 'x y' ../z && ls", { allows })).toMatchObject({
      ...ran(`'${bin}/npm' 'run' 'x y' '../z' && PATH='${bin}' '${bin}/ls'`),
      looks: false,
    });
    expect(await judge("./run.sh | cat", { allows })).toMatchObject({
      ...ran(`'./run.sh' | PATH='${bin}' '${bin}/cat'`),
      looks: false,
    });
    expect(await judge("git commit -m x", { allows })).toMatchObject(ran(`'${bin}/git' 'commit' '-m' 'x'`));
    expect(await judge("npm x *", { allows })).toMatchObject(not('"*" is a pattern'));
    expect(await judge("npm x && rm a", { allows })).toMatchObject(not("rm is not on the list"));
    expect(await judge("npm x")).toMatchObject(not("npm is not on the list"));
    expect(await judge("./run.sh")).toMatchObject(not("./run.sh is not on the list"));
  });

  test("is run as a plain one if it is one", async () => {
    const { bin, judge } = await place();
    const all = { allows: () => true };
    expect(await judge("cat a", all)).toMatchObject({ ...ran(`'${bin}/cat' 'a'`), looks: true });
    expect(await judge("cat .env", all)).toMatchObject({ ...ran(`'${bin}/cat' '.env'`), looks: false });
    expect(await judge("git status", all)).toMatchObject({ ...ran(`'${bin}/git' 'status'`), looks: false });
    expect(await judge("other x", all)).toMatchObject(not("other is not in PATH"));
  });
});

describe("git in the workspace's own repository", () => {
  async function repository() {
    const here = await place();
    execFileSync("git", ["init", "--quiet", here.world.workDir]);
    return here;
  }

  test("runs with nothing that its configuration could start", async () => {
    const { world, bin, judge } = await repository();
    await world.folder("src");
    const { env, options: words } = plainGit(world.workDir, world.home);
    const quoted = Object.entries(env).map(([name, value]) => `${name}='${value}'`);
    const [variables, options] = [quoted.join(" "), words.map((word) => `'${word}'`).join(" ")];
    const git = `${variables} '${bin}/git' ${options}`;
    expect(await judge("git status -s")).toMatchObject(ran(`${git} 'status' '--ignore-submodules=all' '-s'`));
    expect(await judge("git --no-pager log -1 | cat")).toMatchObject(
      ran(`${git} '--no-pager' 'log' '--no-ext-diff' '--no-textconv' '--ignore-submodules=all' '-1' | '${bin}/cat'`),
    );
    expect(await judge("cd src && git blame ../a")).toMatchObject(ran(`${git} 'blame' '--no-textconv' '../a'`));
    expect(await judge("git --version")).toMatchObject(ran(`'${bin}/git' '--version'`));
  });

  test.each<[string, (world: Layout) => Promise<unknown>, string, string]>([
    [
      "a configuration that starts something",
      (world) => world.file(".git/config", "[core]\n\tfsmonitor = ./x\n"),
      "git status",
      "fsmonitor",
    ],
    [
      "one that is too long",
      (world) => world.file(".git/config", "#\n".repeat(40_000)),
      "git status",
      "longer than 64 KiB",
    ],
    [
      "one that is a link",
      async (world) => {
        await rm(join(world.workDir, ".git/config"));
        await world.link(".git/config", "x");
      },
      "git status",
      "has links in it",
    ],
    [
      "one that another repository shares",
      (world) => world.file(".git/commondir", "../x"),
      "git status",
      "repository of its own",
    ],
    [
      "a .git that is a file",
      async (world) => {
        await rm(join(world.workDir, ".git"), { recursive: true });
        await world.file(".git", "gitdir: x\n");
      },
      "git status",
      "repository of its own",
    ],
    [
      "a .git that is a link",
      async (world) => {
        await rm(join(world.workDir, ".git"), { recursive: true });
        await world.folder("x");
        await world.link(".git", "x");
      },
      "git status",
      "repository of its own",
    ],
    [
      "no repository",
      (world) => rm(join(world.workDir, ".git"), { recursive: true }),
      "git status",
      "repository of its own",
    ],
    [
      "a repository inside",
      (world) => world.file("sub/x/.git/config"),
      "cd sub/x && git status",
      "in a repository of its own",
    ],
    [
      "a repository above the folder",
      (world) => Promise.all([world.file("sub/.git", "gitdir: x"), world.folder("sub/x")]),
      "cd sub/x && git log",
      "in a repository of its own",
    ],
    ["a bare repository inside", (world) => world.file("sub/HEAD"), "cd sub && git log", "in a repository of its own"],
    ["a sensitive file", (world) => world.file("a"), "git diff .env", "environment secrets"],
    ["a sensitive file of a revision", (world) => world.file("a"), "git show main:config/.env", "environment secrets"],
  ])("%s: not unasked", async (_, prepare, script, why) => {
    const { world, judge } = await repository();
    expect(await judge(script.replace(/^cd \S+ && /, ""))).toMatchObject(script.includes("env") ? {} : { plain: true });
    await prepare(world);
    expect(await judge(script)).toMatchObject(not(why));
  });

  test("does not run from a folder outside, nor on files outside", async () => {
    const here = await place({ allowedRoots: ["../../outside"] });
    const { world, judge } = here;
    execFileSync("git", ["init", "--quiet", world.workDir]);
    expect(await judge("git status", { cwd: world.outside })).toMatchObject(
      not("only at the repository of the workspace"),
    );
    expect(await judge("git diff a ../../outside/secret.txt")).toMatchObject(not("outside the workspace"));
    expect(await judge("cat ../../outside/secret.txt")).toMatchObject({ plain: true });
  });
});

describe("everything is looked up in one round", () => {
  test.each<[string, number]>([
    ["ls", 1],
    ["cat a src/*.ts none | grep -r x src && diff a b", 1],
    ["cd src && cat ../a *.ts; git status", 2],
    ["git log -3 -- src a", 2],
    ["cd leads && cat x", 2],
    ["cat links/*", 2],
    ["cat .env", 1],
    ["rm a", 1],
  ])("%s: %i", async (script, most) => {
    const { world, judge, rounds } = await place();
    for (const file of ["a", "b", "src/a.ts", "src/deep/x"]) await world.file(file);
    await world.link("leads", "src/deep");
    await world.link("links/a", "../a");
    execFileSync("git", ["init", "--quiet", world.workDir]);
    await judge(script);
    expect(rounds()).toBe(most);
    // The places of programs are known by now, and so is an unchanged configuration.
    await judge(script);
    expect(rounds()).toBeLessThanOrEqual(most);
  });
});
