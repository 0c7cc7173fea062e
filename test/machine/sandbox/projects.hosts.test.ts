// Work on projects in the sandbox from a clean state, as a model in supervised autonomy: everything succeeds, hardly
// anything is asked, and nothing is left outside the workspace.
import { spawnSync } from "node:child_process";
import { dirname } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { mustBeHere, mustRun, programProblem, secondUserProblem } from "../../support/here.ts";
import { bubblewrapProblem } from "./contained.ts";
import { type ProjectOptions, type ProjectRun, type Step, runProject } from "./project-runs.ts";

const problem = bubblewrapProblem();

/** A minute's work on an idle machine. Some machines are busy. */
const LONG = 600_000;

const table: string[] = [];
afterAll(() => {
  console.log(["project | commands | questions | for what", ...table].join("\n"));
});

/** The user who runs the tests and, if that is root, another user too. */
const USERS = [undefined, ...(secondUserProblem() === undefined ? [65_534] : [])] as const;
mustBeHere("projects of a second user", secondUserProblem());

mustBeHere("projects in the sandbox", problem);

describe.skipIf(problem !== undefined)("in the sandbox", () => {
  test(
    "JavaScript: packages are installed after one approval; then it is built, tested, linted",
    async () => {
      const registry = new URL(answerOf(["npm", "config", "get", "registry"]) ?? "");
      const ran = await worked("JavaScript", {
        fixture: "javascript",
        files: { ".npmrc": `registry=${registry.href}\n` },
        allowPrivate: [registry.hostname],
        ports: registry.port === "" ? [] : [Number(registry.port)],
        programs: [dirname(process.execPath)],
        steps: javascriptSteps(registry.host),
      });
      expect(ran.questions).toHaveLength(1);
      expect(ran.questions[0]).toContain(registry.host);
    },
    LONG,
  );

  const python = mustRun("Python in the sandbox", [
    "python3",
    "-c",
    "import ensurepip, venv, sys; print(sys.executable)",
  ]);
  test.skipIf(python === undefined)(
    "Python: tested, packaged, installed into its own environment",
    async () => {
      const hasPytest = answerOf([`${python}`, "-m", "pytest", "--version"]) !== undefined;
      const ran = await worked("Python", {
        fixture: "python",
        programs: [dirname(python ?? "")],
        steps: [
          ...steps(
            "python3 --version && ls -R",
            "python3 -m unittest",
            "python3 -m unittest discover -s tests -t . -v",
            "python3 -m compileall -q greet tests",
          ),
          ...(hasPytest ? steps("python3 -m pytest -q", "python3 -m pytest -x -q tests/test_greet.py") : []),
          ...steps(
            "python3 -m venv .venv",
            "python3 tools/make_wheel.py",
            ".venv/bin/pip install --no-index dist/greet-1.0-py3-none-any.whl",
            "source .venv/bin/activate && python -m compileall -q greet && pip list && python -m unittest",
            ".venv/bin/greet | grep 'Hello, world!'",
            ".venv/bin/python -m unittest",
            ".venv/bin/pip list",
            "rm -rf greet/__pycache__ tests/__pycache__",
            "rm -rf .venv dist",
          ),
          { command: ".venv/bin/pip --version", fails: true },
        ],
      });
      expect(ran.questions).toEqual([]);
    },
    LONG,
  );

  const rust = mustRun("Rust in the sandbox", ["rustc", "--print", "sysroot"]);
  test.skipIf(rust === undefined)(
    "Rust: built, tested, linted",
    async () => {
      const ran = await worked("Rust", {
        fixture: "rust",
        programs: [`${rust}/bin`],
        steps: [
          ...steps(
            "cargo --version",
            "cargo build --offline",
            "cargo test",
            "cargo test -- --nocapture case_does_not_matter",
            "echo 'a rose is a rose' | cargo run --quiet | grep '2 rose'",
            "cargo build --release",
            "cargo check --all-targets",
            "cargo tree",
            "cargo metadata --format-version 1 > /dev/null",
          ),
          ...(answerOf([`${rust}/bin/cargo`, "clippy", "--version"]) === undefined
            ? []
            : steps("cargo clippy --all-targets -- -D warnings")),
          ...steps("sed -i 's/to_lowercase/to_uppercase/' src/lib.rs"),
          { command: "cargo test", fails: true },
          ...steps("sed -i 's/to_uppercase/to_lowercase/' src/lib.rs", "cargo test --quiet", "cargo clean"),
        ],
      });
      expect(ran.questions).toEqual([]);
    },
    LONG,
  );

  const go = answerOf(["go", "env", "GOROOT"]);
  test("Go: built, tested, vetted", { timeout: LONG }, async ({ skip }) => {
    skip(go === undefined, "go is not installed, or does not run");
    const main =
      'package main\n\nimport "example.org/words/count"\n\nfunc main() { println(count.Words("to be or not")) }\n';
    const check = 'if Words("a b  c") != 3 {\n\t\tt.Fail()\n\t}';
    const ran = await worked("Go", {
      files: {
        "go.mod": "module example.org/words\n\ngo 1.19\n",
        "main.go": main,
        "count/count.go":
          'package count\n\nimport "strings"\n\nfunc Words(s string) int { return len(strings.Fields(s)) }\n',
        "count/count_test.go": `package count\n\nimport "testing"\n\nfunc TestWords(t *testing.T) {\n\t${check}\n}\n`,
      },
      programs: [`${go}/bin`],
      steps: [
        ...steps("go version", "go build -o words .", "./words 2>&1 | grep 4", "go test ./...", "go vet ./..."),
        ...steps("go run .", "gofmt -l .", "go list -deps ./... | tail -3", "go mod tidy", "go clean -testcache"),
        { command: "sed -i 's/!= 3/!= 4/' count/count_test.go && go test ./...", fails: true },
      ],
    });
    expect(ran.questions).toEqual([]);
  });

  test("git-lfs: large files are tracked, changed, merged, pushed and cloned", { timeout: LONG }, async ({ skip }) => {
    skip(answerOf(["git", "lfs", "version"]) === undefined, "git-lfs is not installed");
    const ran = await worked("git-lfs", {
      steps: steps(
        "git init",
        "git init --bare remote.git && printf 'remote.git/\\nclone/\\n' > .gitignore",
        "git lfs track '*.bin' && head -c 100000 /dev/zero > a.bin && git add -A && git commit -qm 1 && git lfs ls-files",
        "git checkout -qb topic && head -c 200000 /dev/zero > a.bin && git commit -qam 2 && git checkout -q main",
        "git merge -q topic && git lfs fsck && test $(wc -c < a.bin) = 200000 && git show HEAD:a.bin | grep 'size 200000'",
        "git lfs push file://$PWD/remote.git main && git push -q file://$PWD/remote.git main",
        "git clone -q file://$PWD/remote.git clone && test $(wc -c < clone/a.bin) = 200000",
      ),
    });
    expect(ran.questions).toEqual([]);
  });

  const cmake =
    programProblem("cc") ??
    (answerOf(["cmake", "--version"]) === undefined ? "cmake is not installed, or does not run" : undefined);
  test("C with cmake: configured, built, tested", { timeout: LONG }, async ({ skip }) => {
    skip(cmake !== undefined, cmake);
    const list = "cmake_minimum_required(VERSION 3.13)\nproject(stats C)\nenable_testing()\n";
    const ran = await worked("C with cmake", {
      fixture: "c",
      files: {
        "config.h": "",
        "CMakeLists.txt": `${list}add_executable(check tests/check.c src/find.c src/count.c src/lines.c src/words.c)
target_include_directories(check PRIVATE . src)\nadd_test(NAME check COMMAND check)\n`,
      },
      steps: [
        ...steps("cmake -S . -B build", "cmake --build build", "ctest --test-dir build --output-on-failure"),
        {
          command: "sed -i 's/found++/found--/' src/words.c && cmake --build build && ctest --test-dir build",
          fails: true,
        },
      ],
    });
    expect(ran.questions).toEqual([]);
  });

  const noC = programProblem("make") ?? programProblem("cc");
  mustBeHere("C with make in the sandbox", noC);
  for (const user of USERS) {
    test.skipIf(noC !== undefined)(
      `C with make: configured, built, tested, installed, cleaned${by(user)}`,
      async () => {
        const ran = await worked("C", {
          fixture: "c",
          ...(user !== undefined && { user }),
          steps: [
            ...steps(
              "./configure --prefix=$PWD/out",
              "make",
              "make test",
              "ar t libtext.a && nm libtext.a | grep ' T count'",
              "make clean && make -j4 all",
              "make test CFLAGS='-O2 -g -I. -Isrc'",
              "make install && ls -l out/bin/textstats",
              "printf 'a b c\\n' | out/bin/textstats b",
              "gcc -fsyntax-only -Wall -I. -Isrc src/*.c",
              "cc -O2 -I. -Isrc src/*.c -o all-in-one && echo one two | ./all-in-one",
            ),
            { command: "sed -i 's/found++/found--/' src/words.c && make test", fails: true },
            ...steps(
              "sed -i 's/found--/found++/' src/words.c",
              "make test",
              "make clean",
              "rm -rf out all-in-one Makefile config.h",
            ),
          ],
        });
        expect(ran.questions).toEqual([]);
      },
      LONG,
    );

    test(
      `git: a day's work, with remotes in the workspace${by(user)}`,
      async () => {
        const ran = await worked("git", { steps: GIT_DAY, ...(user !== undefined && { user }) });
        expect(ran.questions.length, ran.questions.join("\n")).toBeLessThanOrEqual(2);
      },
      LONG,
    );
  }
});

