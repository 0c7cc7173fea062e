import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { namesIn } from "../../git/disk.ts";
import type { Before } from "../../git/hold-back.ts";
import { tried } from "../../../core/util/errors.ts";
import { randomName } from "../../../core/util/identifier.ts";
import { keepingAlive } from "../../../core/util/keeping-alive.ts";
import { runProgramSync } from "../../programs/start.ts";
import { type ProcessIdentity, livenessOf, thisProcess } from "../../programs/process-identity.ts";
import { HOLDER_VARIABLE, environmentOf } from "../../spawner/kill-tree.ts";

/** The private temporary files of one backend. */
export interface Session {
  /** The session's id. It is in the environment of all its sandboxes, which shows whether any of them still runs. */
  readonly id: string;
  readonly folder: string;
  /** Replaces /tmp inside the sandbox; `varTmp` replaces /var/tmp. */
  readonly tmp: string;
  readonly varTmp: string;
  /** Resolves when what sessions before have left is held back. Never rejects. */
  readonly swept: Promise<void>;
  /**
   * Records that a command is running, with what is needed to hold back what it leaves in repositories. The next
   * session holds these back if this process is killed meanwhile, or after the command if it is detached.
   *
   * @throws The system's error when it cannot be recorded: the command must not start then.
   */
  begin(before: Before): { end(): void };
  /** Keeps the files for a detached command. A session that is opened after that command's end removes them. */
  keep(): void;
  /** Never rejects. */
  close(): Promise<void>;
}

/**
 * Creates a session in `folder`, and removes sessions whose owners are gone. `left` is called for each command that
 * was running when its owner ended, or that was detached, and that has ended since. It never rejects.
 *
 * @throws The system's error when it cannot be created.
 */
export function openSession(folder: string, left: (before: Before) => Promise<void>): Session {
  const all = join(folder, "sessions");
  const swept = sweep(all, left);
  const id = randomName(12);
  const own = join(all, id);
  const [tmp, varTmp] = [join(own, "tmp"), join(own, "var-tmp")];
  const coming = join(folder, `session-${id}`); // a session without an owner could be removed by another process
  mkdirSync(all, { recursive: true, mode: 0o700 });
  mkdirSync(coming, { mode: 0o700 });
  writeFileSync(join(coming, "owner"), JSON.stringify(thisProcess()), { mode: 0o600 });
  renameSync(coming, own);
  for (const each of [tmp, varTmp]) {
    mkdirSync(each);
    chmodSync(each, 0o1777); // as programs expect; other users cannot enter the folder above
  }
  let kept = false;
  let count = 0;
  return {
    id,
    swept,
    folder: own,
    tmp,
    varTmp,
    begin(before) {
      const record = join(own, `${RUNNING}${++count}`);
      writeFileSync(record, JSON.stringify(before), { mode: 0o600 });
      return { end: () => rmSync(record, { force: true }) };
    },
    keep() {
      kept = true;
    },
    async close() {
      await keepingAlive(swept);
      if (kept) rmSync(join(own, "owner"), { force: true });
      else await rm(own, { recursive: true, force: true }).catch(() => removeTree(own));
    },
  };
}

/** How the names of records of running commands begin. */
const RUNNING = "running-";

async function sweep(folder: string, left: (before: Before) => Promise<void>): Promise<void> {
  const dead = namesIn(folder).filter((name) => isDead(join(folder, name)));
  if (dead.length === 0) return;
  const running = runningSandboxes();
  for (const name of dead) {
    if (running.includes(`\0${HOLDER_VARIABLE}=${name}\0`)) continue;
    const own = join(folder, name);
    for (const record of namesIn(own).filter((each) => each.startsWith(RUNNING))) {
      const before = tried(() => JSON.parse(readFileSync(join(own, record), "utf8")) as Before);
      if (before !== undefined) await left(before);
    }
    removeTree(own);
  }
}

/** True only if this is certain. An owner in another container or on another machine may be alive. */
function isDead(session: string): boolean {
  const owner = tried(() => JSON.parse(readFileSync(join(session, "owner"), "utf8")) as ProcessIdentity);
  return owner === undefined || livenessOf(owner) === "dead";
}

/** The environments of all processes that this user may read, concatenated. */
function runningSandboxes(): string {
  return namesIn("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => `\0${environmentOf(Number(pid))}\0`)
    .join("");
}

/**
 * Also removes folders that their owner may not write, which some programs leave behind, and trees that are deeper than
 * a path may be long (4,096 bytes), which only programs that walk by descriptors can remove. Never throws: the next
 * session tries again to remove what remains.
 */
function removeTree(folder: string): void {
  if (tried(() => (rmSync(folder, { recursive: true, force: true }), true)) === true) return;
  runProgramSync(["chmod", "-R", "u+rwx", "--", folder]);
  runProgramSync(["rm", "-rf", "--", folder]);
}
