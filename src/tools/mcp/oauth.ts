import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import { pause } from "../../core/util/abort.ts";
import { oauthProvider } from "./oauth-provider.ts";
import type { Fetching, TokenProvider } from "./server-settings.ts";
import type { OAuthSettings, TokenFile } from "./token-file.ts";

/** Returns the scopes of both, each once, in their order; `undefined` if there are none. */
export function scopesOf(...scopes: readonly (string | undefined)[]): string | undefined {
  const all = new Set(scopes.flatMap((each) => each?.split(" ") ?? []).filter((each) => each !== ""));
  return all.size === 0 ? undefined : [...all].join(" ");
}

/**
 * Adds a token to a server's requests. That of a login is stored, and refreshed; it fails as "unauthorized" when a
 * person must log in.
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
