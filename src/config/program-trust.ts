import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Tool } from "../contract/tool.ts";
import { isInside } from "../util/paths.ts";
import type { Trust, TrustedFile } from "./trust.ts";

/** Decides whether programs that provide tools may be started, and whether their tools may be used. */
export interface ProgramTrust {
  /** Returns the files in the workspace among a program and its arguments, with their current content. */
  files(argv: readonly string[]): Promise<readonly TrustedFile[]>;
  /**
   * Returns why the program must not be started, as a sentence. A model can change files in the workspace, so trust in
   * them depends on their bytes.
   */
  mayStart(argv: readonly string[]): Promise<string | undefined>;
  /**
   * Returns why the tools must not be used, as a sentence: they differ from those that were first seen.
   *
   * @param source such as "plugin:weather"
   * @param project the file that configures the source
   */
  mayUse(source: string, project: string, tools: readonly Tool[]): Promise<string | undefined>;
}

export interface ProgramTrustOptions {
  readonly trust: Trust;
  /** The folder in which the programs start. Relative arguments are resolved against it. */
  readonly workDir: string;
  /** Other folders that a model can write to. */
  readonly writable?: readonly string[];
}

const SEE = "See: handrail trust";

export function createProgramTrust({ trust, workDir, writable = [] }: ProgramTrustOptions): ProgramTrust {
  const files = async (argv: readonly string[]): Promise<readonly TrustedFile[]> => {
    const folders = await Promise.all([workDir, ...writable].map((each) => realpath(each).catch(() => each)));
    const isOpen = (path: string) => folders.some((folder) => isInside(path, folder));
    // For "--script=./x.py", also the part after the equals sign.
    const candidates = argv.flatMap((word, index) => [
      ...(index === 0 && !word.includes("/") ? [] : [word]),
      ...(word.includes("=") ? [word.slice(word.indexOf("=") + 1)] : []),
    ]);
    const found = await Promise.all(
      candidates.map(async (word): Promise<TrustedFile | undefined> => {
        if (word === "" || word.includes("\0")) return undefined;
        const path = resolve(workDir, word);
        const real = await realpath(path).catch(() => undefined);
        if (real === undefined || !(isOpen(path) || isOpen(real))) return undefined;
        const info = await stat(real).catch(() => undefined);
        return info?.isFile() === true ? { path, sha256: await hashOf(real) } : undefined;
      }),
    );
    return found.filter((file) => file !== undefined);
  };
  return {
    files,
    async mayStart(argv) {
      for (const file of await files(argv)) {
        const standing = await trust.standing(file);
        if (standing === "trusted") continue;
        const why = standing === "changed" ? "has changed since you trusted it" : "is not trusted";
        return `is not started: ${file.path} lies in the workspace and ${why}. ${SEE}`;
      }
      return undefined;
    },
    async mayUse(source, project, tools) {
      const isSeen = await trust.seen({ name: `${source} of ${project}`, text: describeTools(tools) });
      return isSeen ? undefined : `offers other tools than you trusted, so none is used. ${SEE}`;
    },
  };
}

/** Returns what models are told about the tools, and which are hidden from people, as text that people can compare. */
function describeTools(tools: readonly Tool[]): string {
  const sorted = tools.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const described = sorted.map(({ name, title, description, input, output, userFacing }) => {
    return { name, title, description, parameters: input.json, output, user_facing: userFacing };
  });
  const text = `${JSON.stringify(described, null, 2)}\n`;
  if (text.length <= MOST_KEPT) return text;
  return `${text.slice(0, MOST_KEPT)}…\nsha256 of all: ${createHash("sha256").update(text).digest("hex")}\n`;
}

/** How many characters of the description are kept for people to compare. */
const MOST_KEPT = 200_000;

/** Returns the SHA-256 of a file's bytes in hexadecimal. Rejects with the system's error if it cannot be read. */
export async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
