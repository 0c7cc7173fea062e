/** A failed request, as a problem of RFC 9457. Thrown by the code that handles a request. */
export class Problem extends Error {
  readonly status: number;
  /** Additional members of the problem document. */
  readonly members: { readonly [name: string]: unknown };

  /** @param detail what was expected, what came and what to do; shown to people */
  constructor(status: number, detail: string, members: { readonly [name: string]: unknown } = {}) {
    super(detail);
    this.status = status;
    this.members = members;
  }
}

const TITLES: { readonly [status: number]: string } = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  416: "Range Not Satisfiable",
  421: "Misdirected Request",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

/**
 * Returns the problem as a response. Omits `type`, which then is "about:blank", so the title is that of the status (RFC
 * 9457, section 4.2.1). Status 401 names the way to prove who sends the request (RFC 9110, section 11.6.1).
 */
export function problemResponse(
  { status, message, members }: Problem,
  headers: { readonly [name: string]: string } = {},
): Response {
  const body = { title: TITLES[status] ?? "Error", status, detail: message, ...members };
  return new Response(JSON.stringify(body), {
    status,
    headers: {
      ...(status === 401 && { "www-authenticate": 'Bearer realm="handrail"' }),
      ...headers,
      "content-type": "application/problem+json",
    },
  });
}
