import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { readFile, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, extname, isAbsolute, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Env } from "../../core/contract/effect.ts";
import type { Tool } from "../../core/contract/tool.ts";
import { isInside } from "../../core/util/paths.ts";
import { replacePrivateFile } from "../../core/util/private-file.ts";
import { environmentLeadsOutside, leadsOutside } from "./program-proof.ts";
import type { Trust, TrustedFile } from "./trust.ts";

/** Decides whether programs that provide tools may be started, and whether their tools may be used. */
export interface ProgramTrust {
  /** Returns the files that a model can write among a program and its arguments, with their current content. */
  files(argv: readonly string[]): Promise<readonly TrustedFile[]>;
  /**
   * Returns whether a program is proven to run nothing that a model could have written, started in a folder outside: it
   * lies outside, each word leads outside (`leadsOutside`), no variable that is set for it leads inside, and no module
   * beside it or above could be loaded instead. A program that does not exist runs nothing.
   */
  isProven(argv: readonly string[], env?: Env): Promise<boolean>;
  /**
   * Returns whether a model could have written modules that interpreters find beside the files that are named, or in
   * `node_modules` of the folders above.
   */
  hasModules(argv: readonly string[]): Promise<boolean>;
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
  /** Returns what models could write in any session, as real paths (`writtenPlaces`). */
  readonly written?: () => Promise<readonly string[]>;
  /** Where programs without a folder in their name are found. Default: the environment's PATH. */
  readonly path?: string | undefined;
}

const SEE = "See: handrail trust";

/** Their programs load nothing that lies beside them. */
const SYSTEM_FOLDER = /^\/(usr(\/local)?\/)?s?bin$/;

export function createProgramTrust({
  trust,
  workDir,
  writable = [],
  written = async () => [],
  path: searched = process.env["PATH"],
}: ProgramTrustOptions): ProgramTrust {
  const placesOf = async () => {
    const folders = await Promise.all([workDir, ...writable].map((each) => realpath(each).catch(() => each)));
    return { folders, places: await written() };
  };
  const realFile = async (path: string): Promise<string | undefined> => {
    const real = await realpath(path).catch(() => undefined);
    const info = real === undefined ? undefined : await stat(real).catch(() => undefined);
    return info?.isFile() === true ? real : undefined;
  };
  const isIn = (path: string, { folders, places }: Awaited<ReturnType<typeof placesOf>>) =>
    [...folders, ...places].some((folder) => isInside(path, folder));
  /** The program that would be started, as `findProgram` finds it; otherwise one that would not be. */
  const onPath = async (name: string): Promise<string> => {
    const known = await placesOf();
    let closed = "";
    for (const folder of (searched ?? "").split(delimiter)) {
      const path = resolve(workDir, folder, name);
      const real = await realFile(path);
      if (real === undefined) continue;
      const isOpen = !isAbsolute(folder) || /(^|\/)node_modules(\/|$)/.test(folder);
      if (!isOpen && !isIn(path, known) && !isIn(real, known)) return path;
      if (closed === "") closed = path;
    }
    return closed;
  };
  const filesOf = async (words: readonly string[]) => {
    const found = await Promise.all(
      words.map(async (word): Promise<{ path: string; real: string } | undefined> => {
        if (word === "" || word.includes("\0")) return undefined;
        const path = resolve(workDir, word);
        const real = await realFile(path);
        return real === undefined ? undefined : { path, real };
      }),
    );
    return found.filter((file) => file !== undefined);
  };
  const namedBy = async (argv: readonly string[]) => {
    const [first = "", ...args] = argv;
    return filesOf([
      first.includes("/") ? first : await onPath(first),
      ...args.flatMap((word) => [word, word.slice(word.indexOf("=") + 1), /^-\w(.+)$/s.exec(word)?.[1] ?? ""]),
    ]);
  };
  const files = async (argv: readonly string[]): Promise<readonly TrustedFile[]> => {
    const known = await placesOf();
    const isOpen = (path: string) => isIn(path, known);
    const open = new Map(
      (await namedBy(argv)).filter(({ path, real }) => isOpen(path) || isOpen(real)).map((file) => [file.path, file]),
    );
    return Promise.all([...open.values()].map(async ({ path, real }) => ({ path, sha256: await hashOf(real) })));
  };
  const isProven = async (argv: readonly string[], env: Env = {}): Promise<boolean> => {
    if ((await files(argv)).length > 0) return false;
    const { folders, places } = await placesOf();
    const all = [...new Set([...folders, ...[workDir, ...writable].map((each) => resolve(each)), ...places])];
    const known = { places: all, workDir, home: homedir(), exists: existsSync };
    const [program = "", ...args] = argv;
    const words = program.includes("/") ? argv : args; // a name is found on the PATH
    if (!words.every((word) => leadsOutside(word, known)) || !environmentLeadsOutside(env, known)) return false;
    return !(await hasModules(argv));
  };
  const hasModules = async (argv: readonly string[]): Promise<boolean> => {
    const { places } = await placesOf();
    const scripts = await namedBy(argv);
    return places.some((place) => {
      const above = /^(.*)\/node_modules(\/|$)/s.exec(place)?.[1];
      return scripts.some(({ real }) => {
        const folder = dirname(real);
        const isBeside = !SYSTEM_FOLDER.test(folder) && isInside(place, folder);
        return isBeside || (above !== undefined && isInside(folder, above));
      });
    });
  };
  const byName = (argv: readonly string[], { source }: OpenedProgram): TrustedFile => ({
    path: `${source} in ${resolve(workDir)}, outside the sandbox`,
    sha256: createHash("sha256").update(JSON.stringify(argv)).digest("hex"),
  });
  return {
    files,
    isProven,
    hasModules,
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
      for (const file of await files(argv)) {
        const standing = await trust.standing(file);
        if (standing === "trusted") continue;
        const why = standing === "changed" ? "has changed since you trusted it" : "is not trusted";
        return `is not started: ${file.path} lies where a model can write, and ${why}. ${SEE}`;
      }
      if (opened !== undefined && (await trust.standing(byName(argv, opened))) !== "trusted")
        return `is not started: it could run what a model wrote, outside the sandbox, and is not trusted. ${SEE}`;
      return undefined;
    },
    async mayUse(source, project, tools) {
      const isSeen = await trust.seen({ name: `${source} of ${project}`, text: describeTools(tools) });
      return isSeen ? undefined : `offers other tools than you trusted, so none is used. ${SEE}`;
    },
  };
}

/** Returns the definitions that models get, and which tools are hidden from people, as text that people can compare. */
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
