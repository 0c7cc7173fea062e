import { createHash } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { pause } from "../../util/abort.ts";
import { makePrivateFolder, replacePrivateFile } from "../../util/private-file.ts";
import { parseJson } from "../../util/json.ts";
import { withLockFile } from "../../util/process-lock.ts";
import type { Fetching, TokenProvider } from "./server-settings.ts";

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
   * "client_credentials": the client itself logs in, with `clientId` and its secret or key, whenever the server asks for
   * a token. Its tokens are not stored. Default: a person logs in.
   */
  readonly grant?: "client_credentials";
  /** The URL of the only authority that gets the credentials of that grant. Default: the one that the server names. */
  readonly issuer?: string;
  /** The private key of the client, in PEM, for the grant "client_credentials" (private_key_jwt). */
  readonly privateKey?: string;
  /** The algorithm of the private key's signature. Default "ES256". */
  readonly algorithm?: string;
}

/** The stored data of one server. */
interface Stored {
  readonly url: string;
  readonly client?: StoredOAuthClientInformation;
  readonly tokens?: StoredOAuthTokens;
  /** The scopes that the server has asked for since; the next login requests them too. */
  readonly wanted?: string;
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

/** The part of a login that happens in a browser. */
export interface Redirect {
  /** The loopback address to which the browser returns. */
  readonly url: string;
  readonly state: string;
  /** Shows the login URL to a person. */
  open(url: URL): void;
}

/** Creates the SDK's provider for a token file. Without a redirect it only refreshes tokens. */
export function oauthProvider(file: TokenFile, settings: OAuthSettings, redirect?: Redirect): OAuthClientProvider {
  const { clientId, clientSecret, scope, clientMetadataUrl } = settings;
  const configured =
    clientId === undefined
      ? undefined
      : { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) };
  const redirectUrl = redirect?.url ?? "http://127.0.0.1/callback";
  let verifier = "";
  /** The client that this login registered. Clients of earlier logins are ignored. */
  let registered: StoredOAuthClientInformation | undefined;
  let discovered: OAuthDiscoveryState | undefined;
  let used: string | undefined;
  return {
    redirectUrl,
    clientMetadata: {
      client_name: "Handrail",
      client_uri: "https://github.com/handrail/handrail",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: clientSecret === undefined ? "none" : "client_secret_post",
      ...(scope !== undefined && { scope }),
    },
    ...(clientMetadataUrl !== undefined && { clientMetadataUrl }),
    ...(redirect !== undefined && {
      state: () => redirect.state,
      saveDiscoveryState: (state: OAuthDiscoveryState) => void (discovered = state),
      discoveryState: () => discovered,
    }),
    async clientInformation() {
      if (configured !== undefined) return configured;
      return redirect === undefined ? (await file.read())?.client : registered;
    },
    ...(configured === undefined &&
      redirect !== undefined && {
        saveClientInformation(client: StoredOAuthClientInformation) {
          registered = client;
        },
      }),
    async tokens() {
      if (redirect !== undefined) return undefined;
      const tokens = (await file.read())?.tokens;
      used = tokens?.refresh_token;
      return tokens;
    },
    async saveTokens(tokens) {
      const stored = await file.read();
      const [client, wanted] = [registered ?? stored?.client, stored?.wanted];
      await file.write({
        tokens,
        ...(client !== undefined && { client }),
        ...(wanted !== undefined && { wanted }),
      });
    },
    redirectToAuthorization(url) {
      redirect?.open(url);
    },
    saveCodeVerifier(code) {
      verifier = code;
    },
    codeVerifier: () => verifier,
    async invalidateCredentials(what) {
      if (what !== "all" && what !== "tokens") return;
      // Another process may have refreshed the tokens meanwhile.
      if ((await file.read())?.tokens?.refresh_token === used) await file.remove();
    },
  };
}

/** Returns the scopes of both, each once, in their order; `undefined` if there are none. */
export function scopesOf(...scopes: readonly (string | undefined)[]): string | undefined {
  const all = new Set(scopes.flatMap((each) => each?.split(" ") ?? []).filter((each) => each !== ""));
  return all.size === 0 ? undefined : [...all].join(" ");
}

/**
 * Adds a token to a server's requests. That of a login is stored, and refreshed; it fails as "unauthorized" when a person
 * must log in.
 */
export function storedTokens(file: TokenFile, settings: OAuthSettings): (network: Fetching) => TokenProvider {
  const { grant } = settings;
  return (network) => (grant === undefined ? tokensOver(file, settings, network) : ownTokens(settings, network));
}

