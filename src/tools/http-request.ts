import { Type } from "typebox";
import { notice, text } from "../core/contract/content.ts";
import { type ToolOptions, defineTool } from "../core/contract/tool.ts";
import type { Effect } from "../core/contract/effect.ts";
import { rawText } from "./web/page.ts";
import { factsOf, noticesOf, reportFetch } from "./shared/fetched.ts";
import { FROM_HERE, mendUrl } from "./shared/url-arguments.ts";

/** The methods and limits that the tool's description names. */
const METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"] as const;
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 1_000_000;

/** Names of headers whose values are secrets. */
const SECRET_HEADER = /auth|cookie|token|secret|api-?key|password|signature|session/i;

/** Makes one request. Does not follow redirects. */
export const httpRequest = (options: ToolOptions = {}) =>
  defineTool({
    name: "http_request",
    title: "HTTP request",
    description:
      "Make an HTTP request to an API and return its status, headers and body. Redirects are not followed. " +
      `Methods other than GET and HEAD need approval. ${FROM_HERE}`,
    ...options,
    paramsHint: "url (required), method, headers, body",
    touches: ["fetch", "request"],
    input: Type.Object(
      {
        url: Type.String({ minLength: 1, description: "URL, http or https" }),
        method: Type.Optional(
          Type.Union(
            METHODS.map((method) => Type.Literal(method)),
            { description: "Default: GET" },
          ),
        ),
        headers: Type.Optional(Type.Record(Type.String(), Type.String(), { description: "Headers by name" })),
        body: Type.Optional(Type.String({ description: "Request body; not with GET and HEAD" })),
      },
      { additionalProperties: false },
    ),
    mend: (raw) => upperCased(mendUrl(raw)),
    effects: (input) => [effectOf(input)],
    async run({ url, method = "GET", headers, body }, context) {
      context.report({ displayMessage: `${method} ${url}` });
      const fetched = await context.fetch(url, {
        method,
        ...(headers !== undefined && { headers }),
        ...(body !== undefined && { body }),
        maxRedirects: 0,
        maxBytes: MAX_BYTES,
        timeoutMs: TIMEOUT_MS,
      });
      const facts = factsOf(fetched);
      reportFetch(context, facts);
      const shown = Object.entries(fetched.headers).map(([name, value]): [string, string] => {
        return [name, SECRET_HEADER.test(name) ? "[redacted]" : value];
      });
      return {
        ...facts,
        statusText: fetched.statusText,
        headers: Object.fromEntries(shown),
        text: fetched.body.length === 0 ? "" : rawText(fetched),
        notices: noticesOf(fetched),
      };
    },
    render({ status, statusText, headers, text: body, notices }) {
      const response = [
        `Status: ${status} ${statusText}`.trim(),
        `Response Headers:\n${Object.entries(headers)
          .map(([name, value]) => `${name}: ${value}`)
          .join("\n")}`,
        `Response Body:\n${body}`,
      ];
      return [text(response.join("\n\n")), ...notices.map(notice)];
    },
  });

interface Request {
  readonly url: string;
  readonly method?: (typeof METHODS)[number];
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string;
}

function effectOf({ url, method = "GET", headers, body }: Request): Effect {
  const given = headers !== undefined && Object.keys(headers).length > 0 && { headers };
  if ((method === "GET" || method === "HEAD") && body === undefined) return { kind: "fetch", url, method, ...given };
  return { kind: "request", url, method, ...given, ...(body !== undefined && { body }) };
}

function upperCased(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || !("method" in raw) || typeof raw.method !== "string") return raw;
  return { ...raw, method: raw.method.toUpperCase() };
}
