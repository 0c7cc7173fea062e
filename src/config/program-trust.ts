import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, realpath, stat } from "node:fs/promises";
import { extname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Tool } from "../contract/tool.ts";
import { isInside } from "../util/paths.ts";
import { replacePrivateFile } from "../util/private-file.ts";
import type { Trust, TrustedFile } from "./trust.ts";

/** Decides whether programs that provide tools may be started, and whether their tools may be used. */
export interface ProgramTrust {
  /** Returns the files in the workspace among a program and its arguments, with their current content. */
  files(argv: readonly string[]): Promise<readonly TrustedFile[]>;
  /**
   * Returns why the program must not be started, as a sentence. A model can change files in the workspace, so trust in
   * them depends on their bytes.
   */
  mayStart(argv: readonly string[], opened?: OpenedProgram): Promise<string | undefined>;
  /**
   * Returns the file to load for a module. One that a model could write is copied to `folder`, with the bytes that are
   * trusted: so it imports nothing that a model could write, and cannot be changed while it is loaded.
   */
  copyOf(path: string, folder: string): Promise<string>;
  /** Returns the record of a person's trust in a program that starts in the workspace, outside the sandbox. */
  byName(argv: readonly string[], opened: OpenedProgram): TrustedFile;
  /**
   * Returns why the tools must not be used, as a sentence: they differ from those that were first seen.
   *
   * @param source such as "plugin:weather"
   * @param project the file that configures the source
   */
  mayUse(source: string, project: string, tools: readonly Tool[]): Promise<string | undefined>;
}

/** The source of a program that starts in the workspace outside the sandbox: a person has to trust it by name. */
export interface OpenedProgram {
  /** Such as "mcp:github". */
  readonly source: string;
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
  const byName = (argv: readonly string[], { source }: OpenedProgram): TrustedFile => ({
    path: `${source} in ${resolve(workDir)}, outside the sandbox`,
    sha256: createHash("sha256").update(JSON.stringify(argv)).digest("hex"),
  });
  return {
    files,
    byName,
    async copyOf(path, folder) {
      const [file] = await files([path]);
      if (file === undefined) return path;
      const bytes = await readFile(path);
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      if ((await trust.standing({ path: file.path, sha256 })) !== "trusted")
        throw new Error(`${path} has changed since you trusted it. ${SEE}`);
      const name = `${sha256}${extname(path) === ".cjs" ? ".cjs" : ".mjs"}`;
      await replacePrivateFile(folder, name, bytes);
      return join(folder, name);
    },
    async mayStart(argv, opened) {
      if (opened !== undefined && (await trust.standing(byName(argv, opened))) !== "trusted")
        return `is not started: it would start in the workspace, outside the sandbox, and is not trusted. ${SEE}`;
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
