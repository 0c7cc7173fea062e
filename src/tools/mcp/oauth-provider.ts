import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
} from "@modelcontextprotocol/client";
import type { OAuthSettings, TokenFile } from "./token-file.ts";

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
