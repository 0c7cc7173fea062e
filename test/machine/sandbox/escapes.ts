// Attempts to escape from the sandbox. Each is a script of the workspace that a model has a toolkit run, like a
// poisoned `npm test`, and is repeated without the sandbox, where it must succeed. The result is examined from outside,
// whatever the script prints.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { projectRoot } from "../../../scripts/lib/project.mjs";
import { pause } from "../../../src/core/util/abort.ts";
import { representatives } from "../../support/cases.ts";
import { afterFile } from "../../support/after-file.ts";
import { requireProgram } from "../../support/here.ts";
import { noSandbox } from "./world.ts";

export interface Escape {
  readonly name: string;
  /** The mechanism that prevents it, for docs/sandbox.md. */
  readonly heldBy: string;
  /** Bash commands, run one after another, starting in the workspace. */
  readonly attempt: (site: Site) => string | readonly string[];
  /** Prepares what must exist before. Returns a function that removes it. */
  readonly prepare?: (site: Site) => unknown;
  /** Returns whether it escaped. */
  readonly escaped: (site: Site) => boolean | Promise<boolean>;
  /** Arguments of the bash tool in addition to the command. */
  readonly input?: (site: Site) => object;
  /** Who tries it. Default: anyone who can. */
  readonly as?: "root" | "user";
  /** Why it is not tried without the sandbox. */
  readonly notOutside?: string;
}

/** A workspace, a home with secrets, what is next to them, and a toolkit. */
export interface Site {
  readonly contained: boolean;
  readonly isRoot: boolean;
  /** Part of no other name on this machine. */
  readonly mark: string;
  readonly root: string;
  readonly workDir: string;
  readonly home: string;
  readonly outside: string;
  /** Part of every secret. */
  readonly secret: string;
  readonly toolkit: ChildProcess;
  /** Words that make a command run as the user. */
  readonly own: readonly string[];
  /** Creates a file that belongs to the user. A relative path is below the root. */
  file(path: string, content?: string, mode?: number): string;
  /** Runs a script through the toolkit. */
  run(script: string, input?: object): Promise<Ran>;
  /** Runs a script as the person would, without a toolkit. */
  person(script: string): string;
  close(): Promise<void>;
}

export interface Ran {
  readonly status: string;
  readonly code: number | null;
  readonly text: string;
}

export interface User {
  readonly name: "root" | "user";
  /** The id of an ordinary user of this machine. Default: the user who runs the tests. */
  readonly id?: number;
}

/** The user who runs the tests. */
export const RUNNER: User = { name: process.getuid?.() === 0 ? "root" : "user" };

/** Another, ordinary user, as whom only root can run programs. */
export const SECOND_USER: User = { name: "user", id: 65_534 };

const LIBRARY = join(projectRoot, "dist");
const DRIVER = join(projectRoot, "test/fixtures/sandbox/toolkit.mjs");

/** Registers tests of escapes as a user: of all for a second one, for the runner of the tests as `ofEachMechanism`. */
export function tryEscapes(user: User, escapes: readonly Escape[], options: object = {}): void {
  describe.skipIf(noSandbox !== undefined)(`as ${user.name}`, () => {
    const sites = siteOf(user, options);
    const mine = escapes.filter(({ as = user.name }) => as === user.name);
    const chosen = user === RUNNER ? ofEachMechanism(mine) : mine;
    test.each(chosen.map((escape) => [escape.name, escape] as const))("%s is held", async (_, escape) => {
      const [held, free] = await Promise.all([
        tried(escape, sites.walled()),
        escape.notOutside === undefined ? tried(escape, sites.free()) : undefined,
      ]);
      expect(held.escaped, held.said).toBe(false);
      if (free !== undefined) expect(free.escaped, `without the sandbox: ${free.said}`).toBe(true);
    });
  });
}

/** Returns one escape for each mechanism; in the project "system" all. */
function ofEachMechanism(escapes: readonly Escape[]): readonly Escape[] {
  const firsts = escapes.filter((one) => one === escapes.find(({ heldBy }) => heldBy === one.heldBy));
  return representatives([...firsts, ...escapes.filter((one) => !firsts.includes(one))], firsts.length);
}

function siteOf(user: User, options: object): { walled(): Site; free(): Site } {
  let sites: readonly Site[] = [];
  beforeAll(async () => {
    sites = [openSite(user, true, options), openSite(user, false, options)];
    await Promise.all(sites.map((site) => site.run("true")));
  }, 60_000);
  afterAll(async () => {
    await Promise.all(sites.map((site) => site.close()));
  });
  const at = (index: number) => {
    const site = sites[index];
    if (site === undefined) throw new Error("it was not made");
    return site;
  };
  return { walled: () => at(0), free: () => at(1) };
}

/** The effects of an attempt are visible after at most this time. Milliseconds. */
const SHOWS_MS = 10_000;

async function tried(escape: Escape, site: Site): Promise<{ readonly escaped: boolean; readonly said: string }> {
  requireProgram("perl"); // most scripts have it make the system call that matters
  const undo = await escape.prepare?.(site);
  const said: string[] = [];
  try {
    for (const script of [escape.attempt(site)].flat()) said.push((await site.run(script, escape.input?.(site))).text);
    // Outside the sandbox, the effects have time to appear.
    const deadlineMs = Date.now() + (site.contained ? 0 : SHOWS_MS);
    let escaped = await escape.escaped(site);
    while (!escaped && Date.now() < deadlineMs) {
      await pause(20);
      escaped = await escape.escaped(site);
    }
    return { escaped, said: said.join("\n") };
  } finally {
    if (typeof undo === "function") await undo();
    rmSync(lootOf(site), { force: true });
  }
}

