import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Facts } from "../facts.ts";

/** The ripgrep that Handrail brings along, to be put on another system. */
export interface OurRipgrep {
  readonly bytes: Buffer;
  /** SHA-256, in hex. */
  readonly hash: string;
}

/** How the machines that Node names are called by uname(1). */
const MACHINES: { readonly [architecture: string]: string } = { x64: "x86_64", arm64: "aarch64" };

/** Ours, if it runs there: the same system and machine, and it needs nothing else. Never rejects. */
export async function ourRipgrepFor({
  system,
  machine,
}: Pick<Facts, "system" | "machine">): Promise<OurRipgrep | undefined> {
  if (process.platform !== "linux" || system !== "Linux" || MACHINES[process.arch] !== machine) return undefined;
  try {
    const { rgPath } = await import("@vscode/ripgrep"); // throws where it is not installed
    const bytes = await readFile(rgPath);
    return isStatic(bytes) ? { bytes, hash: createHash("sha256").update(bytes).digest("hex") } : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a program needs no loader, and so no libraries: elf(5), no segment PT_INTERP in a 64-bit little-endian file. */
export function isStatic(bytes: Buffer): boolean {
  const LITTLE_ENDIAN_64 = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
  if (bytes.length < 64 || !bytes.subarray(0, 6).equals(LITTLE_ENDIAN_64)) return false;
  const from = Number(bytes.readBigUInt64LE(0x20));
  const size = bytes.readUInt16LE(0x36);
  const count = bytes.readUInt16LE(0x38);
  if (size < 4 || from + size * count > bytes.length) return false;
  const PT_INTERP = 3;
  return Array.from({ length: count }, (_, index) => bytes.readUInt32LE(from + index * size)).every(
    (type) => type !== PT_INTERP,
  );
}
