// What the policy marks as ordinary work on the project: where a sandbox contains commands, that runs unasked. The mark says nothing of whether
// it is risky, only of what kind the risk is, so it must be strict: what is not marked is asked about.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Decision } from "../../../src/contract/decision.ts";
import { lookUp } from "../../../src/policy/commands/look-up.ts";
import { walkScript } from "../../../src/policy/commands/walk.ts";
import { layout } from "../../support/layout.ts";
import { ACTS } from "../everyday.ts";

/** All that is risky in it is ordinary work. */
function isOrdinary(script: string, cwd = "/srv/ws", home = "/home/dev"): boolean {
  const { parts } = walkScript(script, { cwd, home, lookUp });
  return parts.every(({ ordinary }) => ordinary === true);
}

describe("ordinary work on the project is", () => {
  test.each(
    [
      // Builds, tests and checks, with the project's own tools.
      ["npm test", "npm run build -- --watch", "npx vitest run src/a.test.ts", "npx tsx scripts/a.ts", "node --test"],
      [
        "NODE_ENV=test npm test 2>&1 | tail -5",
        "cd packages/app && npm run build",
        "pnpm exec tsc -p .",
        "eslint . --fix",
      ],
      ["cargo build --release", "cargo test -- --nocapture", "go test ./...", "go build -o out/app .", "gofmt -w ."],
      [
        "pytest -q",
        "python3 -m pytest -x -q --cov=src tests",
        "python -m unittest discover",
        "python -m coverage report",
        "python3 -m venv .venv",
      ],
      ["ruff check . --fix", "mypy src", "uv run pytest -q", "uv run --frozen python -m pytest", "poetry run mypy src"],
      ["make", "make -j4 CC=clang CFLAGS='-O2 -g'", "cmake -S . -B build", "cmake --build build", "ninja -C build"],
      [
        "gcc -O2 -Wall main.c -o main",
        "mvn -q test",
        "gradle build",
        "java -jar out/app.jar",
        "clang-format -i src/a.c",
      ],
      [
        "dotnet test -c Release",
        "cmake -B out -DCMAKE_BUILD_TYPE=Release",
        "bundle exec rspec",
        "mix test",
        "deno test",
        "bun run build",
        "zig build test",
        "composer install",
      ],
      // Scripts of its own, by their path.
      [
        "./gradlew build",
        "./scripts/test.sh --all",
        "./configure",
        "./main --help",
        "curl -s http://localhost:3000/health",
        ".venv/bin/python -m pytest -q",
        "./node_modules/.bin/vitest run",
        "node_modules/.bin/tsc -p .",
        "venv/bin/python script.py",
        "bash scripts/a.sh",
        "sh -e a.sh b",
      ],
      [
        "node scripts/build.mjs",
        "python3 tools/a.py --flag",
        "ruby a.rb",
        "perl a.pl",
        "php artisan test",
        "tsx src/a.ts",
      ],
      // Installs.
      [
        "npm ci",
        "npm install -D vitest",
        "yarn add zod",
        "pnpm install --frozen-lockfile",
        "pip install -r requirements.txt",
      ],
      [
        "python3 -m pip install -e .",
        "uv sync",
        "poetry install",
        "go mod tidy",
        "go get example.org/x",
        "cargo add serde",
      ],
      // Files of the workspace.
      ["mkdir -p src/api", "touch a", "cp a b", "mv a b", "rm -rf dist node_modules", "chmod +x a.sh", "ln -s a b"],
      [
        "sed -i s/a/b/ a.txt",
        "tar czf out.tgz dist",
        "tar xzf out.tgz",
        "unzip -q a.zip -d out",
        "gzip a.txt",
        "tee a < b",
      ],
      ["patch -p1 < fix.patch", "sort -o a a", "echo a > b", "rimraf dist", "git clean -fd"],
      // git, as far as it stays here.
      [
        "git add -A && git commit -m 'x; y'",
        "git checkout -b topic",
        "git merge topic",
        "git rebase main",
        "git stash pop",
      ],
      [
        "git tag v1.0",
        "git branch -d topic",
        "git cherry-pick abc",
        "git reset HEAD a",
        "git mv a b",
        "git apply a.patch",
      ],
      ["git worktree add out/topic", "git init", "git restore a", "git diff --output=out.patch", "git gc"],
      // The same, run by something that is seen through.
      [
        "timeout 60 npm test",
        "env CI=1 npm test",
        "nice -n 5 make",
        "sh -c 'npm test'",
        "command npm test",
        "time npm test",
      ],
      [
        "cross-env CI=1 vitest run",
        "if npm test; then git add -A; fi",
        "for f in a b; do touch $f.txt; done || npm test",
      ],
    ].flat(),
  )("%s", (script) => {
    // The loop's file is not known before it runs, which is another matter.
    expect(isOrdinary(script)).toBe(!script.includes("$f"));
  });
});

test.each([
  "git push -u origin topic",
  "git pull --rebase",
  "git fetch --all",
  "git clone ./a b",
  "git ls-remote origin",
  "ls && git push",
])("ordinary without a network is: %s", (script) => {
  const { parts } = walkScript(script, { cwd: "/srv/ws", home: "/home/dev", lookUp });
  expect(parts.map(({ ordinary }) => ordinary)).toContain("offline");
  expect(parts.every(({ ordinary }) => ordinary !== false)).toBe(true);
});

