// A day's commands in five kinds of project. In supervised autonomy none of them may be refused, and those that only look may hardly ever
// ask: a rail that is in the way is taken down.
import { beforeAll, describe, expect, test } from "vitest";
import type { Decision } from "../../src/contract/decision.ts";
import { type Layout, layout } from "../support/layout.ts";

/** Commands that only look, and the redirection that does no more than a tool may unasked: they should run. */
const LOOKS: { readonly [project: string]: readonly string[] } = {
  "any project": [
    ...[
      "ls",
      "ls -la",
      "ls -R src",
      "pwd",
      "tree -L 2",
      "cat README.md",
      "head -n 40 src/main.ts",
      "tail -20 CHANGELOG.md",
      "wc -l src/*.ts",
      "sed -n '10,60p' src/main.ts",
    ],
    ...[
      "file logo.png",
      "stat package.json",
      "du -sh .",
      "df -h .",
      "date",
      "whoami",
      "uname -a",
      "which node",
      "echo hello",
      'echo "exit: $?"',
      "printf '%s\\n' done",
    ],
    ...[
      "grep -rn TODO src",
      "grep -rnE 'foo|bar' --include='*.ts' .",
      "rg -n 'export function' src",
      "rg --files | head",
      "find . -name '*.ts' -not -path './node_modules/*'",
      "fd -e ts . src",
    ],
    ...[
      "cat src/a.ts src/b.ts | grep -n import | sort | uniq -c | sort -rn | head -5",
      "diff -u a.txt b.txt",
      "test -f package.json && echo yes || echo no",
      "[ -d dist ] && ls dist",
    ],
    ...[
      "awk '{print $1}' data.txt | sort -u",
      "awk -F, '$3 > 10 {print $2}' data.csv",
      "cut -d: -f1 data.txt",
      "tr a-z A-Z < data.txt",
      "jq .version package.json",
      "jq -r '.scripts | keys[]' package.json",
    ],
    ...[
      "cd src && ls",
      "cd src && grep -n foo main.ts | head",
      "ls src 2>/dev/null",
      "cat missing.txt 2>&1 | head",
      'for f in src/*.ts; do echo "$f"; done',
      "sha256sum package.json",
      "basename src/main.ts .ts",
    ],
    ...[
      "find . -type f -size +1M",
      "find src -name '*.ts' | xargs wc -l",
      "sort -k2 -n data.txt",
      "xxd logo.png | head -3",
      "tar tf backup.tar",
      "unzip -l backup.zip",
      "zcat log.gz | tail",
      "less -R README.md",
      "true",
      "nl -ba src/main.ts | sed -n '1,20p'",
    ],
  ],
  "any project, written where the write tool may": ["echo line >> notes.txt", "cat > notes.txt <<'EOF'\nhello\nEOF"],
  git: [
    ...[
      "git status",
      "git status -sb",
      "git diff",
      "git diff --stat",
      "git diff HEAD~1 -- src/main.ts",
      "git diff --cached",
      "git diff main...HEAD",
      "git log --oneline -10",
      "git log --oneline --graph --all -20",
      "git log -p -1 src/main.ts",
    ],
    ...[
      "git log --since='1 week ago' --author=me --pretty=format:'%h %s'",
      "git show",
      "git show HEAD~2 --stat",
      "git show HEAD:README.md",
      "git blame -L 1,20 src/main.ts",
      "git branch",
      "git branch -a",
      "git branch --show-current",
      "git branch -vv",
    ],
    ...[
      "git remote -v",
      "git remote get-url origin",
      "git tag",
      "git tag -l 'v*'",
      "git stash list",
      "git stash show -p",
      "git rev-parse HEAD",
      "git rev-parse --abbrev-ref HEAD",
      "git rev-parse --show-toplevel",
      "git ls-files",
      "git ls-files --others --exclude-standard",
    ],
    ...[
      "git config --get user.email",
      "git config --list",
      "git describe --tags --always",
      "git merge-base main HEAD",
      "git shortlog -sn",
      "git grep -n foo",
      "git reflog -5",
      "git worktree list",
      "git diff --name-only HEAD~3 | wc -l",
      "git --no-pager log -3",
      "git --version",
      "git diff --check",
      "git cat-file -p HEAD",
    ],
  ],
  npm: [
    "node --version",
    "npm --version",
    "npm ls --depth=0",
    "npm ls vitest",
    "cat package.json | jq .dependencies",
    "ls node_modules | wc -l",
    "ls node_modules/.bin",
    "npm explain vitest",
  ],
  cargo: [
    "cargo --version",
    "rustc --version",
    "cat Cargo.toml",
    "grep -n version Cargo.toml",
    "ls target/debug | head",
  ],
  go: [
    "go version",
    "go env GOPATH",
    "go doc fmt.Println",
    "cat go.mod",
    "gofmt -l .",
    "grep -rn 'func Test' --include='*_test.go' .",
  ],
  python: [
    "python3 --version",
    "pip list",
    "pip show requests",
    "pip freeze | head",
    "cat pyproject.toml",
    "cat requirements.txt | wc -l",
  ],
  make: [
    "make --version",
    "gcc --version",
    "grep -nE '^[a-z]+:' Makefile",
    "cat Makefile",
    "nm -C build/app | head",
    "pkg-config --libs zlib",
  ],
};

