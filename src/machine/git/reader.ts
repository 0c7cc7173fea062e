import { posix, resolve } from "node:path";
import type { Files } from "../../core/contract/backend.ts";
import { Unreachable } from "../../core/contract/failure.ts";
import { pathFrom } from "../../core/util/byte-paths.ts";
import { settingsIn } from "./config.ts";

/** A configuration longer than this is not read. Bytes: 1 MiB. */
export const LONGEST_CONFIG = 1_048_576;

/** An index, or a file of packed refs, that is larger than this is not read. Bytes: 256 MiB. */
export const LARGEST_INDEX = 268_435_456;

/**
 * The functions with which this folder's code reads a file system. Commands may change the file system meanwhile, so
 * nothing throws. Paths are those of `pathFrom`: every file name can be written in them.
 */
export interface Reader {
  /** The kind of file at a path; links are not followed. `undefined`: nothing, or a folder above is closed. */
  kindOf(path: string): "file" | "folder" | "other" | undefined;
  /** The names in a folder; none if it cannot be read. */
  namesIn(folder: string): readonly string[];
  /** The content of a regular file, links followed. `undefined`: no such file, or more than `most` bytes. */
  read(path: string, most: number): Buffer | undefined;
  /** How many bytes a file has, links followed. */
  sizeOf(path: string): number | undefined;
  /** The path with its links followed, as far as it exists. */
  realOf(path: string): string;
}

/** The real path, relative to `base`, that the first group of `pattern` finds in a small file. */
export function leadsTo(reader: Reader, file: string, pattern: RegExp, base: string): string | undefined {
  const bytes = reader.read(file, 8_192);
  const named = bytes === undefined ? undefined : pattern.exec(pathFrom(bytes))?.[1];
  return named === undefined ? undefined : reader.realOf(resolve(base, named));
}

/** The last value of a setting without a subsection in one configuration file, as latin1. */
export function settingAt(reader: Reader, config: string, section: string, key: string): string | undefined {
  const settings = settingsIn(reader.read(config, LONGEST_CONFIG)?.toString("latin1") ?? "");
  return settings.findLast((each) => each.section === section && !each.subsection && each.key === key)?.value;
}

/** How often `withFiles` asks again, and how many facts it looks up. */
const MOST_ROUNDS = 40;
const MOST_FACTS = 20_000;

/**
 * Asks a pure function of a reader about files that are read asynchronously, on any backend. Facts that it needs and
 * that were not looked up yet are looked up together, in one round trip. Then the function runs again.
 *
 * @returns its result once every fact in it was looked up; `undefined` past the limits, and for names that are not
 * UTF-8
 * @throws Unreachable
 */
export async function withFiles<T>(files: Files, ask: (reader: Reader) => T): Promise<T | undefined> {
  const facts = new Map<string, unknown>();
  let isOdd = false;
  for (let round = 0; round < MOST_ROUNDS && facts.size <= MOST_FACTS && !isOdd; round++) {
    const missing = new Map<string, () => Promise<unknown>>();
    const fact = <F>(key: string, otherwise: F, look: () => Promise<F>): F => {
      if (facts.has(key)) return facts.get(key) as F;
      missing.set(key, look);
      return otherwise;
    };
    const answer = ask({
      kindOf: (path) => fact(`kind ${path}`, undefined, () => kindIn(files, path)),
      namesIn: (folder) =>
        fact(`names ${folder}`, [], async () => {
          const names = (await files.list(folder)).map(({ name }) => name);
          isOdd ||= names.some((name) => name.includes("\ufffd"));
          return names;
        }),
      read: (path, most) => fact(`read ${most} ${path}`, undefined, () => contentOf(files, path, most)),
      sizeOf: (path) => fact(`size ${path}`, undefined, async () => (await files.stat(path))?.size),
      realOf: (path) => fact(`real ${path}`, path, () => files.realPath(path)),
    });
    if (missing.size === 0) return answer;
    await Promise.all(
      Array.from(missing, async ([key, look]) => {
        const found = await look().catch((error: unknown) => {
          if (error instanceof Unreachable) throw error;
          return key.startsWith("names ") ? [] : key.startsWith("real ") ? key.slice("real ".length) : undefined;
        });
        facts.set(key, found);
      }),
    );
  }
  return undefined;
}

async function kindIn(files: Files, path: string): Promise<"file" | "folder" | "other" | undefined> {
  const folder = await files.realPath(posix.dirname(path));
  const real = posix.join(folder, posix.basename(path));
  const kind = await files.stat(real, { real: true }).then(
    (info) => info?.kind,
    (error: unknown) => {
      if (error instanceof Unreachable) throw error;
      return "link" as const;
    },
  );
  return kind === undefined || kind === "file" || kind === "folder" ? kind : "other";
}

async function contentOf(files: Files, path: string, most: number): Promise<Buffer | undefined> {
  const file = await files.open(path);
  try {
    return file.info.size > most ? undefined : Buffer.from(await file.read(0, file.info.size));
  } finally {
    file.close().catch(() => undefined); // need not be awaited
  }
}