/** Tokens that the client gets with its own credentials. */
function ownTokens(settings: OAuthSettings, { fetch }: Fetching): TokenProvider {
  const { clientId = "", clientSecret = "", privateKey, algorithm = "ES256", scope: asked, issuer } = settings;
  let provider: OAuthClientProvider | undefined;
  const provided = async (): Promise<OAuthClientProvider> => {
    const { ClientCredentialsProvider, PrivateKeyJwtProvider } = await import("@modelcontextprotocol/client");
    const own = {
      ...{ clientId, clientName: "Handrail" },
      ...(asked !== undefined && { scope: asked }),
      ...(issuer !== undefined && { expectedIssuer: issuer }),
    };
    provider ??=
      privateKey === undefined
        ? new ClientCredentialsProvider({ ...own, clientSecret })
        : new PrivateKeyJwtProvider({ ...own, privateKey, algorithm });
    return provider;
  };
  return {
    token: async () => (await provider?.tokens())?.access_token,
    async onUnauthorized({ serverUrl, response }) {
      const { auth, extractWWWAuthenticateParams } = await import("@modelcontextprotocol/client");
      const { resourceMetadataUrl, scope = asked } = extractWWWAuthenticateParams(response);
      await auth(await provided(), {
        ...{ serverUrl, fetchFn: fetch },
        ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
        ...(scope !== undefined && { scope }),
      });
    },
  };
}

/** The pause between two looks for a login, in milliseconds. */
const LOOK_MS = 1_000;

function tokensOver(file: TokenFile, settings: OAuthSettings, { fetch }: Fetching): TokenProvider {
  let given: string | undefined;
  let refreshing: Promise<void> | undefined;
  const refresh = async (serverUrl: URL, response: Response) => {
    const { AuthorizationServerMismatchError, UnauthorizedError, auth, extractResourceMetadataUrl } =
      await import("@modelcontextprotocol/client");
    const stored = await file.read();
    if (stored?.tokens !== undefined && stored.tokens.access_token !== given) return; // refreshed by another process
    if (stored?.tokens?.refresh_token === undefined) throw new UnauthorizedError("there are no tokens");
    const resourceMetadataUrl = extractResourceMetadataUrl(response);
    /** The SDK drops the reason when an authority does not answer, and begins a login instead. */
    let answer: unknown;
    const fetchFn = async (url: string | URL, init?: RequestInit) => {
      try {
        const received = await fetch(url, init);
        answer = new Error(`${new URL(url).host} answers with HTTP ${received.status}`);
        return received;
      } catch (error) {
        answer = error;
        throw error;
      }
    };
    const result: unknown = await auth(oauthProvider(file, settings), {
      ...{ serverUrl, fetchFn },
      ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
    }).catch((error: unknown) => error);
    if (result === "AUTHORIZED") return;
    const now = (await file.read())?.tokens;
    if (now === undefined || AuthorizationServerMismatchError.isInstance(result))
      throw new UnauthorizedError("the tokens are no longer valid");
    if (now.refresh_token !== stored.tokens.refresh_token) return; // refreshed by another process
    // The authority has not refused the tokens: they may still be valid.
    throw new Error("the login could not be renewed", { cause: result instanceof Error ? result : answer });
  };
  return {
    async token() {
      given = (await file.read())?.tokens?.access_token;
      return given;
    },
    onUnauthorized({ serverUrl, response }) {
      // An authority takes a refresh token that is used twice for a stolen one, and ends the login.
      refreshing ??= file.exclusively(() => refresh(serverUrl, response)).finally(() => (refreshing = undefined));
      return refreshing;
    },
    async onForbidden(response) {
      const { extractWWWAuthenticateParams } = await import("@modelcontextprotocol/client");
      const { error, scope } = extractWWWAuthenticateParams(response);
      if (error !== "insufficient_scope" || scope === undefined) return;
      await file.exclusively(async () => {
        const { url: _, ...stored } = (await file.read()) ?? { url: "" };
        const wanted = scopesOf(stored.wanted, stored.tokens?.scope, scope);
        await file.write({ ...stored, ...(wanted !== undefined && { wanted }) });
      });
    },
    async changed(signal) {
      const before = given;
      while ((await file.read())?.tokens?.access_token === before) {
        await pause(LOOK_MS, signal, { keepsAlive: false });
        if (signal.aborted) return;
      }
    },
  };
}