const PNPM = "pnpm@10.20.0";

function javascriptSteps(host: string): readonly Step[] {
  const network = [host];
  return [
    { command: "npm install", network },
    ...steps(
      "npm ls --depth=0",
      "npm run build",
      "node dist/main.js 2h 30m",
      "npm test",
      "npm run lint",
      "npx esbuild --version",
      "npx oxlint src",
      "node --test test/durations.test.js",
    ),
    // From the private cache.
    { command: "rm -rf node_modules && npm install --offline" },
    ...steps("NODE_ENV=test npm test 2>&1 | tail -20", "npm run build && ls -l dist", "npm rebuild esbuild"),
    { command: "npm uninstall ms", network },
    { command: "npm test", fails: true },
    { command: "npm install ms@2.1.3", network },
    ...steps("npm test", "npm pack --dry-run"),
    { command: `rm -rf node_modules package-lock.json && echo 'lockfileVersion: "9.0"' > pnpm-lock.yaml` },
    { command: `npx --yes ${PNPM} install --no-frozen-lockfile`, network },
    ...steps(
      `test ! -e .pnpm-store && npx --offline ${PNPM} test`,
      `rm -rf node_modules && npx --offline ${PNPM} install --offline`,
    ),
    // Nothing that was not requested is reached.
    { command: "npm install left-pad@1.3.0", fails: true },
  ];
}

