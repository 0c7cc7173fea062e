import { createHash } from "node:crypto";
import { readFile, readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { parseJson } from "../core/util/json.ts";
import { isMissing, replacePrivateFile } from "../core/util/private-file.ts";

/** What a grant is bound to: a real folder, and its backend ("local", "docker:web"). */
export interface Workspace {
  readonly backend: string;
  readonly folder: string;
}

export interface Grant {
  readonly workspace: Workspace;
  /** As `Scope.key`. */
  readonly key: string;
  /** The label that the person was shown; raw. */
  readonly label: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** Milliseconds since 1970. Default: until it is revoked. */
  readonly until?: number;
}

export interface KeptGrants {
  holds(workspace: Workspace, key: string): Promise<boolean>;
  /** Saves a grant. Resolves when the grant is durable. Rejects with the system's error. */
  keep(grant: Grant): Promise<void>;
  /** The grants, oldest first, without expired ones. */
  list(): Promise<readonly (Grant & { readonly id: string })[]>;
  /** Revokes a grant. Resolves to false if there is none with this id. */
  revoke(id: string): Promise<boolean>;
}

/**
 * Stores grants in a folder, one file (0600) for each grant. So processes share grants, no grant is half written, and a
 * revoked grant is gone for all processes. Other files are ignored.
 */
export function keptGrants(folder: string, now: () => number = Date.now): KeptGrants {
  const fileOf = (id: string) => join(folder, `${id}.json`);

  const read = async (id: string): Promise<Grant | undefined> => {
    const grant = grantIn(await readFile(fileOf(id), "utf8").catch(ignoreMissing));
    if (grant === undefined || idOf(grant.workspace, grant.key) !== id) return undefined;
    if (grant.until === undefined || grant.until > now()) return grant;
    await unlink(fileOf(id)).catch(ignoreMissing);
    return undefined;
  };

  return {
    // An unreadable file grants nothing: the person is asked.
    holds: async (workspace, key) => (await read(idOf(workspace, key)).catch(() => undefined)) !== undefined,
    async keep({ workspace, key, label, since, until }) {
      const record = { workspace, key, label, since, ...(until !== undefined && { until }) };
      await replacePrivateFile(folder, `${idOf(workspace, key)}.json`, `${JSON.stringify(record)}\n`);
    },
    async list() {
      const names = (await readdir(folder).catch(ignoreMissing)) ?? [];
      const ids = names.flatMap((name) => /^([0-9a-f]{16})\.json$/.exec(name)?.[1] ?? []);
      const grants = await Promise.all(ids.map(async (id) => ({ id, grant: await read(id) })));
      return grants
        .flatMap(({ id, grant }) => (grant === undefined ? [] : [{ id, ...grant }]))
        .sort((one, other) => one.since - other.since);
    },
    async revoke(id) {
      if (!/^[0-9a-f]{16}$/.test(id)) return false;
      try {
        await unlink(fileOf(id));
        return true;
      } catch (error) {
        if (isMissing(error)) return false;
        throw error;
      }
    },
  };
}

function idOf({ backend, folder }: Workspace, key: string): string {
  return createHash("sha256")
    .update(JSON.stringify([backend, folder, key]))
    .digest("hex")
    .slice(0, 16);
}

function grantIn(text: string | undefined): Grant | undefined {
  const parsed = text === undefined ? undefined : parseJson(text);
  if (parsed?.ok !== true) return undefined;
  const { workspace, key, label, since, until } = fieldsOf(parsed.value);
  const { backend, folder } = fieldsOf(workspace);
  if (typeof backend !== "string" || typeof folder !== "string") return undefined;
  if (typeof key !== "string" || typeof label !== "string" || typeof since !== "number") return undefined;
  if (until !== undefined && typeof until !== "number") return undefined;
  return { workspace: { backend, folder }, key, label, since, ...(until !== undefined && { until }) };
}

function fieldsOf(value: unknown): { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function ignoreMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
  return undefined;
}
