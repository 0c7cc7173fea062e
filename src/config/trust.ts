import { createHash, randomUUID } from "node:crypto";
import { readdir, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { parseJson } from "../util/json.ts";
import { createPrivateFile, isMissing } from "../util/private-file.ts";
import { readSource } from "./source.ts";

/** A file that the user has trusted, with the content it had then. */
export interface TrustedFile {
  /** In its real folder; a link in its own place is not followed, since another project could link to it. */
  readonly path: string;
  readonly sha256: string;
}

/** How a file stands: trusted as it is, trusted once but changed since, or never trusted. */
export type Standing = "trusted" | "changed" | "never trusted";

/** Which files the user has trusted. */
export interface Trust {
  standing(file: TrustedFile): Promise<Standing>;
  /** Durable and whole, or an error of the system. */
  record(file: TrustedFile): Promise<void>;
  /** False when there was nothing to take back. */
  revoke(path: string): Promise<boolean>;
  /** By path. */
  list(): Promise<readonly TrustedFile[]>;
}

/** Trust is kept in the state folder, one small file (0600) for each trusted one, so that two programs at once lose nothing. */
export function createTrust(stateFolder: string): Trust {
  const folder = join(stateFolder, "trusted");
  const recordOf = (path: string) => `${createHash("sha256").update(path).digest("hex")}.json`;
  return {
    async standing({ path, sha256 }) {
      const known = await readRecord(join(folder, recordOf(path)));
      if (known?.path !== path) return "never trusted";
      return known.sha256 === sha256 ? "trusted" : "changed";
    },
    async record(file) {
      const name = recordOf(file.path);
      const temporary = `.${randomUUID()}`;
      const open = await createPrivateFile(folder, temporary);
      try {
        await open.writeFile(`${JSON.stringify({ path: file.path, sha256: file.sha256 })}\n`);
        await open.sync();
        await rename(join(folder, temporary), join(folder, name));
      } catch (error) {
        await unlink(join(folder, temporary)).catch(() => undefined);
        throw error;
      } finally {
        await open.close();
      }
    },
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
      const names = await readdir(folder).catch((error: unknown) => {
        if (isMissing(error)) return [];
        throw error;
      });
      const records = await Promise.all(
        names.filter((name) => name.endsWith(".json")).map((name) => readRecord(join(folder, name))),
      );
      return records
        .filter((record) => record !== undefined)
        .sort((a, b) => (a.path < b.path ? -1 : Number(a.path > b.path)));
    },
  };
}

/** What is no record of ours trusts nothing. */
async function readRecord(path: string): Promise<TrustedFile | undefined> {
  const read = await readSource(path);
  if (!read.ok) return undefined;
  const parsed = parseJson(read.source.text);
  if (!parsed.ok || typeof parsed.value !== "object" || parsed.value === null) return undefined;
  const { path: file, sha256 } = parsed.value as { readonly path?: unknown; readonly sha256?: unknown };
  return typeof file === "string" && typeof sha256 === "string" ? { path: file, sha256 } : undefined;
}
