import type { FileEntry, FileInfo, FileKind } from "../../core/contract/backend.ts";
import { inOrder } from "../../core/util/text.ts";
import type { Facts } from "./facts.ts";

/** The fields of a line of `hr_file_info`. */
export interface Described {
  readonly kind: FileKind | "link";
  readonly size: number;
  /** Milliseconds since 1970, with a fraction where nanoseconds are known. */
  readonly modifiedMs: number;
  /** Permission bits. */
  readonly mode: number;
  readonly links: number;
  readonly version: string;
  /** Device and inode; only the inode without stat(1). */
  readonly inode: string;
  /** When the inode was created. Distinguishes a file from a later one with the same number. "" if unknown. */
  readonly born: string;
}

/** mode, links, uid, gid, size, raw mode, device:inode, seconds; GNU: date time.fraction zone birth; BSD: fraction. */
const STAT = inOrder(
  "",
  /^([0-7]+) (\d+) \d+ \d+ (\d+) ([0-9a-f]+) (\d+:\d+) (-?\d+)(?:\.(\d+))?/,
  /(?: \S+ \d+:\d+:\d+(?:\.(\d+))? [-+]\d+)?(?: (.*))?$/,
);

/** The `FileInfo` of the file at a real path. */
export function infoOf(path: string, { kind, size, modifiedMs, mode, links, version }: Described): FileInfo {
  return {
    path,
    kind: kind === "link" ? "device" : kind,
    size,
    modifiedMs: Math.floor(modifiedMs),
    mode,
    links,
    version,
  };
}

/** The `FileEntry` of an entry of a folder. */
export function entryOf(name: string, { kind, size, modifiedMs }: Described, target: string | undefined): FileEntry {
  return { name, kind, size, modifiedMs, ...(kind === "link" && target !== undefined && { target }) };
}

/** Parses a line of `hr_file_info`; `undefined` for other lines. */
export function described(line: string, form: Facts["stat"]): Described | undefined {
  const found = STAT.exec(line.trimEnd());
  if (found === null) return undefined;
  const [, mode = "", links, size, raw = "", inode = "", seconds = "", dotted, fraction = dotted ?? "", birth = ""] =
    found;
  return {
    kind: KINDS[parseInt(raw, form === "gnu" ? 16 : 8) & 0o170000] ?? "device",
    size: Number(size),
    modifiedMs: Number(seconds) * 1_000 + Number(`0.${fraction || "0"}`) * 1_000,
    mode: parseInt(mode, 8),
    links: Number(links),
    version: `${inode}:${size}:${seconds}.${fraction}`,
    inode,
    born: /^[1-9]/.test(birth) ? birth : "", // "-" and 0 mean unknown, "w" that %w is unsupported
  };
}

/** The file types of st_mode (inode(7)). */
const KINDS: { readonly [type: number]: FileKind | "link" | undefined } = {
  0o100000: "file",
  0o040000: "folder",
  0o120000: "link",
  0o010000: "fifo",
  0o140000: "socket",
};
