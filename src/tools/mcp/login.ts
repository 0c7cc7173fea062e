import { timingSafeEqual } from "node:crypto";
import { type Server, createServer } from "node:http";
import { untilAborted } from "../../core/util/abort.ts";
import { randomName } from "../../core/util/identifier.ts";
import type { NetworkSettings } from "../../machine/network/network-settings.ts";
import { scopesOf } from "./oauth.ts";
import { oauthProvider } from "./oauth-provider.ts";
import type { OAuthSettings, TokenFile } from "./token-file.ts";
import { withHost } from "./transport.ts";

export interface LoginOptions {
  /** The URL of the MCP server. */
  readonly url: string;
  readonly settings: OAuthSettings;
  readonly file: TokenFile;
  /** The network rules. The URL's own host and port are always allowed, even if they are not public. */
  readonly network?: NetworkSettings;
  /** The local port to which the browser returns. Default: a free port. */
  readonly port?: number;
  /** Shows the login URL to a person. */
  readonly show: (url: URL) => void;
  /** Aborts the login. */
  readonly signal: AbortSignal;
}

const PATH = "/callback";

/** The request that the server is expected to refuse: its refusal names the authorization server and the scope. */
const ASKING = { jsonrpc: "2.0", id: 1, method: "ping" };

/**
 * Logs in to a server with OAuth 2.1: authorization code with PKCE, in a browser that returns to this machine. Requests
 * the configured scope or the one that the server names, and those that it has asked for since an earlier login. Stores
 * the tokens in the file. Connections that are open use them at once.
 *
 * @throws Error with a message for people.
 */
export async function login({ url, settings, file, port = 0, show, signal, ...rest }: LoginOptions): Promise<void> {
  const [{ auth, extractWWWAuthenticateParams }, { createStreamFetch }] = await Promise.all([
    import("@modelcontextprotocol/client"),
    import("../../machine/network/stream-fetch.ts"),
  ]);
  const network = createStreamFetch({ network: withHost(rest.network, new URL(url)) });
  const state = randomName(32);
  const callback = await listen(port, state);
  try {
    const provider = oauthProvider(file, settings, {
      url: `http://127.0.0.1:${callback.port}${PATH}`,
      state,
      open(address) {
        if (!/^https?:$/.test(address.protocol))
          throw new Error(`the login is at ${address.protocol}, not at http or https`);
        show(address);
      },
    });
    const refusal = await network.fetch(url, {
      method: "POST",
      headers: { accept: "application/json, text/event-stream", "content-type": "application/json" },
      body: JSON.stringify(ASKING),
      signal,
    });
    await refusal.body?.cancel();
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(refusal);
    const asked = scopesOf(settings.scope ?? scope, (await file.read())?.wanted);
    const request = {
      serverUrl: url,
      fetchFn: network.fetch,
      ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
      ...(asked !== undefined && { scope: asked }),
    };
    await auth(provider, request);
    const answer = await untilAborted(callback.answer, signal);
    const [code, iss] = [answer.get("code"), answer.get("iss")];
    if (code === null) {
      const why = [answer.get("error") ?? "no reason was given", answer.get("error_description") ?? []].flat();
      throw new Error(`the login was refused: ${why.join(", ")}`);
    }
    await auth(provider, { ...request, authorizationCode: code, ...(iss !== null && { iss }) });
  } finally {
    callback.close();
    await network.close();
  }
}

/** Waits for a browser to return with our state. Refuses all other requests. */
async function listen(port: number, state: string) {
  let server: Server | undefined;
  const answer = new Promise<URLSearchParams>((resolve) => {
    server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
      const isOurs = request.method === "GET" && pathname === PATH && isEqual(searchParams.get("state") ?? "", state);
      const headers = {
        "content-type": "text/plain; charset=utf-8",
        "referrer-policy": "no-referrer",
        connection: "close",
      };
      response.writeHead(isOurs ? 200 : 404, headers);
      response.end(isOurs ? "You can close this page and go back to the terminal.\n" : "There is no login here.\n");
      if (isOurs) resolve(searchParams);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server?.once("error", reject);
    server?.listen(port, "127.0.0.1", resolve);
  });
  const address = server?.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : port,
    answer,
    close: () => void server?.close(),
  };
}

function isEqual(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)];
  return first.length === second.length && timingSafeEqual(first, second);
}
