/**
 * Prepares a fresh clone. Runs before every npm script (`pretest`, `prestart`, `precheck`, …).
 *
 * In:  package.json (engines, dependencies), package-lock.json, and the PATH of this machine. Has no dependencies.
 * Out: node_modules as in the lock file, and the system programs below. Reports what it does on stderr, and nothing if
 *      there is nothing to do. Exit code 1, with one sentence, when it cannot install something that is missing.
 */
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { withLock } from "./lib/lock.mjs";

/** Programs that the tests start, with their Debian packages. There is no other such list. */
const SYSTEM_PROGRAMS = [
  { program: "git", debianPackage: "git" },
  { program: "bash", debianPackage: "bash" },
  // Exists only on Linux. On other systems, the tests that need it report that they are skipped.
  ...(process.platform === "linux" ? [{ program: "bwrap", debianPackage: "bubblewrap" }] : []),
  // For commands and project builds in the sandbox, and for other targets. Rust alone downloads some 60 MB, the
  // container engines 80 MB. So these are installed only with CI=true; otherwise the tests that need them are skipped.
  ...(process.env["CI"] === "true"
    ? [
        { program: "curl", debianPackage: "curl" },
        { program: "cc", debianPackage: "gcc" },
        { program: "make", debianPackage: "make" },
        { program: "python3", debianPackage: "python3-venv" },
        { program: "jq", debianPackage: "jq" },
        { program: "cargo", debianPackage: "cargo" },
        // Container engines and the content of their images; ssh, its server, and login shells.
        { program: "dockerd", debianPackage: "docker.io" },
        { program: "podman", debianPackage: "podman" },
        { program: "runc", debianPackage: "runc" },
        { program: "newuidmap", debianPackage: "uidmap" },
        { program: "busybox", debianPackage: "busybox-static" },
        { program: "tmux", debianPackage: "tmux" },
        { program: "ssh", debianPackage: "openssh-client" },
        { program: "sshd", debianPackage: "openssh-server" },
        { program: "zsh", debianPackage: "zsh" },
        // Drives the page of the console; 110 MB.
        { program: "chromium", debianPackage: "chromium" },
        { program: "Xvfb", debianPackage: "xvfb" },
        // The server's own programs are not on the PATH.
        { program: "pg_lsclusters", debianPackage: "postgresql" },
        { program: "redis-server", debianPackage: "redis-server" },
        { program: "shellcheck", debianPackage: "shellcheck" },
      ]
    : []),
];

const projectRoot = dirname(dirname(fileURLToPath(import.meta.url)));

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    setUp(projectRoot);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}

/**
 * Installs what is missing in the checkout at `root`. Throws an `Error` whose message names what is missing and what to
 * do.
 *
 * @param {string} root
 */
export function setUp(root) {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  requireNode(manifest.engines.node);
  installPrograms();
  installPackages(root);
}

/** @param {string} range as in package.json: `>=20.19` */
function requireNode(range) {
  const wanted = numbers(range);
  const found = numbers(process.versions.node);
  const enough = found[0] !== wanted[0] ? found[0] > wanted[0] : found[1] >= wanted[1];
  if (!enough) {
    throw new Error(
      `Node ${range} is needed, this is ${process.versions.node}. Install a newer Node, then run this again.`,
    );
  }
}

/**
 * Returns the major and minor number of a version, or of the lower end of a range.
 *
 * @param {string} version
 * @returns {[major: number, minor: number]}
 */
function numbers(version) {
  const match = /(\d+)(?:\.(\d+))?/.exec(version);
  if (!match) throw new Error(`engines.node in package.json: expected a version such as ">=20.19", got ${version}`);
  return [Number(match[1]), Number(match[2] || 0)];
}

function installPrograms() {
  const missing = SYSTEM_PROGRAMS.filter(({ program }) => !onPath(program));
  if (missing.length === 0) return;
  const packages = missing.map(({ debianPackage }) => debianPackage);
  const names = missing.map(({ program }) => program).join(", ");
  const isRoot = typeof process.getuid === "function" && process.getuid() === 0;
  if (!isRoot || !onPath("apt-get")) {
    throw new Error(`Missing on this machine: ${names}. On Debian: sudo apt-get install ${packages.join(" ")}`);
  }
  say(`installing ${names} with apt-get …`);
  const environment = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  run("apt-get", ["update", "-qq"], { env: environment });
  run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...packages], { env: environment });
}

/** @param {string} program */
function onPath(program) {
  return (process.env["PATH"] || "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * Runs `npm ci` unless the installed packages match package.json and package-lock.json. Compares versions, not
 * times, which a checkout or a branch switch changes.
 *
 * @param {string} root
 */
function installPackages(root) {
  if (isInstalled(root)) return;
  withLock(`install ${root}`, () => {
    if (isInstalled(root)) return;
    say("installing npm packages …");
    // --include=dev: NODE_ENV=production or an omit setting must not exclude what the build and the tests need.
    run("npm", ["ci", "--no-audit", "--no-fund", "--include=dev"], { cwd: root });
  });
}

/**
 * Returns true when node_modules has every package of the lock file in its version (except those for other platforms),
 * and the lock file has what package.json requires.
 *
 * @param {string} root
 */
function isInstalled(root) {
  const files = ["package.json", "package-lock.json", "node_modules/.package-lock.json"].map((file) =>
    join(root, file),
  );
  if (!files.every((file) => existsSync(file))) return false;
  const [manifest, lock, installed] = files.map((file) => JSON.parse(readFileSync(file, "utf8")));
  const { "": asked, ...wanted } = lock.packages;
  const sections = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
  return (
    sections.every((section) => listed(manifest[section]) === listed(asked[section])) &&
    Object.keys(wanted).every((path) => {
      const there = installed.packages[path];
      return there ? there.version === wanted[path].version : wanted[path].optional === true;
    })
  );
}

/**
 * Returns one text for the same packages in any order.
 *
 * @param {Record<string, string>} [packages]
 */
function listed(packages = {}) {
  return Object.entries(packages)
    .map(([name, version]) => `${name}@${version}`)
    .sort()
    .join(" ");
}

/**
 * Runs a program with its output on stderr, so that the stdout of a script contains only its own output.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 */
function run(program, args, options = {}) {
  const { status, error } = spawnSync(program, args, { ...options, stdio: ["ignore", 2, 2] });
  if (status === 0) return;
  const ending = error ? error.message : `it ended with ${status === null ? "a signal" : `code ${status}`}`;
  throw new Error(`\`${[program, ...args].join(" ")}\` did not succeed: ${ending}. Its own output is above.`);
}

/** @param {string} message */
function say(message) {
  process.stderr.write(`setup: ${message}\n`);
}
