import { createHash } from "node:crypto";
import { readFile, readdir, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { randomName } from "../util/identifier.ts";
import { parseJson } from "../util/json.ts";
import { createPrivateFile, isMissing } from "../util/private-file.ts";

/** What a grant is bound to beside itself: a real folder, and the backend it is on ("local", "docker:web"). */
export interface Workspace {
  readonly backend: string;
  readonly folder: string;
}

export interface Grant {
  readonly workspace: Workspace;
  /** As `Scope.key`. */
  readonly key: string;
  /** As the person was shown it; raw. */
  readonly label: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** The same; default: until it is revoked. */
  readonly until?: number;
}

export interface KeptGrants {
  holds(workspace: Workspace, key: string): Promise<boolean>;
  /** Durable and whole when it resolves. Rejects with the system's error. */
  keep(grant: Grant): Promise<void>;
  /** The oldest first, without those that have expired. */
  list(): Promise<readonly (Grant & { readonly id: string })[]>;
  /** False when there is none of this id. */
  revoke(id: string): Promise<boolean>;
}

/**
 * Grants in a folder, one small file (0600) each: processes lose nothing of each other's, none is left half written,
 * and what is revoked is gone for all. What is no file of ours grants nothing.
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
    // What cannot be read grants nothing: the person is asked.
    holds: async (workspace, key) => (await read(idOf(workspace, key)).catch(() => undefined)) !== undefined,
    async keep({ workspace, key, label, since, until }) {
      const temporary = `.${randomName(16)}`;
      const file = await createPrivateFile(folder, temporary);
      try {
        const record = { workspace, key, label, since, ...(until !== undefined && { until }) };
        await file.writeFile(`${JSON.stringify(record)}\n`);
        await file.sync();
        await rename(join(folder, temporary), fileOf(idOf(workspace, key)));
      } catch (error) {
        await unlink(join(folder, temporary)).catch(() => undefined);
        throw error;
      } finally {
        await file.close();
      }
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
