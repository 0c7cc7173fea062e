// Scripts that are judged plain are run among planted programs, links, odd names and a repository that would start
// programs: no program of the workspace runs, nothing is written, and nothing sensitive or outside is read.
// FUZZ_SCRIPTS and FUZZ_SEED set the number of scripts and the seed.
import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { rgPath } from "@vscode/ripgrep";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { local } from "../../../src/machine/local/backend.ts";
import type { Backend } from "../../../src/core/contract/backend.ts";
import { createLookUps } from "../../../src/policy/look-ups.ts";
import { pathJudge } from "../../../src/policy/paths.ts";
import { type PlainRun, createPlainJudge } from "../../../src/policy/plain/judge.ts";
import { readPlainScript } from "../../../src/policy/plain/script.ts";
import { quoteWord, quoteWords } from "../../../src/core/util/quote.ts";
import { cases } from "../../support/cases.ts";
import { type Layout, layout } from "../../support/layout.ts";
import { containmentProblem } from "../oracle.ts";
import { CASES } from "./cases.ts";

const SCRIPTS = Number(process.env["FUZZ_SCRIPTS"] ?? cases(80));
const SEED = Number(process.env["FUZZ_SEED"] ?? 4);
const CHUNK = 500;
const SECRET = "canary-b7c1";

const problem = containmentProblem();

let world: Layout;
let backend: Backend;
let folders: readonly string[];
let markers: string;

beforeAll(async () => {
  world = await layout();
  markers = join(world.root, "markers");
  mkdirSync(markers);
  await plant();
  backend = await local({ workDir: world.workDir, home: world.home, outputFolder: `${world.stateDir}/outputs` });
  const own = (process.env["PATH"] ?? "").split(":").filter((folder) => existsSync(folder));
  folders = [join(world.workDir, "bin"), ...own, dirname(rgPath)];
});

test.skipIf(problem !== undefined)(
  `${SCRIPTS} hostile scripts: plain ones run no workspace program, write nothing and read no secret`,
  async () => {
    const before = snapshot(world.workDir);
    let plain = 0;
    for (let done = 0; done < SCRIPTS; done += CHUNK) {
      const numRuns = Math.min(CHUNK, SCRIPTS - done);
      const judged = await runsOf(fc.sample(nastyScripts(), { numRuns, seed: SEED + done }));
      plain += judged.length;
      const harmful = await harmOf(judged.map(({ run }) => run));
      expect(
        harmful.map((index) => judged[index]?.text),
        `seed ${SEED + done}`,
      ).toEqual([]);
      expect(snapshot(world.workDir), `seed ${SEED + done}`).toEqual(before);
      if (SCRIPTS > CHUNK * 2) process.stderr.write(`harm: ${plain} plain scripts of ${done + numRuns}\n`);
    }
    expect(plain).toBeGreaterThan(SCRIPTS / 10);
  },
  60_000 + SCRIPTS * 200,
);

test.skipIf(problem !== undefined)("real harm would be detected", async () => {
  const { workDir } = world;
  const run = (script: string): PlainRun => ({ argv: ["/bin/bash", "-p", "-c", script], env: {}, cwd: workDir });
  const scripts = ["true", "./evil", "cat .env", "cat leak", "git-lfs", "echo; ls", `touch ${markers}/x`];
  expect(await harmOf(scripts.map(run))).toEqual([1, 2, 3, 4, 6]);
  // Any shell that reads start-up files would start one.
  expect(await harmOf([{ argv: ["/bin/bash", "-c", "ls"], env: {}, cwd: workDir }])).toEqual([0]);
});

/** Names with a meaning for a shell, or for a program that takes them for options. */
const ODD_NAMES = [
  ...[
    "-rf",
    "-delete",
    "--pre=.evil",
    "$(.evil)",
    "`.evil`",
    "; .evil",
    "x' ; .evil '",
    "a b",
    "%n",
    "~",
    "!",
    "[a]",
    "{a,b}",
  ],
  ...["new\nline", "-exec", "é", "\\", '"'],
];

