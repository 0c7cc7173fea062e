import { ToolFailure } from "../../core/contract/failure.ts";
import { codeOf, messageOf } from "../../core/util/errors.ts";
import { unreachableBecause } from "./unreachable.ts";

/** Creates the failure for an error that ended a request. `timeoutMs`: the time limit that was exceeded. */
export function fetchProblem(error: unknown, { host, href }: URL, timeoutMs: number | undefined): ToolFailure {
  if (error instanceof ToolFailure) return error;
  if (timeoutMs !== undefined) {
    return new ToolFailure(`${href} did not answer completely within ${timeoutMs / 1_000} s`, {
      hint: "Try again later, or fetch a smaller page.",
      cause: error,
    });
  }
  const code = codeOf(error) ?? "";
  const known = PROBLEMS[code];
  if (known !== undefined) return new ToolFailure(`${host} ${known}`, { cause: error });
  const tls = TLS_PROBLEMS[code] ?? (/^(ERR_(SSL|TLS)|CERT_|UNABLE_TO)/.test(code) ? messageOf(error) : undefined);
  if (tls !== undefined) {
    return new ToolFailure(`the TLS connection to ${host} cannot be trusted: ${tls}`, {
      hint: "Nothing was sent. The certificate has to be repaired on the server.",
      cause: error,
    });
  }
  if (error instanceof Error && error.name === "HTTPParserError")
    return new ToolFailure(`${host} does not speak HTTP: ${messageOf(error)}`, { cause: error });
  return new ToolFailure(`${host} could not be reached: ${unreachableBecause(error)}`, { cause: error });
}

const PROBLEMS: { readonly [code: string]: string | undefined } = {
  UND_ERR_HEADERS_OVERFLOW: "sent headers of more than 16KB, so its response was not read",
  UND_ERR_SOCKET: "closed the connection before its response was complete",
  ECONNRESET: "closed the connection before its response was complete",
  ECONNREFUSED: "refused the connection: nothing listens on this port",
  UND_ERR_CONNECT_TIMEOUT: "did not accept the connection in time",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "sent a body whose length differs from its Content-Length",
};

const TLS_PROBLEMS: { readonly [code: string]: string | undefined } = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is signed by an authority that this machine does not know",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is signed by an authority that this machine does not know",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its certificate is signed by an authority that this machine does not know",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host",
};
