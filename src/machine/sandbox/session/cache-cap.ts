import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { tried } from "../../../core/util/errors.ts";
import { randomName } from "../../../core/util/identifier.ts";
import { runProgram } from "../../programs/start.ts";
import { type ProcessIdentity, identityText, livenessOf, thisProcess } from "../../programs/process-identity.ts";

/** How many bytes the package caches of all workspaces may have together: 4 GiB. */
export const DEFAULT_CACHE_BYTES = 4_294_967_296;

/** How often they are measured, by any process. Milliseconds. */
const MEASURE_MS = 3_600_000;

/*
 * The folder `caches` has, for each workspace: its caches (ID), who uses them (ID.user.NAME), when they were last used
 * (ID.used), and which of them are too much as soon as nobody uses them (ID.over). Commands see only ID.
 */

/** The use of a workspace's caches by this process. */
export interface CacheUse {
  /** Removes what is too much, in the background. Never rejects. */
  cap(bytes: number): Promise<void>;
  end(): void;
}

/**
 * Begins to use the caches of a workspace. First removes what an earlier measurement found too much, unless another
 * process uses them. A process that dies ends its use.
 */
export function useCaches(caches: string, id: string): CacheUse {
  const mine = `${id}.user.${randomName(8)}`;
  const isFree = !isUsed(caches, id);
  writeFileSync(join(caches, mine), identityText(thisProcess()), { mode: 0o600 });
  touch(join(caches, `${id}.used`));
  const over = join(caches, `${id}.over`);
  if (isFree) {
    const names = (tried(() => readFileSync(over, "utf8")) ?? "").split("\n").filter(Boolean);
    for (const name of names) setAside(caches, join(caches, id, name));
    rmSync(over, { force: true });
  }
  return {
    async cap(bytes) {
      try {
        await removeAside(caches);
        const measured = join(caches, "measured");
        if (Date.now() - (tried(() => statSync(measured).mtimeMs) ?? 0) < MEASURE_MS) return;
        touch(measured);
        for (const { workspace, name } of tooMuch(await sizesIn(caches), bytes)) {
          if (isUsed(caches, workspace)) writeFileSync(join(caches, `${workspace}.over`), `${name}\n`, { flag: "a" });
          else setAside(caches, join(caches, workspace, name));
        }
        await removeAside(caches);
      } catch {
        // the disk is full, or another process removes the same: the next measurement comes
      }
    },
    end() {
      tried(() => touch(join(caches, `${id}.used`))); // the state folder may be gone
      rmSync(join(caches, mine), { force: true });
    },
  };
}

interface Sized {
  readonly workspace: string;
  /** The folder of one tool's cache. */
  readonly name: string;
  readonly bytes: number;
  /** When its workspace used its caches last, and when this one changed last. Milliseconds since 1970. */
  readonly usedMs: number;
  readonly changedMs: number;
}

/** The caches to remove: those of the workspace that was not used for longest come first. */
function tooMuch(sizes: readonly Sized[], bytes: number): readonly Sized[] {
  let left = sizes.reduce((sum, each) => sum + each.bytes, 0);
  const oldestFirst = sizes.toSorted((one, other) => one.usedMs - other.usedMs || one.changedMs - other.changedMs);
  return oldestFirst.filter((each) => {
    if (left <= bytes || each.bytes === 0) return false;
    left -= each.bytes;
    return true;
  });
}

/** Measured by `du`, outside this process: a cache has up to a million files. */
async function sizesIn(caches: string): Promise<readonly Sized[]> {
  const folders = readdirSync(caches)
    .filter((id) => /^[0-9a-f]{16}$/.test(id))
    .flatMap((id) =>
      readdirSync(join(caches, id)).map((name) => ({ workspace: id, name, path: join(caches, id, name) })),
    );
  if (folders.length === 0) return [];
  const { stdout } = await runProgram(["nice", "-n", "19", "du", "-sk", "--", ...folders.map(({ path }) => path)], {
    ...{ cwd: "/", isBare: true, systemFirst: true, keepsAlive: false },
  });
  const printed = stdout.toString();
  const kilobytes = new Map(
    printed.split("\n").map((line) => [line.slice(line.indexOf("\t") + 1), Number.parseInt(line, 10)]),
  );
  return folders.map(({ workspace, name, path }) => ({
    ...{ workspace, name, bytes: (kilobytes.get(path) ?? 0) * 1_024 },
    usedMs: tried(() => statSync(join(caches, `${workspace}.used`)).mtimeMs) ?? 0,
    changedMs: tried(() => statSync(path).mtimeMs) ?? 0,
  }));
}

/** Whether a process that is not known to be dead uses the caches. Forgets dead ones. */
function isUsed(caches: string, id: string): boolean {
  const users = readdirSync(caches).filter((name) => name.startsWith(`${id}.user.`));
  return users.some((name) => {
    const written = tried(() => JSON.parse(readFileSync(join(caches, name), "utf8")) as ProcessIdentity);
    if (written !== undefined && livenessOf(written) !== "dead") return true;
    rmSync(join(caches, name), { force: true });
    return false;
  });
}

/** Takes a cache away at once, so that a command that starts meanwhile gets a new one. */
function setAside(caches: string, path: string): void {
  const aside = join(caches, "aside");
  mkdirSync(aside, { recursive: true, mode: 0o700 });
  tried(() => renameSync(path, join(aside, randomName(16))));
}

async function removeAside(caches: string): Promise<void> {
  await rm(join(caches, "aside"), { recursive: true, force: true });
}

function touch(file: string): void {
  const now = Date.now() / 1_000;
  writeFileSync(file, "", { mode: 0o600 });
  utimesSync(file, now, now);
}