/** A commit that adds or removes a file. */
const commit = (file: string, text: string, message: string) =>
  `printf '${text}\\n' > ${file} && git add -A && git commit -q -m '${message}'`;

const GIT_DAY: readonly Step[] = [
  ...steps(
    "git init",
    "git status",
    "printf 'remote.git/\\nclone/\\nother/\\n' > .gitignore",
    commit("a.txt", "one", "first"),
    "git log --oneline && git show --stat",
    "git init --bare remote.git",
    "git remote add origin ./remote.git",
    "git push -u origin main",
    "git clone ./remote.git clone",
    "cd clone && git log --format='%an <%ae>' | grep 'Ada <ada@example.org>'",
    "git switch -c topic",
    commit("b.txt", "topic", "on the topic"),
    "git diff main...topic",
    "git checkout main",
    commit("c.txt", "main", "on main"),
    "git switch topic && git rebase main && git log --oneline --graph",
    "git switch main && git merge topic && git branch -d topic",
    "printf 'half done\\n' >> a.txt && git stash && git diff --exit-code && git stash pop && git checkout a.txt",
    "git checkout -b hotfix HEAD~1",
    commit("d.txt", "fix", "a fix"),
    "git checkout main && git cherry-pick hotfix && cat d.txt",
    "git tag v1.0 && git tag -a v1.1 -m 'the next' && git describe --tags",
    // A conflict, and its resolution.
    "git checkout -b left",
    commit("a.txt", "left", "left"),
    "git checkout main",
    commit("a.txt", "right", "right"),
  ),
  { command: "git merge left", fails: true },
  ...steps(
    "git status --short | grep '^AA\\|^UU'",
    "printf 'both\\n' > a.txt && git add a.txt && git commit --no-edit && git log --oneline --graph | head",
    "git worktree add other hotfix && cd other && git status",
    "cd other && printf 'more\\n' >> d.txt && git commit -qam 'in the other tree' && git log -1 --oneline hotfix",
    "git worktree remove other && git worktree prune",
    "git push origin main --tags && git ls-remote origin",
    "cd clone && git pull && git log -1 --oneline && cat a.txt",
    "cd clone && git checkout -b feature && printf 'f\\n' > f.txt && git add f.txt && git commit -qm feature && git push origin feature",
    "git fetch && git branch -a && git merge origin/feature && cat f.txt",
    "git revert --no-edit HEAD && git reset --hard HEAD~1",
    "git mv f.txt g.txt && git commit -qm 'another name' && git rm -q c.txt && git commit -qm 'one less'",
    "printf 'test ! -f g.txt' > check.sh && git bisect start HEAD HEAD~4 && git bisect run sh check.sh && git bisect reset && rm check.sh",
    "git commit -q --amend -m 'one less, said better' && git reflog | head -3",
    "git format-patch -1 --stdout > last.patch && git apply --check -R last.patch && rm last.patch",
    "git gc && git fsck && git count-objects -v",
    "git clean -fdx --dry-run && git blame a.txt",
  ),
  // Nothing is left behind that somebody outside the sandbox would run.
  { command: "printf 'echo echo gotcha > .git/hooks/pre-commit' > install.sh; sh install.sh", fails: true },
  ...steps(
    "rm -rf clone install.sh && git commit -q --allow-empty -m last && git status --porcelain && test ! -e clone",
  ),
];

async function worked(project: string, options: ProjectOptions): Promise<ProjectRun> {
  const ran = await runProject(options);
  const name = `${project}${by(options.user)}`;
  table.push(`${name} | ${ran.done.length} | ${ran.questions.length} | ${ran.questions.join("; ")}`);
  expect(ran.wrong.join("\n"), name).toBe("");
  expect(ran.leftBehind).toEqual([]);
  return ran;
}

function steps(...commands: readonly string[]): readonly Step[] {
  return commands.map((command) => ({ command }));
}

function by(user: number | undefined): string {
  return user === undefined ? "" : ", by an ordinary user";
}

function answerOf([program = "", ...args]: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync(program, args, { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}
