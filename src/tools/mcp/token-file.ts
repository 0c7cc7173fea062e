import { createHash } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { makePrivateFolder, replacePrivateFile } from "../../core/util/private-file.ts";
import { parseJson } from "../../core/util/json.ts";
import { withLockFile } from "../../core/util/process-lock.ts";

/** Handrail's registration at an authorization server. */
export interface OAuthSettings {
  /** The id of a client that was registered by hand. Default: a client is registered at each login (RFC 7591). */
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** The requested scope. Default: the one that the server names. */
  readonly scope?: string;
  /**
   * The https URL of a document that describes the client (OAuth Client ID Metadata Document). It takes the place of a
   * registration at authorities that support it. Default: a client is registered.
   */
  readonly clientMetadataUrl?: string;
  /**
   * "client_credentials": the client itself logs in, with `clientId` and its secret or key, whenever the server asks
   * for a token. Its tokens are not stored. Default: a person logs in.
   */
  readonly grant?: "client_credentials";
  /** The URL of the only authority that gets the credentials of that grant. Default: the one that the server names. */
  readonly issuer?: string;
  /** The private key of the client, in PEM, for the grant "client_credentials" (private_key_jwt). */
  readonly privateKey?: string;
  /** The algorithm of the private key's signature. Default "ES256". */
  readonly algorithm?: string;
}

/** The stored data of one server. Clients and tokens have the members of the protocol (RFC 7591, RFC 6749). */
export interface Stored {
  readonly url: string;
  readonly client?: { readonly client_id: string; readonly [member: string]: unknown };
  readonly tokens?: StoredTokens;
  /** The scopes that the server has asked for since; the next login requests them too. */
  readonly wanted?: string;
}

interface StoredTokens {
  readonly access_token: string;
  readonly token_type: string;
  readonly refresh_token?: string | undefined;
  readonly scope?: string | undefined;
  readonly [member: string]: unknown;
}

/** The tokens of one server, in their own file (0600). */
export interface TokenFile {
  /** Resolves to `undefined` if no tokens are stored, or they cannot be read. */
  read(): Promise<Stored | undefined>;
  /** Writes the file atomically. */
  write(stored: Omit<Stored, "url">): Promise<void>;
  remove(): Promise<void>;
  /** Runs the work while no other process or call does so for this file. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
}

/** Returns the token file of a URL. A server with the same name and another URL does not get these tokens. */
export function tokenFile(stateFolder: string, url: string): TokenFile {
  const folder = join(stateFolder, "mcp-tokens");
  const name = `${createHash("sha256").update(url).digest("hex").slice(0, 32)}.json`;
  return {
    async read() {
      const text = await readFile(join(folder, name), "utf8").catch(() => "");
      const parsed = parseJson(text);
      const stored = parsed.ok ? (parsed.value as Stored) : undefined;
      return stored?.url === url ? stored : undefined;
    },
    write: (stored) => replacePrivateFile(folder, name, `${JSON.stringify({ url, ...stored })}\n`),
    remove: () => rm(join(folder, name), { force: true }),
    async exclusively(work) {
      await makePrivateFolder(folder);
      return await withLockFile(join(folder, `${name}.lock`), "this login", work);
    },
  };
}
