// Which forms of a configured program are proven to run nothing that a model could have written.
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createProgramTrust } from "../../../src/app/config/program-trust.ts";
import { createTrust } from "../../../src/app/config/trust.ts";
import { ioHere } from "../../cli/program.ts";
import { onlyCodeOf } from "../../../src/cli/hook-proof.ts";
import { programsOf } from "../../../src/cli/hooks.ts";
import { placing } from "../../../src/cli/sources.ts";
import { temporaryFolder, workspace } from "../../support/workspace.ts";
import { words } from "../../../src/core/util/text.ts";

/** A workspace, and a folder outside with a server and a link to the workspace. */
async function places() {
  const [folder, outside] = [await workspace({ "a b/x.py": "", "a b/sub/x.mjs": "" }), temporaryFolder()];
  const workDir = join(folder, "a b"); // a blank in the name is no end of a path
  await mkdir(join(workDir, "node_modules/.bin"), { recursive: true });
  await writeFile(join(outside, "server.mjs"), "");
  await symlink(workDir, join(outside, "link"));
  const trust = createProgramTrust({ trust: createTrust(temporaryFolder()), workDir });
  const filled = (text: string) => text.replaceAll("DIR", workDir).replaceAll("OUT", outside);
  return { workDir, trust, filled };
}

type Row = readonly [argv: readonly string[], env?: { readonly [name: string]: string }];

const CONTAINED: readonly Row[] = [
  [["python3", "DIR"]],
  [["python3", "DIR/sub"]],
  [["python3", "OUT/link"]],
  [["sh", "-c", "exec DIR/x"]],
  [["sh", "-c", "cd OUT && ../x"]],
  [["sh", "-c", "cd ~; app/x"]],
  [["sh", "-c", '"$HOME"/app/x']],
  [["bash", "-lc", "DI*R/x; DIR/x"]],
  [["make", "-C", "DIR"]],
  [["make", "-CDIR"]],
  [["make", "--directory=DIR"]],
  [["env", "--chdir=DIR", "npm", "start"]],
  [["env", "-C", "DIR", "npm", "start"]],
  [["env", "PYTHONPATH=DIR", "python3", "-m", "p"]],
  [["npm", "--prefix", "DIR", "run", "serve"]],
  [["npm", "--prefix=DIR", "run", "serve"]],
  [["node", "--import", "file://DIR/sub/x.mjs"]],
  [["node", "--import", "file://DIR/sub/%78.mjs"]],
  [["node", "--import", "file://localhostDIR/sub/x.mjs"]],
  [["node", "--eval", 'import("DIR/sub/x.mjs")']],
  [["uv", "--directory", "DIR", "run", "server"]],
  [["docker", "run", "-v", "DIR:/app", "image"]],
  [["DIR/node_modules/.bin/server"]],
  [["OUT/link/node_modules/.bin/server"]],
  [["python3", "x.py"]],
  [["python3", "-m", "p"], { PYTHONPATH: "DIR" }],
  [["python3", "-m", "p"], { PYTHONPATH: "/usr/lib/x:DIR/lib" }],
  [["node", "OUT/server.mjs"], { NODE_OPTIONS: "--require DIR/sub/x.cjs" }],
  [["node", "OUT/server.mjs"], { NODE_PATH: "DIR/node_modules" }],
  [["java", "Main"], { OPTS: "-javaagent:DIR/agent.jar" }],
  [["server"], { PATH: "DIR/node_modules/.bin:/usr/bin" }],
];

test.for(CONTAINED)("is contained, or trusted by its name: %j", async ([argv, env = {}]) => {
  const { workDir, trust, filled } = await places();
  const setEnv = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, filled(value)]));
  const place = placing(trust, workDir);
  expect(await place("mcp:x", argv.map(filled), { setEnv })).toMatchObject({ sandbox: true });
  const opened = await place("mcp:x", argv.map(filled), { setEnv, sandbox: false });
  expect(opened).toMatchObject({ sandbox: false, opened: { source: "mcp:x" } });
  expect(await trust.mayStart(argv.map(filled), opened.opened)).toContain("handrail trust");
});

