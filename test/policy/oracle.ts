import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { promisify } from "node:util";
import { temporaryFolder } from "../support/workspace.ts";
import { HIDDEN, LIBRARY, PASSERS, RECORDERS, WORKSPACE_TOOL } from "./oracle-grammar.ts";

const BUBBLEWRAP = "bwrap";

/** A command that was executed. */
export interface Execution {
  readonly name: string;
  readonly args: readonly string[];
}

/** The result of reading the script. */
export interface Reading {
  /** Every command found, by name. */
  readonly names: readonly string[];
  /** False if parts of the script are not understood, so that there may be others. */
  readonly complete: boolean;
}

/** Returns the executed commands that a reading misses although it claims to be complete. */
export function unseen({ names, complete }: Reading, executions: readonly Execution[]): readonly Execution[] {
  const seen = new Set(names.map((name) => posix.basename(name)));
  return complete ? executions.filter(({ name }) => !seen.has(name)) : [];
}

/** Returns why scripts cannot be isolated from this machine; `undefined` if they can. */
export function containmentProblem(): string | undefined {
  const { status, error, stderr } = spawnSync(BUBBLEWRAP, [...CONTAINMENT, "true"], { encoding: "utf8" });
  if (error) return `bwrap cannot be started (${error.message}); install bubblewrap`;
  return status === 0 ? undefined : `bwrap does not work here: ${stderr.trim()}`;
}

/**
 * Runs each script with bash, like a command of ours, in its own folder in bubblewrap: no network, nothing writable but
 * that folder, and only recorders on the PATH. Resolves to what each executed, in order, when all started processes
 * have ended. A script is stopped after a second, and what ran until then counts. Many scripts share a container; two
 * containers run at a time.
 */
export async function executionsOf(scripts: readonly string[]): Promise<readonly (readonly Execution[])[]> {
  const batches: (readonly string[])[] = [];
  for (let start = 0; start < scripts.length; start += BATCH) batches.push(scripts.slice(start, start + BATCH));
  const results: (readonly (readonly Execution[])[])[] = [];
  let next = 0;
  const lane = async () => {
    while (next < batches.length) {
      const index = next++;
      results[index] = await runBatch(batches[index] ?? []);
    }
  };
  await Promise.all([lane(), lane()]);
  return results.flat();
}

const BATCH = 50;

async function runBatch(scripts: readonly string[]): Promise<readonly (readonly Execution[])[]> {
  const base = temporaryFolder();
  const folders = { recorders: join(base, "recorders"), work: join(base, "work"), log: join(base, "log") };
  for (const folder of Object.values(folders)) mkdirSync(folder);
  recorders(folders.recorders);
  scripts.forEach((_, index) => workFolder(join(folders.work, String(index))));
  writeFileSync(join(folders.recorders, ".driver"), scripts.map(step).join(""));
  const mounts = [
    ...["--ro-bind", folders.recorders, "/tmp/recorders"],
    ...["--bind", folders.work, "/tmp/work", "--bind", folders.log, "/tmp/log"],
    ...["--setenv", "PATH", "/tmp/recorders", "--setenv", "HOME", "/tmp/work"],
  ];
  await promisify(execFile)(BUBBLEWRAP, [...CONTAINMENT, ...mounts, "/bin/sh", "/tmp/recorders/.driver"], {
    maxBuffer: 64 * 1024 * 1024,
  });
  const executions = scripts.map((_, index) => readLog(join(folders.log, String(index))));
  rmSync(base, { recursive: true, force: true });
  return executions;
}

const CONTAINMENT = [
  ...["--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--ro-bind", "/", "/"],
  ...["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"],
];

// One step of the driver. Descriptor 9 is the way to the log: all that a script starts inherits it, so the reader at
// its other end sees the end only when nothing of the script is left.
function step(script: string, index: number): string {
  const program = `'${script.replaceAll("\0", "").replaceAll("'", `'\\''`)}'`;
  return (
    `cd /tmp/work/${index} && /usr/bin/timeout -k 1 1 /bin/bash --noprofile --norc -c ${program} ` +
    `9>&1 >/dev/null 2>&1 </dev/null | /usr/bin/timeout 2 /bin/cat > /tmp/log/${index}\n`
  );
}

// A record is the name and the arguments, each with a unit separator behind it, then a record separator, in one write.
const RECORD = `#!/bin/sh\nprintf '%s\\037' "\${0##*/}" "$@" "$(printf '\\036')" >&9\n`;

function recorders(folder: string): void {
  const write = (name: string, then: string) => writeFileSync(join(folder, name), RECORD + then, { mode: 0o755 });
  write(HIDDEN, "");
  for (const name of RECORDERS) write(name, `echo ${HIDDEN}\n`);
  for (const name of PASSERS) {
    const real = ["/usr/bin", "/bin"].map((path) => join(path, name)).find((path) => existsSync(path));
    if (real !== undefined) write(name, `exec ${real} "$@"\n`);
  }
}

function workFolder(folder: string): void {
  mkdirSync(folder);
  writeFileSync(join(folder, "a.txt"), "one\ntwo\n");
  writeFileSync(join(folder, LIBRARY), `${HIDDEN} from the library\n`);
  writeFileSync(join(folder, WORKSPACE_TOOL), RECORD, { mode: 0o755 });
}

function readLog(path: string): readonly Execution[] {
  return readFileSync(path, "utf8")
    .split("\u001f\u001e\u001f")
    .filter((record) => record !== "")
    .map((record) => {
      const [name = "", ...args] = record.split("\u001f");
      return { name, args };
    });
}

/** Reduces a script as far as the condition still holds, for people to read. */
export async function smallest(script: string, holds: (shorter: string) => Promise<boolean>): Promise<string> {
  let least = script;
  for (let size = Math.ceil(script.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < least.length;) {
      const shorter = least.slice(0, start) + least.slice(start + size);
      if (await holds(shorter)) least = shorter;
      else start += size;
    }
  }
  return least;
}
