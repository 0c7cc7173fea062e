import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { APPROVER_LIMITS, type Risk } from "../core/contract/approvers.ts";
import { TENANTS_WERE_REMOVED } from "../core/util/removed.ts";
import { parseJson } from "../core/util/json.ts";
import { replacePrivateFile } from "../core/util/private-file.ts";

/**
 * What a person may do. "watch": read everything. "prompt": give agents messages, make calls, stop things, write to
 * jobs. "answer": answer questions, up to a risk. "administer": everything else, such as revoking grants.
 */
export const SCOPES = ["watch", "prompt", "answer", "administer"] as const;
export type Scope = (typeof SCOPES)[number];

/** A person with a token of their own. */
export interface User {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** The highest risk that they may approve. Refusing is always allowed to who answers. */
  readonly risk: Risk;
}

/** The users of one server's state folder. */
export interface Users {
  /** Throws Error for a damaged file. */
  list(): readonly User[];
  /** Throws Error if there are users of a tenant, who are nobody here: what they saw was another record. */
  requireNoTenants(): void;
  /** Adds a user, or gives an existing one other scopes and a new token. Resolves to the token, which is not kept. */
  set(user: User): Promise<string>;
  /**
   * Resolves to false if there is no such user. Later requests with their token, and of their browsers, are refused.
   */
  remove(name: string): Promise<boolean>;
  /** The user with this token. */
  byToken(token: string): User | undefined;
  /** The user as they are now; `undefined` if they were removed. */
  byName(name: string): User | undefined;
}

/** `tenant` is of versions that had tenants. Who has one is not known here. */
type Kept = User & { readonly hash: string; readonly tenant?: string };

/**
 * Keeps users in a file (0600) with the hashes of their tokens. It is read at each request: while it is damaged, nobody
 * is known. `set` and `remove` then reject.
 */
export function usersIn(file: string): Users {
  const kept = (): readonly Kept[] | undefined => {
    const parsed = parseJson(textOf(file));
    return parsed.ok && Array.isArray(parsed.value) ? (parsed.value as readonly Kept[]) : undefined;
  };
  const read = () => (kept() ?? []).filter(({ tenant }) => tenant === undefined);
  /** The users. Throws for a damaged file: to say that there are none, or to write it again, would lose them. */
  const readWhole = (): readonly Kept[] => {
    const users = kept();
    if (users === undefined) throw new Error(`${file} is damaged. Repair it, or remove it and add the users again`);
    return users;
  };
  const write = (users: readonly Kept[]) =>
    replacePrivateFile(dirname(file), "users.json", `${JSON.stringify(users, undefined, 2)}\n`);
  const known = ({ hash: _, tenant: __, ...user }: Kept): User => user;
  const found = (user: Kept | undefined) => user && known(user);
  return {
    list: () => readWhole().map(known),
    requireNoTenants() {
      const theirs = (kept() ?? []).filter(({ tenant }) => tenant !== undefined).map(({ name }) => name);
      if (theirs.length === 0) return;
      throw new Error(
        `${file} has users of tenants: ${theirs.join(", ")}. ${TENANTS_WERE_REMOVED}; then remove or add them again`,
      );
    },
    async set({ name, scopes, risk }) {
      const token = `user.${randomBytes(32).toString("base64url")}`;
      const others = readWhole().filter((each) => each.name !== name);
      await write([...others, { name, scopes, risk, hash: hashOf(token) }]);
      return token;
    },
    async remove(name) {
      const users = readWhole();
      const left = users.filter((each) => each.name !== name);
      if (left.length < users.length) await write(left);
      return left.length < users.length;
    },
    byToken(token) {
      if (!token.startsWith("user.")) return undefined;
      const hash = hashOf(token); // of a random token: comparing hashes tells nothing about it
      return found(read().find((each) => each.hash === hash));
    },
    byName: (name) => found(read().find((each) => each.name === name)),
  };
}

/**
 * Parses "watch,prompt,answer:medium".
 *
 * @throws Error that names what was expected.
 */
export function scopesOf(text: string): Pick<User, "scopes" | "risk"> {
  let risk: Risk = "high";
  const scopes = text.split(",").map((word): Scope => {
    const [name = "", limit] = word.trim().split(":");
    const scope = SCOPES.find((each) => each === name);
    const up = APPROVER_LIMITS.find((each): each is Risk => each === limit && each !== "none");
    if (scope === undefined || (limit !== undefined && (scope !== "answer" || up === undefined)))
      throw new Error(
        `${JSON.stringify(word)} is no scope: expected ${SCOPES.join(", ")}, or answer:low, answer:medium`,
      );
    risk = up ?? risk;
    return scope;
  });
  return { scopes: [...new Set<Scope>(["watch", ...scopes])], risk };
}

/** Why a user may not do what needs this scope; `undefined` if they may. */
export function whyNotBy(user: User | undefined, scope: Scope): string | undefined {
  if (user === undefined || user.scopes.includes(scope)) return undefined;
  return `${user.name} may ${user.scopes.join(", ")}; this needs the scope ${scope}.`;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "[]";
  }
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}
