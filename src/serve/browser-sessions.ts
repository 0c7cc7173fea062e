import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { parseJson } from "../core/util/json.ts";
import { isMissing, replacePrivateFile } from "../core/util/private-file.ts";
import { tried } from "../core/util/errors.ts";

/** A browser, or the browser of a phone, that may use the console. */
export interface BrowserSession {
  readonly id: string;
  readonly kind: "browser" | "phone";
  /** What people call it: "Chrome on Linux", "Pixel 8". Raw: escape it for display. */
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly createdMs: number;
  /** When the session was last used, to the minute. Milliseconds since 1970. */
  readonly usedMs: number;
  /** The address from which the session was last used. */
  readonly address: string;
  /** The user whose session it is. Absent: that of the holder of the API's token, who may do everything. */
  readonly user?: string;
}

/** The sessions of browsers. Processes that share the folder share them. */
export interface BrowserSessions {
  /** Begins a session. `secret` authorizes whoever has it; the secret is not kept. Rejects with the system's error. */
  create(
    session: Pick<BrowserSession, "kind" | "name" | "address" | "user">,
  ): Promise<{ readonly session: BrowserSession; readonly secret: string }>;
  /** Returns the session with this secret, and notes its use; `undefined` if it has ended or never existed. */
  use(secret: string, address: string): BrowserSession | undefined;
  /** Returns a signal that fires when this process revokes the session, and soon after another process does. */
  ended(id: string): AbortSignal;
  /** The sessions, oldest first. */
  list(): Promise<readonly BrowserSession[]>;
  /** Ends a session. Resolves to false if no session has this id. */
  revoke(id: string): Promise<boolean>;
}

/** A session that is not used for this time ends. */
const UNUSED_MS = 90 * 86_400_000;

/** The use of a session is noted at most this often, in milliseconds. */
const NOTE_MS = 60_000;

/** How often to look whether another process has revoked a session, in milliseconds. */
const LOOK_MS = 250;

/**
 * Keeps sessions in a folder, one file (0600) each with the hash of its secret; revoking one removes the file. A second
 * file has its last use, so that noting it never brings back a session.
 */
export function browserSessions(folder: string, now: () => number = Date.now): BrowserSessions {
  const open = new Map<string, AbortController>();
  const noted = new Map<string, { readonly at: number; readonly address: string }>();
  const fileOf = (id: string) => join(folder, `${id}.json`);

  const read = (id: string): (BrowserSession & { readonly hash: string }) | undefined => {
    const kept = fieldsIn(readTextFile(fileOf(id)));
    const { name, kind, hash, createdMs, address, user, tenant } = kept;
    if (typeof name !== "string" || typeof hash !== "string" || typeof createdMs !== "number") return undefined;
    if (tenant !== undefined) return undefined; // of a version with tenants: not a session of this record
    const used = fieldsIn(readTextFile(join(folder, useOf(id))));
    const usedMs = typeof used["usedMs"] === "number" ? used["usedMs"] : createdMs;
    if (now() - usedMs > UNUSED_MS) return undefined;
    const last = typeof used["address"] === "string" ? used["address"] : String(address);
    const text = (value: unknown) => (typeof value === "string" ? value : ""); // "": nobody
    const whose = user === undefined ? {} : { user: text(user) };
    return { id, kind: kind === "phone" ? "phone" : "browser", name, createdMs, usedMs, address: last, hash, ...whose };
  };

  const note = (id: string, address: string) => {
    const last = noted.get(id);
    if (last !== undefined && last.address === address && now() - last.at < NOTE_MS) return;
    noted.set(id, { at: now(), address });
    // The session counts, even if its use cannot be noted.
    void replacePrivateFile(folder, useOf(id), JSON.stringify({ usedMs: now(), address })).catch(() => undefined);
  };

  const end = (id: string) => {
    open.get(id)?.abort(new Error("the browser's session was revoked"));
    open.delete(id);
  };

  let looking: NodeJS.Timeout | undefined;
  const look = () => {
    for (const id of open.keys()) if (!existsSync(fileOf(id))) end(id);
    if (open.size > 0) return;
    clearInterval(looking);
    looking = undefined;
  };

  return {
    async create({ kind, name, address, user }) {
      const id = randomBytes(8).toString("hex");
      const secret = `${id}.${randomBytes(32).toString("base64url")}`;
      const createdMs = now();
      const whose = user === undefined ? {} : { user };
      const kept = { kind, name, address, createdMs, ...whose, hash: hashOf(secret).toString("base64url") };
      await replacePrivateFile(folder, `${id}.json`, `${JSON.stringify(kept)}\n`);
      return { session: { id, kind, name, address, createdMs, usedMs: createdMs, ...whose }, secret };
    },
    use(secret, address) {
      const [, id] = /^([0-9a-f]{16})\.[\w-]{43}$/.exec(secret) ?? [];
      const found = id === undefined ? undefined : read(id);
      if (found === undefined) return undefined;
      const { hash, ...session } = found;
      const expected = Buffer.from(hash, "base64url");
      const given = hashOf(secret);
      if (expected.length !== given.length || !timingSafeEqual(expected, given)) return undefined;
      note(session.id, address);
      return session;
    },
    ended(id) {
      const controller = open.get(id) ?? new AbortController();
      open.set(id, controller);
      looking ??= setInterval(look, LOOK_MS).unref();
      return controller.signal;
    },
    async list() {
      const names = await readdir(folder).catch((error: unknown) => {
        if (isMissing(error)) return [];
        throw error;
      });
      const ids = names.flatMap((name) => /^([0-9a-f]{16})\.json$/.exec(name)?.[1] ?? []);
      const sessions = ids.map((id) => ({ id, session: read(id) }));
      const over = sessions.filter(({ session }) => session === undefined);
      await Promise.all(over.map(({ id }) => removeFiles(folder, id)));
      return sessions
        .flatMap(({ session }) => session ?? [])
        .map(({ hash: _, ...session }) => session)
        .sort((one, other) => one.createdMs - other.createdMs);
    },
    async revoke(id) {
      if (!/^[0-9a-f]{16}$/.test(id)) return false;
      const isRevoked = await removeFiles(folder, id);
      end(id);
      return isRevoked;
    },
  };
}

/** Removes the session's file first: from then on the session has ended. Resolves to whether the file existed. */
async function removeFiles(folder: string, id: string): Promise<boolean> {
  const isRemoved = await removeFile(join(folder, `${id}.json`));
  await removeFile(join(folder, useOf(id)));
  await removeFile(join(folder, `${id}.push.json`)); // of a version that sent Web Push
  return isRemoved;
}

/** Resolves to false if the file does not exist. */
async function removeFile(file: string): Promise<boolean> {
  try {
    await unlink(file);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

const useOf = (id: string) => `${id}.used.json`;

function hashOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

function readTextFile(file: string): string {
  return tried(() => readFileSync(file, "utf8")) ?? ""; // revoked
}

function fieldsIn(text: string): { readonly [name: string]: unknown } {
  const parsed = parseJson(text);
  return parsed.ok && typeof parsed.value === "object" && parsed.value !== null ? { ...parsed.value } : {};
}