describe("not ordinary is", () => {
  test.each(
    [
      // Program text.
      [
        "node -e 'x'",
        "node -p 1",
        "python -c 'x'",
        "python3 -",
        "python3 < a.py",
        "perl -e x",
        "perl -pe s/a/b/ a",
        "ruby -e x",
      ],
      [
        "deno eval x",
        "bun -e x",
        "awk 'BEGIN{system(\"id\")}'",
        "sed 's/x/id/e' a",
        "sed '1e id' a",
        "php -r x",
        "lua -e x",
      ],
      ["npx -c 'make'", "npx node -e x", "npx tsx -e x", "uv run python -c x", "poetry run sh -c x", "yarn node -e x"],
      [
        "npx env make",
        "bundle exec ruby -e x",
        "pnpm dlx $x",
        "eval 'npm test'",
        "bash -s",
        "bash < a.sh",
        "bash - a.sh",
      ],
      ["bash <(npm test)", "node /dev/stdin", "python /proc/self/fd/0", "bash +x a.sh", "dlv exec x", "mix run -e x"],
      // Options that run other programs.
      ["find . -exec touch {} +", "find . -delete", "fd -x touch {}", "git rebase -x 'npm test' main", "xargs touch"],
      [
        "git bisect run npm test",
        "git submodule foreach 'npm test'",
        "make SHELL=./p",
        "make CC='sh -c x'",
        "cmake -E env x",
      ],
      [
        "gcc -wrapper ./p a.c",
        "gcc @options",
        "rustc -C linker=./p a.rs",
        "java -javaagent:x.jar A",
        "go test -exec ./p .",
      ],
      [
        "tar -I ./p -xf a.tar",
        "sed -f a.sed b",
        "gawk -f a.awk b",
        "concurrently 'npm test'",
        "nodemon -x make",
        "c8 node -e x",
      ],
      ["node -r ./a.js b.js", "npm exec -c 'npm test'", "parallel npm ::: test", "watch npm test", "busybox touch a"],
      // What is not known here, and what goes by a tool's name.
      [
        "frobnicate",
        "npm frobnicate",
        "npm install --script-shell=./p",
        "bin/node app.js",
        "./ls",
        "./make",
        "$x test",
      ],
      [
        "/usr/bin/make",
        "source ./env.sh",
        "f() { npm test; }; f",
        "FOO=1 npm test",
        "PATH=. npm test",
        "npm test $(( x ))",
      ],
      // Processes, users, the environment; what stays behind.
      [
        "nohup npm test",
        "setsid npm test",
        "printenv",
        "env",
        "id",
        "ps aux",
        "kill 1",
        "pm2 start a.js",
        "bash -l a.sh",
      ],
      // Settings that change what runs later, and what is shared.
      [
        "npm config set a b",
        "npm set a=b",
        "git config user.name x",
        "git remote set-url a b",
        "go generate ./...",
        "go env -w A=b",
      ],
      [
        "npm install -g x",
        "npm link",
        "git lfs install",
        "husky install",
        "pre-commit install",
        "git maintenance start",
      ],
      [
        "git tag -s v1",
        "git commit -S -m x",
        "mvn -q deploy",
        "gradle publishToMavenLocal",
        "deno run -",
        "chmod u+s a",
        "conda install x",
        "rustup update",
        "nvm use 20",
        "pip config set a b",
      ],
      // Other machines and accounts.
      [
        "git push",
        "git pull",
        "git fetch",
        "git clone a b",
        "git ls-remote a",
        "gh pr list",
        "docker ps",
        "kubectl get pods",
      ],
      [
        "npm publish",
        "npm whoami",
        "cargo publish",
        "twine upload x",
        "curl https://x.example",
        "ssh a b",
        "prisma migrate",
      ],
      ["npm install --registry https://x.example", "pip install -i https://x.example y", "vercel", "wrangler publish"],
    ].flat(),
  )("%s", (script) => {
    expect(isOrdinary(script)).toBe(false);
  });
});

interface Vector {
  readonly area: string;
  readonly kind: string;
  readonly input: string;
  readonly expect: string;
}

test("no case of the security file that a person must see would run unasked in a sandbox", async () => {
  const world = await layout();
  const toolkit = await world.toolkit({ policy: { forbiddenPaths: world.forbiddenPaths } });
  const all = JSON.parse(
    readFileSync(new URL("../../fixtures/security.json", import.meta.url), "utf8"),
  ) as readonly Vector[];
  const cases = all.filter(({ area, expect: expected }) => area === "shell" && expected === "approve");
  const unasked: string[] = [];
  for (const { input } of cases) {
    const decision = await toolkit.judge([{ kind: "exec", command: input }]);
    if (isLeftToSandbox(input, decision, world)) unasked.push(input);
  }
  expect(cases.length).toBeGreaterThan(25);
  expect(unasked).toEqual([]);
});

test("of the everyday commands that act, nearly all that stay in the project are ordinary", () => {
  const acts = Object.values(ACTS).flat();
  const asked = acts.filter((command) => !isOrdinary(command));
  console.log(`${acts.length - asked.length} of ${acts.length} everyday acts are ordinary; not: ${asked.join(" · ")}`);
  const elsewhere = /^(docker|git (push|pull|fetch|clone|submodule|config)|go generate|rustup|npm outdated)|(-e|-c) '/;
  expect(asked.filter((command) => !elsewhere.test(command))).toEqual([]);
});

/** Asked about for medium risk alone, and ordinary. */
function isLeftToSandbox(
  script: string,
  { verdict, risk }: Decision,
  { workDir, home }: { readonly workDir: string; readonly home: string },
): boolean {
  return verdict === "allow" || (verdict === "ask" && risk !== "high" && isOrdinary(script, workDir, home));
}