/** Where a script puts what it has found: in the workspace, from where it can be fetched. */
export const lootOf = ({ workDir }: Site) => join(workDir, "loot");

/** Returns a script that copies what is at a path to the loot. */
export const stealing = (path: string) => `cat ${path} >>loot`;

export const hasLoot = (site: Site) =>
  existsSync(lootOf(site)) && readFileSync(lootOf(site), "latin1").includes(site.secret);

const open = new Set<Site>();
afterFile(() => Promise.all([...open].map((site) => site.close())));

/** Opens a world; with `contained` false without a sandbox. Closed at the end of the test file at the latest. */
export function openSite(user: User, contained: boolean, options: object = {}): Site {
  const place = user.id === undefined ? homedir() : ["/home", "/srv"].find((path) => existsSync(path));
  const root = realpathSync(mkdtempSync(join(place ?? homedir(), "handrail-test-")));
  const mark = root.slice(root.lastIndexOf("-") + 1);
  const [workDir, home, outside, library] = ["ws", "home", "outside", "library"].map((name) => join(root, name)) as [
    string,
    string,
    string,
    string,
  ];
  const secret = `swordfish-${mark}`;
  for (const folder of [workDir, home, outside]) mkdirSync(folder);
  const own = user.id === undefined ? [] : ["setpriv", `--reuid=${user.id}`, `--regid=${user.id}`, "--clear-groups"];
  // Another user may have no access to this checkout.
  cpSync(LIBRARY, join(library, "dist"), { recursive: true, filter: (path) => !path.endsWith("/types") });
  cpSync(DRIVER, join(library, "toolkit.mjs"));
  const file = (path: string, content = "", mode = 0o644) => {
    const at = path.startsWith("/") ? path : join(root, path);
    for (let folder = dirname(at); !existsSync(folder); folder = dirname(folder)) made.push(folder);
    mkdirSync(dirname(at), { recursive: true });
    writeFileSync(at, content, { mode });
    made.push(at);
    for (const each of made.splice(0)) if (user.id !== undefined) lchownSync(each, user.id, user.id);
    return at;
  };
  const made: string[] = [];
  for (const path of SECRETS) file(join(home, path), `${secret}\n`, 0o600);
  file("home/.gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n");
  file("outside/file", `${secret}\n`);
  for (const path of ["", ...readdirSync(root, { recursive: true, encoding: "utf8" })])
    if (user.id !== undefined && !path.startsWith("library")) lchownSync(join(root, path), user.id, user.id);

  const environment = { PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", HOME: home, LANG: "C.UTF-8" };
  const [program, ...words] = [...own, process.execPath, join(library, "toolkit.mjs")];
  const toolkit = spawn(program, words, { cwd: workDir, stdio: ["pipe", "pipe", "inherit"], env: environment });
  const waiting = new Map<number, (ran: Ran) => void>();
  createInterface({ input: toolkit.stdout }).on("line", (line) => {
    const { id, ...ran } = JSON.parse(line) as Ran & { id: number };
    waiting.get(id)?.(ran);
    waiting.delete(id);
  });
  const gone = new Promise<void>((resolve) => toolkit.once("exit", () => resolve()));
  const tell = (what: object) => toolkit.stdin.write(`${JSON.stringify(what)}\n`);
  toolkit.stdin.on("error", () => undefined);
  // What the policy would refuse or ask about is allowed: only the sandbox protects.
  const policy = {
    autonomy: "full",
    workspaceOnly: false,
    forbiddenPaths: ["conf/secret"],
    blockHighRiskCommands: false,
  };
  const { policy: more = {}, ...rest } = options as { policy?: object };
  tell({
    library: join(library, "dist/index.js"),
    options: { workDir, sandbox: contained ? "on" : "off", policy: { ...policy, ...more }, ...rest },
  });
  let count = 0;
  const site: Site = {
    contained,
    isRoot: user.name === "root",
    mark,
    root,
    workDir,
    home,
    outside,
    secret,
    toolkit,
    own,
    file,
    async run(script, input = {}) {
      const id = ++count;
      const name = basenameOf(file(`ws/evil-${id}.sh`, script));
      const answer = new Promise<Ran>((resolve) => waiting.set(id, resolve));
      const dead = gone.then((): Ran => ({ status: "gone", code: null, text: "the toolkit has ended" }));
      tell({ id, input: { command: `bash ${name}`, timeout: 20, ...(contained ? input : withoutNeeds(input)) } });
      const ran = await Promise.race([answer, dead]);
      if (!("background" in input)) rmSync(join(workDir, name), { force: true });
      return ran;
    },
    person(script) {
      const [starter, ...others] = [...own, "bash", "--noprofile", "--norc", "-c", script];
      const { stdout, stderr } = spawnSync(starter, others, {
        cwd: workDir,
        env: environment,
        encoding: "utf8",
        timeout: 20_000,
      });
      return stdout + stderr;
    },
    async close() {
      open.delete(site);
      toolkit.stdin.end();
      await gone;
      rmSync(root, { recursive: true, force: true });
    },
  };
  open.add(site);
  return site;
}

/** Without a sandbox, nothing can be requested from it. */
function withoutNeeds({
  network: _,
  write: __,
  read: ___,
  ...input
}: {
  network?: unknown;
  write?: unknown;
  read?: unknown;
}): object {
  return input;
}

function basenameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Below the home. */
export const SECRETS = [
  ".ssh/id_ed25519",
  ".aws/credentials",
  ".netrc",
  ".docker/config.json",
  ".config/gh/hosts.yml",
  ".config/handrail/config.yaml.bak",
  ".bash_history",
  ".local/state/handrail/mine",
  ".local/share/keyrings/login",
  ".mozilla/firefox/cookies",
] as const;