async function plant() {
  const { workDir, outside, file, folder, link } = world;
  const evil = `#!/bin/sh\n: > ${markers}/$$\ncat >/dev/null 2>&1 </dev/null\n`;
  const program = (path: string) => file(path, evil).then((at) => execFileSync("chmod", ["755", at]));
  for (const path of ["evil", ".evil", "src/evil", "ls", "git", "sub/run"]) await program(path);
  for (const name of ["git-lfs", "less", "more", "gpg", "pager", "evil", ".evil", "hidden", "tree", "git-evil", "man"])
    await program(`bin/${name}`);
  await file("a", "one\ntwo\nthree\n");
  await file("b", "one\n2\n");
  await file("src/a.ts", "foo\n");
  await file("src/x.json", '{"a": [1]}\n');
  await file("list", `${outside}/secret.txt\0.env\0`);
  for (const name of ODD_NAMES) await file(`odd/${name}`, "foo\n");
  for (const name of [
    ".env",
    "src/.env.local",
    "src/deep/.ENV",
    "keys/id_rsa",
    "keys/a.pem",
    "src/.ssh/config",
    "secrets.json",
  ])
    await file(name, `foo ${SECRET}\n`);
  await file(join(outside, "secret.txt"), `foo ${SECRET}\n`);
  await file(join(outside, ".env"), `foo ${SECRET}\n`);
  await link("leak", `${outside}/secret.txt`);
  await link("src/leads", outside);
  await link("links/env", "../.env");
  await link("up", "..");
  await file(".ripgreprc", "--pre=./evil\n--follow\n");
  await file("rc", evil);
  await file(".gitattributes", "* diff=evil filter=evil merge=evil\n*.ts filter=lfs diff=lfs\n");
  const inRepository = (at: string, ...args: readonly string[]) => {
    const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "core.hooksPath=/dev/null"];
    execFileSync("git", ["-C", at, ...identity, ...args], {
      stdio: "pipe",
      env: { PATH: process.env["PATH"], HOME: outside },
    });
  };
  await folder("nested");
  execFileSync("git", ["init", "--quiet", join(workDir, "nested")]);
  await file("nested/x", "x\n");
  inRepository(join(workDir, "nested"), "add", "x");
  inRepository(join(workDir, "nested"), "commit", "--quiet", "-m", "x");
  execFileSync("git", ["init", "--quiet", workDir]);
  inRepository(workDir, "add", "a", "src/a.ts", "src/x.json", ".gitattributes", "nested");
  inRepository(workDir, "commit", "--quiet", "-m", "all files");
  inRepository(workDir, "tag", "v1");
  await file("a", "one\ntwo\nfour\n");
  await file("src/a.ts", "changed\n");
  await file("nested/x", "changed\n");
  // The only filter whose configuration counts as harmless: it is started by its name.
  await file(
    ".git/config",
    `${readFileSync(join(workDir, ".git/config"), "utf8")}[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\tprocess = git-lfs filter-process\n`,
  );
  const config = [
    "core.fsmonitor",
    "diff.external",
    "diff.evil.textconv",
    "core.pager",
    "filter.evil.clean",
    "core.sshCommand",
  ];
  for (const key of config) execFileSync("git", ["-C", join(workDir, "nested"), "config", key, join(workDir, "evil")]);
  for (const hook of ["post-index-change", "reference-transaction", "post-checkout", "pre-commit"]) {
    await program(`.git/hooks/${hook}`);
    await program(`nested/.git/hooks/${hook}`);
  }
  execFileSync("git", ["init", "--quiet", "--bare", join(workDir, "bare")]);
  execFileSync("git", ["-C", join(workDir, "bare"), "config", "core.fsmonitor", join(workDir, "evil")]);
  symlinkSync("nested", join(workDir, "linked"));
}

const MARKER = "MARKER";