const OUTSIDE: readonly Row[] = [
  [["npx", "-y", "@modelcontextprotocol/server-memory@1.2.3"]],
  [["npx", "-y", "mcp-remote", "https://example.org/sse?a=1&b=2"]],
  [["npx", "mcp-remote", "https://example.org/mcp", "--header", "Authorization: Bearer ${TOKEN}"]],
  [["npx", "mcp-remote", "https://example.org/mcp", "--header", "Accept: application/json"]],
  [["uvx", "mcp-server-time", "--local-timezone=Europe/Zurich"]],
  [["docker", "run", "-i", "--rm", "-e", "TOKEN", "ghcr.io/github/github-mcp-server"]],
  [["node", "OUT/server.mjs", "--port", "8080"]],
  [["node", "OUT/server.mjs"], { NODE_OPTIONS: "--max-old-space-size=512", TOKEN: "a/b+c==" }],
  [["python3", "-m", "p"], { PYTHONPATH: "/usr/lib/x" }],
  [
    ["npx", "-y", "server"],
    { DATABASE_URL: "postgres://ada:a;b|c@db.example.org/x?sslmode=require&y=1", KEY: "a/=$*" },
  ],
];

test.for(OUTSIDE)("is proven, and starts outside: %j", async ([argv, env = {}]) => {
  const { workDir, trust, filled } = await places();
  const setEnv = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, filled(value)]));
  const placed = await placing(trust, workDir)("mcp:x", argv.map(filled), { setEnv });
  expect(placed).toEqual({ sandbox: false, cwd: undefined, opened: undefined });
});

const UNLISTED = words(`
  rubocop pylint terraform eslint prettier tsc jest vitest mocha make just task cargo go gradle mvn rake bundle poetry uv
  uvx pipenv tox nox pre-commit pytest npm npx pnpm yarn bun deno black ruff flake8 mypy isort bandit rspec brakeman
  phpunit phpcs phpstan composer swiftlint ktlint detekt golangci-lint buf ansible-lint tflint hadolint shellcheck
  markdownlint stylelint standard xo biome oxlint dprint turbo nx lerna rollup webpack vite esbuild tsx ts-node mix
  rebar3 stack cabal dotnet msbuild cmake ctest ninja meson bazel buck pants earthly docker podman kubectl helm pulumi
  serverless sam cdk git gh hg svn vim emacs code find parallel watch entr direnv mise asdf
`);

async function openedIn(command: string): Promise<boolean> {
  const { workDir, trust } = await places();
  const found = await programsOf(ioHere().io, { type: "command", command }, "PreToolUse", workDir, trust);
  const whys = await Promise.all(found.map(({ argv, opened }) => trust.mayStart(argv, opened)));
  return whys.every((why) => why === undefined);
}

test(`a hook that runs one of ${UNLISTED.length} programs in the workspace is trusted by its name`, () => {
  const proven = UNLISTED.flatMap((name) => [[name], [name, "--fix"], [`/usr/bin/${name}`, "."]]).filter(
    (argv) => onlyCodeOf({ argv, assigns: [], isRead: false }) !== undefined,
  );
  expect(proven).toEqual([]);
});

test.for([
  "./x.py",
  "python3 x.py",
  "cd sub && node x.mjs",
  "sh < x.py",
  "cat x.py | sh",
  ". ./x.py",
  "source x.py",
  'bash -c "$(cat x.py)"',
  "python3 -c 'exec(open(\"x.py\").read())'",
  "env -C sub node x.mjs",
  "./x.p?",
  '"$PWD"/x.py',
  "find . -name x.py -exec sh {} +",
  "ls x.py | xargs sh",
  "BASH_ENV=x.py bash /usr/share/check.sh",
  "PATH=.:$PATH check",
  "export PATH=.:$PATH; cat x",
  "awk -f x.py",
  'eval "$(cat x.py)"',
  "x() { ./x.py; }; x",
  "timeout 5 python3 -m x",
  "$CLAUDE_PROJECT_DIR/x.py",
])("a hook does not run a script of the workspace untrusted: %s", async (command) => {
  expect(await openedIn(command)).toBe(false);
});

test.for([
  "jq -r .tool_name",
  "cat > /dev/null; exit 0",
  "python3 ~/.claude/hooks/check.py",
  "$HOME/.claude/hooks/protect.sh",
  "jq -r '.tool_input.file_path' | xargs sed -i 's/ *$//'",
  "timeout 5 bash /etc/hooks/check.sh --strict",
  "curl -s -d @- https://example.org/hook",
  '[ -f package.json ] && echo "there is one" >&2',
])("a hook that takes no code from the workspace runs as it is: %s", async (command) => {
  expect(await openedIn(command)).toBe(true);
});
