import type { FileEntry, FileInfo, FileKind } from "../../contract/backend.ts";
import { inOrder } from "../../util/text.ts";
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

/** `ls -ldn` and the inode. Devices have two numbers instead of a size. */
const LS = inOrder(
  "s",
  /^([-dlpsbcD])([-rwxsStT]{9})\S* +(\d+) +\d+ +\d+ +(\d+)(?:, *\d+)? +/,
  /([A-Z][a-z]{2}) +(\d+) +(?:(\d{4})|(\d+):(\d+)).* inode +(\d+)/,
);

/**
 * Parses a line of `hr_file_info`; `undefined` for other lines. Without stat(1) there is only ls(1), which reports
 * minutes at best. A change that keeps the size may then keep the version.
 */
export function described(line: string, form: Facts["stat"], now = new Date()): Described | undefined {
  return form === "none" ? fromLs(line, now) : fromStat(line.trimEnd(), form);
}

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

function fromStat(line: string, form: "gnu" | "bsd"): Described | undefined {
  const found = STAT.exec(line);
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

function fromLs(line: string, now: Date): Described | undefined {
  const found = LS.exec(line);
  if (found === null) return undefined;
  const [, type = "", letters = "", links, size, month = "", day, year, hour = "0", minute = "0", inode = ""] = found;
  const at = (years: number) => Date.UTC(years, MONTHS.indexOf(month), Number(day), Number(hour), Number(minute));
  const thisYear = at(now.getUTCFullYear());
  // ls omits the year within the last half year; clocks may differ by a day.
  const recent = thisYear > now.getTime() + DAY_MS ? at(now.getUTCFullYear() - 1) : thisYear;
  const modifiedMs = year === undefined ? recent : at(Number(year));
  const isSized = type !== "b" && type !== "c";
  return {
    kind: LETTERS[type] ?? "device",
    size: isSized ? Number(size) : 0,
    modifiedMs,
    mode: modeOf(letters),
    links: Number(links),
    version: `${inode}:${size}:${modifiedMs}`,
    inode,
    born: "",
  };
}

const DAY_MS = 86_400_000;

const MONTHS: readonly string[] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** The letters of ls(1), which `find -printf %y` uses too, except that it prints f for a file. */
export const LETTERS: { readonly [letter: string]: FileKind | "link" | undefined } = {
  "-": "file",
  f: "file",
  d: "folder",
  l: "link",
  p: "fifo",
  s: "socket",
};

function modeOf(letters: string): number {
  let mode = 0;
  for (const [index, letter] of letters.split("").entries()) {
    if (!"-ST".includes(letter)) mode |= 0o400 >> index;
    if ("sStT".includes(letter)) mode |= 0o4000 >> Math.floor(index / 3);
  }
  return mode;
}