/** Operands and options that are harmful for some program. */
const NASTY: readonly string[] = [
  ...[
    "evil",
    "./evil",
    "bin/evil",
    "a",
    "b",
    "src",
    "src/a.ts",
    "src/x.json",
    "list",
    "odd",
    ".",
    "..",
    "*",
    "src/*",
    "odd/*",
    "links/*",
    ".e*",
    "*env",
    "?vil",
  ],
  ...[
    ".env",
    "src/.env.local",
    "keys/a.pem",
    "keys/*",
    "leak",
    "src/leads",
    "src/leads/*",
    "leak*",
    "links/env",
    "up/outside/secret.txt",
    "../../outside/secret.txt",
  ],
  ...[
    "/etc/passwd",
    "/proc/self/environ",
    "nested",
    "nested/x",
    "bare",
    "linked/x",
    ".git/config",
    "~",
    "'~'",
    "new",
    MARKER,
    `${MARKER}/x`,
  ],
  ...[
    "'$(./evil)'",
    "'`./evil`'",
    "$(./evil)",
    "`./evil`",
    '"$(./evil)"',
    "'; ./evil'",
    "<(./evil)",
    "{./evil,a}",
    "$'\\x41'",
    '"it\'s"',
    "'a b'",
  ],
  ...[
    "-o",
    `-o${MARKER}/x`,
    `--output=${MARKER}/x`,
    "--pre=./evil",
    "--pre",
    "--hostname-bin=./evil",
    "--compress-program=./evil",
    "-S1",
    "--files0-from=list",
  ],
  ...[
    "-exec",
    "-execdir",
    "-ok",
    "-delete",
    "-fprint",
    "-fls",
    "{}",
    "';'",
    "+",
    "-f",
    "-F",
    "-T",
    "-L",
    "-R",
    "-r",
    "-z",
    "-C",
    "-c",
    "-i",
    "-e",
    "-s",
    "-n",
    "-v",
    "-u",
  ],
  ...[
    "--ext-diff",
    "--textconv",
    "--no-index",
    "-O",
    "--show-signature",
    "--format=%G?",
    "'--format=%(signature)'",
    "--open-files-in-pager=./evil",
    "-p",
    "--paginate",
  ],
  ...[
    "--exec-path=./bin",
    "--git-dir=nested/.git",
    "-Cnested",
    "--upload-pack=./evil",
    "--submodule=diff",
    "--recurse-submodules",
    "--filters",
    "--help",
    "--version",
  ],
  ...[
    "'1e ./evil'",
    `'1w ${MARKER}/x'`,
    "'s/a/b/e'",
    "%n",
    "'%n'",
    "--",
    "-",
    "-x",
    "-rf",
    "HEAD",
    "HEAD:a",
    "HEAD:.env",
    "v1",
    "':(top)a'",
    "HEAD:nested",
    "1",
    "-1",
    "+1",
  ],
  ...[
    "2>/dev/null",
    `>${MARKER}/x`,
    `2>${MARKER}/x`,
    "<leak",
    "<.env",
    ">/dev/null",
    "2>&1",
    "<<x",
    "<<<$(./evil)",
    ">&2",
    "</dev/null",
    "&>/dev/null",
  ],
];

/** Those of git examine changed files, for which its drivers would be started. */
const MORE = [
  ...[
    "git diff",
    "git diff HEAD -- src",
    "git log -p",
    "git show HEAD a",
    "git status",
    "git blame a",
    "git diff --stat a",
    "git diff a",
    "git diff HEAD a",
    "git ls-files -m",
  ],
  ...[
    "find . -delete",
    "find src -exec ./evil {} +",
    "find . -fprint x",
    "sort -o x a",
    "tree -o x",
    "rg --pre ./evil foo",
    "grep -r foo .",
  ],
];
const BASES = [
  ...CASES.flatMap(([accepted, refused]) => [...accepted, ...accepted, ...accepted, ...accepted, ...refused]),
  ...MORE.flatMap((command) => Array.from({ length: 20 }, () => command)),
].map((command) => command.replace(/^sleep [\d.]+$/, "sleep 0.01")); // waiting proves nothing

/** Scripts of the list's commands, with hostile words in place of harmless ones. */
function nastyScripts(): fc.Arbitrary<string> {
  const command = fc
    .tuple(
      fc.constantFrom(...BASES),
      fc.array(fc.constantFrom(...NASTY), { minLength: 8, maxLength: 8 }),
      fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
      fc.oneof(fc.constant([]), fc.array(fc.tuple(fc.nat({ max: 6 }), fc.constantFrom(...NASTY)), { maxLength: 1 })),
    )
    .map(([base, nasty, chosen, inserted]) => {
      const words = base.split(" ").map((word, index) => {
        const isPlace = index > 0 && /^(a|b|c|x|y|src|\.|\*|lib|src\/\S+|HEAD|main)$/.test(word);
        return isPlace && chosen[index % 8] === true ? (nasty[index % 8] ?? word) : word;
      });
      for (const [at, word] of inserted) words.splice(1 + (at % words.length), 0, word);
      return words.join(" ");
    });
  return fc
    .tuple(
      fc.constantFrom(
        ...Array.from({ length: 12 }, () => ""),
        "cd src && ",
        "cd nested && ",
        "cd linked && ",
        "cd bare && ",
        "cd odd && ",
        "cd up && ",
        "cd src/leads && ",
      ),
      fc.array(fc.tuple(command, fc.constantFrom(" | ", " | ", " && ", "; ", "; ", " || ", "\n", "\n", " & ")), {
        minLength: 1,
        maxLength: 2,
      }),
    )
    .map(
      ([start, parts]) =>
        start + parts.map(([text, between], index) => (index + 1 < parts.length ? text + between : text)).join(""),
    )
    .map((text) => text.replaceAll(MARKER, markers));
}

