import { readFile, realpath } from "node:fs/promises";
import { posix } from "node:path";
import { isInside } from "../../core/util/paths.ts";

/** File systems on this machine's disks or in its memory. They never wait for another machine or process. */
const OWN: ReadonlySet<string> = new Set(["ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "overlay"]);

/** How long a result is valid, in milliseconds. After that, new mounts and replaced folders are noticed. */
const HOLDS_MS = 10_000;

/** How many folders are remembered. */
const MOST_FOLDERS = 1_000;

/** Whether the entries of a folder can be read without waiting. Never rejects. */
export type OwnDisks = (folder: string) => Promise<boolean> | boolean;

/**
 * Returns a function that reports whether a folder is real (its path contains no link) and on a disk of this machine,
 * with nothing from elsewhere mounted in it. Results are cached. Always false on systems other than Linux.
 */
export function createOwnDisks(now: () => number = () => performance.now()): OwnDisks {
  const known = new Map<string, { readonly isOwn: boolean; readonly untilMs: number }>();
  let mounts: { readonly table: Promise<readonly Mount[]>; readonly untilMs: number } | undefined;

  const learn = async (folder: string): Promise<boolean> => {
    const untilMs = now() + HOLDS_MS;
    if (mounts === undefined || mounts.untilMs < now()) mounts = { table: mountTable(), untilMs };
    const real = await realpath(folder).catch(() => undefined);
    if (real === undefined) return false; // not cached, because the folder may be created soon
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

/** Whether a real folder, and everything that is mounted directly in it, is on a disk of this machine. */
export function isOnOwnDisk(folder: string, mounts: readonly Mount[]): boolean {
  const above = mounts.filter(({ at }) => isInside(folder, at));
  const holding = above.reduce<Mount | undefined>(
    // of two mounts at the same path, the later one counts
    (best, each) => (best === undefined || each.at.length >= best.at.length ? each : best),
    undefined,
  );
  if (holding === undefined || !OWN.has(holding.type)) return false;
  return mounts.every(({ at, type }) => posix.dirname(at) !== folder || at === folder || OWN.has(type));
}

/** The mounts of this process, as in proc_pid_mountinfo(5); empty if they cannot be read. */
async function mountTable(): Promise<readonly Mount[]> {
  return parseMounts(await readFile("/proc/self/mountinfo", "utf8").catch(() => ""));
}

/** Parses lines such as `36 35 98:0 / /mnt rw,noatime master:1 - ext4 /dev/root rw`. `\040` is a space. */
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