/** Commands that change the workspace, run its programs or reach the network: a person may be asked about them. */
const ACTS: { readonly [project: string]: readonly string[] } = {
  "any project": [
    ...[
      "mkdir -p src/api",
      "touch src/new.ts",
      "cp a.txt b.txt",
      "mv a.txt c.txt",
      "rm -f out.log",
      "rm -rf dist build",
      "chmod +x scripts/run.sh",
      "ln -s ../lib src/lib",
    ],
    ...[
      "sed -i 's/foo/bar/g' src/main.ts",
      "tar czf out.tgz dist",
      "tar xzf out.tgz",
      "unzip -q a.zip -d vendor",
      "tee log.txt < data.txt",
      "./scripts/run.sh",
      "bash scripts/run.sh",
      "docker compose up -d",
      "docker build -t app .",
      "docker ps",
      "patch -p1 < fix.patch",
    ],
  ],
  git: [
    ...[
      "git init",
      "git add -A",
      "git add src/main.ts",
      "git commit -m 'fix: a; b && c'",
      "git commit -am wip",
      "git commit --amend --no-edit",
      "git checkout -b topic",
      "git switch main",
      "git restore src/main.ts",
      "git reset --hard HEAD~1",
      "git reset HEAD src/main.ts",
    ],
    ...[
      "git stash",
      "git stash pop",
      "git merge topic",
      "git rebase main",
      "git cherry-pick abc123",
      "git revert --no-edit HEAD",
      "git pull --rebase",
      "git fetch --all --prune",
      "git push -u origin topic",
      "git push --force-with-lease",
      "git tag v1.0",
      "git branch -d topic",
    ],
    ...[
      "git clean -fd",
      "git rm --cached secret.txt",
      "git mv a.ts b.ts",
      "git clone https://example.org/x/y.git vendor/y",
      "git submodule update --init --recursive",
      "git worktree add out/topic",
      "git bisect start",
      "git apply fix.patch",
      "git config user.name Me",
    ],
  ],
  npm: [
    ...[
      "npm install",
      "npm ci",
      "npm install -D vitest",
      "npm uninstall left-pad",
      "npm run build",
      "npm test",
      "npm test -- --run src/a.test.ts",
      "npm run lint -- --fix",
      "npm outdated",
      "npm audit",
      "npm view react version",
      "npx vitest run",
      "npx tsc --noEmit",
      "npx eslint src --fix",
    ],
    ...[
      "npx prettier --check .",
      "pnpm install --frozen-lockfile",
      "pnpm -r build",
      "yarn add zod",
      "yarn test",
      "node scripts/build.mjs",
      "node --test",
      "node -e 'console.log(1)'",
      "tsc -p .",
      "vitest run",
      "rm -rf node_modules && npm ci",
      "NODE_ENV=test npm test",
      "CI=1 npm test 2>&1 | tail -50",
      "npm run dev &",
    ],
  ],
  cargo: [
    ...[
      "cargo build",
      "cargo build --release",
      "cargo check",
      "cargo test",
      "cargo test -p core -- --nocapture",
      "cargo clippy -- -D warnings",
      "cargo fmt",
      "cargo fmt --check",
      "cargo run -- --help",
      "cargo add serde --features derive",
      "cargo update",
      "cargo tree",
      "cargo doc --no-deps",
      "cargo clean",
      "cargo bench",
    ],
    ...["RUST_BACKTRACE=1 cargo test", "rustup show", "cargo metadata --format-version 1"],
  ],
  go: [
    ...[
      "go build ./...",
      "go test ./...",
      "go test -run TestX -v ./pkg",
      "go test -race -count=1 ./...",
      "go test -coverprofile=cover.out ./...",
      "go vet ./...",
      "go mod tidy",
      "go mod download",
      "go get example.org/x@latest",
      "go run ./cmd/app",
      "go generate ./...",
      "gofmt -w .",
      "go list -m all",
      "golangci-lint run",
      "go install ./cmd/app",
      "go fmt ./...",
    ],
  ],
  python: [
    ...[
      "python3 -m venv .venv",
      "pip install -r requirements.txt",
      "pip install -e .",
      "python3 -m pytest -q",
      "pytest",
      "pytest tests/test_a.py::test_b -x -q",
      "python3 script.py --flag",
      "python3 -c 'print(1)'",
      "ruff check .",
      "ruff format .",
      "black .",
      "mypy src",
      "uv sync",
      "uv run pytest",
      "poetry install",
      "tox -e py312",
      "python3 -m build",
      ".venv/bin/python -m pytest",
    ],
  ],
  make: [
    "make",
    "make test",
    "make -j4",
    "make clean && make all",
    "make -C src",
    "make CC=clang",
    "cmake -S . -B build",
    "cmake --build build",
    "ctest --test-dir build",
    "ninja -C build",
    "gcc -O2 -Wall main.c -o main",
    "./main --help",
    "clang-format -i src/a.c",
    "make install DESTDIR=out",
  ],
};

