import { readFile, realpath } from "node:fs/promises";
import { posix } from "node:path";
import { isInside } from "../../util/paths.ts";

/** Kinds of file systems on disks and in the memory of this machine: none of them waits for another machine or for another process. */
const OWN: ReadonlySet<string> = new Set(["ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "overlay"]);

/** How long an answer holds. After that a file system that was mounted meanwhile, or a link in place of a folder, is seen. Milliseconds. */
const HOLDS_MS = 10_000;

/** How many folders are remembered. */
const MOST_FOLDERS = 1_000;

/** Tells whether what is directly in a folder can be looked at without waiting. Never rejects. */
export type OwnDisks = (folder: string) => Promise<boolean> | boolean;

/**
 * Remembers for each folder whether it is real (no link on its way) and on a disk of this machine, with nothing else mounted in it. Only Linux can
 * tell: elsewhere no folder is.
 */
export function createOwnDisks(now: () => number = () => performance.now()): OwnDisks {
  const known = new Map<string, { readonly isOwn: boolean; readonly untilMs: number }>();
  let mounts: { readonly table: Promise<readonly Mount[]>; readonly untilMs: number } | undefined;

  const learn = async (folder: string): Promise<boolean> => {
    const untilMs = now() + HOLDS_MS;
    if (mounts === undefined || mounts.untilMs < now()) mounts = { table: mountTable(), untilMs };
    const real = await realpath(folder).catch(() => undefined);
    if (real === undefined) return false; // it may be made in a moment
    const isOwn = real === folder && isOnOwnDisk(folder, await mounts.table);
    if (known.size >= MOST_FOLDERS) known.clear();
    known.set(folder, { isOwn, untilMs });
    return isOwn;
  };

  return (folder) => {
    if (process.platform !== "linux") return false;
    const answer = known.get(folder);
    return answer === undefined || answer.untilMs < now() ? learn(folder) : answer.isOwn;
  };
}

/** A file system, and where it is mounted. */
export interface Mount {
  readonly at: string;
  readonly type: string;
}

/** Whether a real folder is on a disk of this machine, and everything that is mounted directly in it. */
export function isOnOwnDisk(folder: string, mounts: readonly Mount[]): boolean {
  const above = mounts.filter(({ at }) => isInside(folder, at));
  const holding = above.reduce<Mount | undefined>(
    (best, each) => (best === undefined || each.at.length >= best.at.length ? each : best), // of two at one place the later covers the other
    undefined,
  );
  if (holding === undefined || !OWN.has(holding.type)) return false;
  return mounts.every(({ at, type }) => posix.dirname(at) !== folder || at === folder || OWN.has(type));
}

/** The mounts of this process, as in proc_pid_mountinfo(5); none where that cannot be read. */
async function mountTable(): Promise<readonly Mount[]> {
  return parseMounts(await readFile("/proc/self/mountinfo", "utf8").catch(() => ""));
}

/** Reads lines such as `36 35 98:0 / /mnt rw,noatime master:1 - ext4 /dev/root rw`. Blanks in a path are written `\040`. */
export function parseMounts(text: string): readonly Mount[] {
  return text.split("\n").flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const [at, type] = [before.split(" ")[4], after.split(" ")[0]];
    if (at === undefined || type === undefined) return [];
    return [
      { at: at.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8))), type },
    ];
  });
}
