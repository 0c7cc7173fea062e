import { createHash } from "node:crypto";
import { readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { parseJson } from "../../core/util/json.ts";
import { isMissing, replacePrivateFile } from "../../core/util/private-file.ts";
import { readSource } from "./source.ts";

/** A file that the user has trusted, with its content at that time. */
export interface TrustedFile {
  /**
   * The path in its real folder. If the file itself is a link, it is not followed, because another project could link
   * to it.
   */
  readonly path: string;
  readonly sha256: string;
  /** What it asked for then, one per line. Shown when the user is asked again. */
  readonly asked?: readonly string[];
}

/** Tools of a program as they were when they were first seen, or last trusted by the user. */
export interface SeenTools {
  /** Such as "plugin:weather of /home/dev/app/handrail.yaml". */
  readonly name: string;
  /** A description for people. */
  readonly text: string;
}

/** Changed tools that the user has not trusted yet. */
export interface ChangedTools extends SeenTools {
  readonly before: string;
}

/** The state of a file: trusted as it is, changed since it was trusted, or never trusted. */
export type Standing = "trusted" | "changed" | "never trusted";

/** The files that the user has trusted. */
export interface Trust {
  standing(file: TrustedFile): Promise<Standing>;
  /** Returns the file as it was when it was trusted. */
  known(path: string): Promise<TrustedFile | undefined>;
  /** Stores a trusted file, durably and atomically. Rejects with the system's error. */
  record(file: TrustedFile): Promise<void>;
  /** Resolves to false if there was nothing to revoke. */
  revoke(path: string): Promise<boolean>;
  /** Returns the trusted files, sorted by path. */
  list(): Promise<readonly TrustedFile[]>;
  /**
   * Returns whether the tools are the ones recorded under this name. The first tools are recorded; changed tools wait
   * for `acceptTools`.
   */
  seen(tools: SeenTools): Promise<boolean>;
  /** Returns the changed tools that wait, by name. */
  changedTools(): Promise<readonly ChangedTools[]>;
  acceptTools(tools: SeenTools): Promise<void>;
}

/**
 * Stores trust in the state folder, one small file (0600) per trusted file, so that concurrent programs lose nothing.
 */
export function createTrust(stateFolder: string): Trust {
  const folder = join(stateFolder, "trusted");
  const recordOf = (path: string) => `${createHash("sha256").update(path).digest("hex")}.json`;
  const toolsOf = (name: string) => `${createHash("sha256").update(name).digest("hex")}.tools`;
  const names = async (ending: string): Promise<readonly string[]> => {
    const all = await readdir(folder).catch((error: unknown) => {
      if (isMissing(error)) return [];
      throw error;
    });
    return all.filter((name) => name.endsWith(ending));
  };
  const keep = (name: string, value: object) => replacePrivateFile(folder, name, `${JSON.stringify(value)}\n`);
  return {
    async standing({ path, sha256 }) {
      const known = await readRecord(join(folder, recordOf(path)));
      if (known?.path !== path) return "never trusted";
      return known.sha256 === sha256 ? "trusted" : "changed";
    },
    async known(path) {
      const known = await readRecord(join(folder, recordOf(path)));
      return known?.path === path ? known : undefined;
    },
    record: ({ path, sha256, asked }) => keep(recordOf(path), { path, sha256, asked }),
    async revoke(path) {
      try {
        await unlink(join(folder, recordOf(path)));
        return true;
      } catch (error) {
        if (isMissing(error)) return false;
        throw error;
      }
    },
    async list() {
      const records = await Promise.all((await names(".json")).map((name) => readRecord(join(folder, name))));
      return records
        .filter((record) => record !== undefined)
        .sort((a, b) => (a.path < b.path ? -1 : Number(a.path > b.path)));
    },
    async seen({ name, text }) {
      const known = await readTools(join(folder, toolsOf(name)));
      if (known?.before === text) return true;
      // The first tools are trusted: the user has trusted the program that has them.
      await keep(toolsOf(name), known === undefined ? { name, before: text } : { name, before: known.before, text });
      return known === undefined;
    },
    async changedTools() {
      const all = await Promise.all((await names(".tools")).map((name) => readTools(join(folder, name))));
      return all.flatMap((each) => (each?.text === undefined ? [] : [{ ...each, text: each.text }]));
    },
    acceptTools: ({ name, text }) => keep(toolsOf(name), { name, before: text }),
  };
}

async function readTools(path: string) {
  const { name, before, text } = (await readFields(path)) ?? {};
  if (typeof name !== "string" || typeof before !== "string") return undefined;
  return { name, before, ...(typeof text === "string" && { text }) };
}

/** Reads a record. A file that is not a valid record gives no trust. */
async function readRecord(path: string): Promise<TrustedFile | undefined> {
  const { path: file, sha256, asked } = (await readFields(path)) ?? {};
  if (typeof file !== "string" || typeof sha256 !== "string") return undefined;
  const isList = Array.isArray(asked) && asked.every((line) => typeof line === "string");
  return { path: file, sha256, ...(isList && { asked }) };
}

async function readFields(path: string): Promise<{ readonly [field: string]: unknown } | undefined> {
  const read = await readSource(path);
  const parsed = read.ok ? parseJson(read.source.text) : undefined;
  if (parsed?.ok !== true || typeof parsed.value !== "object" || parsed.value === null) return undefined;
  return parsed.value as { readonly [field: string]: unknown };
}