let world: Layout;
const judged: { command: string; looks: boolean; decision: Decision }[] = [];

beforeAll(async () => {
  world = await layout();
  await world.file("src/main.ts");
  await world.file("package.json", '{"version":"1.0.0"}\n');
  const toolkit = await world.toolkit({ policy: { forbiddenPaths: world.forbiddenPaths } });
  for (const [table, looks] of [
    [LOOKS, true],
    [ACTS, false],
  ] as const) {
    for (const command of Object.values(table).flat()) {
      judged.push({ command, looks, decision: await toolkit.judge([{ kind: "exec", command }]) });
    }
  }
});

describe("a day of everyday commands", () => {
  test("is long enough to say something", () => {
    expect(judged.length).toBeGreaterThanOrEqual(250);
    expect(new Set(judged.map(({ command }) => command)).size).toBe(judged.length);
  });

  test("none of them is refused in supervised autonomy", () => {
    const refused = judged.filter(({ decision }) => decision.verdict === "deny");
    expect(refused.map(({ command, decision }) => `${command}: ${decision.reason ?? ""}`)).toEqual([]);
  });

  test("of those that only look at most one in twenty asks", () => {
    const looking = judged.filter(({ looks }) => looks);
    const asking = looking.filter(({ decision }) => decision.verdict !== "allow");
    const all = judged.filter(({ decision }) => decision.verdict === "ask");
    const list = asking.map(({ command, decision }) => `\n  ${command}: ${decision.reason ?? ""}`).join("");
    console.log(
      `${all.length} of ${judged.length} everyday commands ask; of the ${looking.length} that only look: ${asking.length}${list}`,
    );
    expect(asking.length / looking.length).toBeLessThanOrEqual(0.05);
  });

  test("those that change something or run the project's programs are asked about", () => {
    const unasked = judged.filter(({ looks, decision }) => !looks && decision.verdict === "allow");
    expect(unasked.map(({ command }) => command)).toEqual([]);
  });

  test("they are understood: what is asked about is asked about because of what it does", () => {
    const unclear = judged.filter(({ looks, decision }) => !looks && decision.rule === "not_understood");
    expect(unclear.map(({ command, decision }) => `${command}: ${decision.reason ?? ""}`)).toEqual([]);
  });
});