async function runsOf(texts: readonly string[]): Promise<readonly { text: string; run: PlainRun }[]> {
  const judge = createPlainJudge({ backend: { ...backend, programFolders: folders } });
  const judgePaths = pathJudge({ forbiddenPaths: world.forbiddenPaths }, backend);
  const judged: { text: string; run: PlainRun }[] = [];
  for (const text of texts) {
    const script = readPlainScript(text);
    if (typeof script === "string") continue;
    const look = createLookUps(backend.files);
    const verdict = await judge(script, { cwd: world.workDir, judgePath: judgePaths(look), look });
    if (verdict.plain) judged.push({ text, run: verdict.run });
  }
  return judged;
}

/** Runs scripts one after another where they can do no harm. Returns the indexes of those that would have. */
async function harmOf(runs: readonly PlainRun[]): Promise<readonly number[]> {
  const out = join(world.root, "out");
  mkdirSync(out, { recursive: true });
  const driver = join(out, "driver");
  const steps = runs.map(
    ({ argv, cwd, env: { PATH = folders.join(":") } }, index) =>
      `cd ${cwd} && /usr/bin/env PATH=${quoteWord(PATH)} /usr/bin/timeout -k 1 5 ${quoteWords(argv)} >${out}/${index} 2>&1 </dev/null\n` +
      `set -- ${markers}/*; if [ -e "$1" ]; then echo ${index} >>${out}/marked; rm -f ${markers}/*; fi`,
  );
  writeFileSync(driver, steps.join("\n"));
  writeFileSync(join(out, "marked"), "");
  const rc = join(world.workDir, "rc");
  const environment: { readonly [name: string]: string } = {
    ...{
      PATH: folders.join(":"),
      HOME: world.home,
      BASH_ENV: rc,
      ENV: rc,
      PAGER: "evil",
      GIT_PAGER: "evil",
      LESSOPEN: "|evil %s",
    },
    ...{
      RIPGREP_CONFIG_PATH: join(world.workDir, ".ripgreprc"),
      GIT_EXTERNAL_DIFF: join(world.workDir, "evil"),
      GIT_EDITOR: "evil",
      SHELLOPTS: "xtrace",
      PS4: "$(evil)",
    },
    ...{ "BASH_FUNC_ls%%": "() { evil; }", "BASH_FUNC_cat%%": "() { evil; }", GIT_OPTIONAL_LOCKS: "1" },
  };
  const argv = [
    ...[
      "--unshare-all",
      "--die-with-parent",
      "--new-session",
      "--clearenv",
      "--ro-bind",
      "/",
      "/",
      "--dev",
      "/dev",
      "--proc",
      "/proc",
    ],
    ...[
      "--tmpfs",
      "/tmp",
      "--bind",
      world.root,
      world.root,
      "/usr/bin/env",
      "-i",
      ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
    ],
    ...["/bin/dash", driver],
  ];
  await promisify(execFile)("bwrap", argv, { maxBuffer: 2 ** 26 });
  const marked = readFileSync(join(out, "marked"), "utf8").split("\n").filter(Boolean).map(Number);
  const leaking = runs.flatMap((_, index) => (readFileSync(join(out, String(index))).includes(SECRET) ? [index] : []));
  return [...new Set([...marked, ...leaking])].sort((one, other) => one - other);
}

/**
 * Returns all files of a folder with their content, except git's index, which git may refresh, and the cache of Git
 * LFS, if that is installed.
 */
function snapshot(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const at = join(folder, entry.name);
    // git-lfs, whose filter counts as harmless, stores copies of the workspace's own files here.
    if (at.endsWith(".git/lfs")) return [];
    if (entry.isDirectory()) return [at, ...snapshot(at)];
    if (entry.isSymbolicLink()) return `${at} -> ${readlinkSync(at)}`;
    return at.endsWith(".git/index") ? at : `${at} ${createHash("sha256").update(readFileSync(at)).digest("hex")}`;
  });
}
