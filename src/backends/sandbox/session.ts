import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { randomName } from "../../util/identifier.ts";
import { startOf } from "../local/spawner/process-start.ts";
import { HOLDER_VARIABLE } from "../local/spawner/kill-tree.ts";

/** The private temporary files of one backend. */
export interface Session {
  /** Stands in the environment of each of its sandboxes, so that it is known whether one still runs. */
  readonly id: string;
  readonly folder: string;
  /** In place of /tmp and /var/tmp. */
  readonly tmp: string;
  readonly varTmp: string;
  /** Its files are needed when we have gone: something detached runs with them. They go with the first session after its end. */
  keep(): void;
  /** Never rejects. */
  close(): Promise<void>;
}

/**
 * Makes one below `folder`, and removes those whose owners are gone.
 *
 * @throws The system's error when it cannot be made.
 */
export function openSession(folder: string): Session {
  const all = join(folder, "sessions");
  sweep(all);
  const id = randomName(12);
  const own = join(all, id);
  const [tmp, varTmp] = [join(own, "tmp"), join(own, "var-tmp")];
  const coming = join(folder, `session-${id}`); // one without an owner could be swept away
  mkdirSync(all, { recursive: true, mode: 0o700 });
  mkdirSync(coming, { mode: 0o700 });
  writeFileSync(join(coming, "owner"), JSON.stringify(thisProcess()), { mode: 0o600 });
  renameSync(coming, own);
  for (const each of [tmp, varTmp]) {
    mkdirSync(each);
    chmodSync(each, 0o1777); // as programs expect it; nobody else can enter the folder above
  }
  let kept = false;
  return {
    id,
    folder: own,
    tmp,
    varTmp,
    keep() {
      kept = true;
    },
    async close() {
      if (kept) return rmSync(join(own, "owner"), { force: true });
      await rm(own, { recursive: true, force: true }).catch(() => removeStubborn(own));
    },
  };
}

interface Owner {
  readonly host: string;
  readonly boot: string;
  readonly pidNamespace: string;
  readonly pid: number;
  readonly start: string;
}

function thisProcess(): Owner {
  return { ...place(), pid: process.pid, start: startOf(process.pid) };
}

function place(): Pick<Owner, "host" | "boot" | "pidNamespace"> {
  return {
    host: hostname(),
    boot: readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim(),
    pidNamespace: readlinkSync("/proc/self/ns/pid"),
  };
}

function sweep(folder: string): void {
  const dead = namesIn(folder).filter((name) => isDead(join(folder, name)));
  if (dead.length === 0) return;
  const running = runningSandboxes();
  for (const name of dead) if (!running.includes(`\0${HOLDER_VARIABLE}=${name}\0`)) removeStubborn(join(folder, name));
}

/** Certain: what may be alive in another container, or on another machine, is not dead. */
function isDead(session: string): boolean {
  const here = place();
  const owner = ownerOf(session);
  if (owner === undefined) return true;
  if (owner.host !== here.host) return false;
  if (owner.boot !== here.boot) return true;
  return owner.pidNamespace === here.pidNamespace && startOf(owner.pid) !== owner.start;
}

function ownerOf(session: string): Owner | undefined {
  try {
    return JSON.parse(readFileSync(join(session, "owner"), "utf8")) as Owner;
  } catch {
    return undefined;
  }
}

/** The environments of all processes that we may look at, one behind the other. */
function runningSandboxes(): string {
  return namesIn("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return `\0${readFileSync(`/proc/${pid}/environ`, "latin1")}\0`;
      } catch {
        return "";
      }
    })
    .join("");
}

/** Some programs leave folders behind that even their owner may not write. Never throws. */
function removeStubborn(folder: string): void {
  try {
    open(folder);
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // What cannot be removed stays, for the next to try.
  }
}

function open(folder: string): void {
  if (!lstatSync(folder).isDirectory()) return;
  chmodSync(folder, 0o700);
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) open(join(folder, entry.name));
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
