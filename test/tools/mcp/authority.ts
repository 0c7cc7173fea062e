import { createHash, randomUUID } from "node:crypto";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import { afterFile } from "../../support/after-file.ts";

const closing: (() => void)[] = [];

afterFile(() => {
  for (const close of closing.splice(0)) close();
});

/** Serves requests on a free port of 127.0.0.1 until the end of the test file. */
export async function served(
  handle: (request: IncomingMessage & { readonly url: string }, response: ServerResponse, body: string) => unknown,
): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      void handle(Object.assign(request, { url: request.url ?? "/" }), response, Buffer.concat(chunks).toString());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}

export function json(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: { [name: string]: string } = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(value));
}

/** A mock authorization server: it registers clients, and gives a code to anyone. A refresh token that is used twice ends all logins. */
export async function authority() {
  const codes = new Map<string, { readonly challenge: string; readonly client: string; readonly redirect: string }>();
  const clients = new Set<string>();
  const valid = new Set<string>();
  const refreshing = new Set<string>();
  let isDown = false;
  const counted = { requests: 0, registered: 0, refreshed: 0 };
  const grant = () => {
    const [access_token, refresh_token] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`];
    valid.add(access_token);
    refreshing.add(refresh_token);
    return { access_token, refresh_token, token_type: "Bearer", expires_in: 3_600 };
  };
  const url: string = await served((request, response, body) => {
    counted.requests++;
    const { pathname, searchParams } = new URL(request.url, url);
    if (pathname === "/.well-known/oauth-authorization-server") {
      return json(response, 200, {
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        registration_endpoint: `${url}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["none"],
        authorization_response_iss_parameter_supported: true,
      });
    }
    if (pathname === "/register") {
      const client_id = randomUUID();
      counted.registered++;
      clients.add(client_id);
      return json(response, 201, { ...(JSON.parse(body) as object), client_id });
    }
    if (pathname === "/authorize") {
      const code = randomUUID();
      const read = (name: string) => searchParams.get(name) ?? "";
      codes.set(code, { challenge: read("code_challenge"), client: read("client_id"), redirect: read("redirect_uri") });
      const back = new URL(read("redirect_uri"));
      for (const [name, value] of [
        ["code", code],
        ["state", read("state")],
        ["iss", url],
      ] as const)
        back.searchParams.set(name, value);
      response.writeHead(302, { location: back.href });
      return response.end();
    }
    if (isDown) return json(response, 500, {});
    const form = new URLSearchParams(body);
    if (form.get("grant_type") === "refresh_token") {
      if (!refreshing.delete(form.get("refresh_token") ?? "")) {
        refreshing.clear(); // as if it were stolen
        valid.clear();
        return json(response, 400, { error: "invalid_grant" });
      }
      counted.refreshed++;
      return json(response, 200, grant());
    }
    const asked = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const verifier = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const isRight =
      asked?.challenge === verifier &&
      asked.client === form.get("client_id") &&
      clients.has(asked.client) &&
      asked.redirect === form.get("redirect_uri");
    return isRight ? json(response, 200, grant()) : json(response, 400, { error: "invalid_grant" });
  });
  return {
    url,
    counted,
    isValid: (token: string) => valid.has(token),
    /** Invalidates access tokens. */
    expire: () => valid.clear(),
    /** From now on the authority gives no tokens, until it is called with false. */
    fail: (fails: boolean) => void (isDown = fails),
    /** Invalidates refresh tokens too. */
    revoke: () => refreshing.clear(),
  };
}
