/** What a tool may set about a request. */
export interface FetchOptions {
  /** In capitals. Default "GET". */
  readonly method?: string;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string;
  /** How many redirects of GET and HEAD are followed. With 0, a redirect is the response. Default and maximum 5. */
  readonly maxRedirects?: number;
  /** How many bytes of the decoded body are read; the connection is closed behind them. Default 10 MiB (10,485,760). */
  readonly maxBytes?: number;
  /** For all hops together, without the time in which a person is asked. Milliseconds; default 30,000. */
  readonly timeoutMs?: number;
}

/** The response of the last hop, whatever its status. */
export interface Fetched {
  /** The URL that answered, behind all redirects. */
  readonly url: string;
  readonly status: number;
  /** As the server wrote it, or the usual text: "Not Found". */
  readonly statusText: string;
  /** By name in small letters; several values of one name are joined with ", ", cookies with a newline. */
  readonly headers: { readonly [name: string]: string };
  /** Decoded from gzip, deflate, br or zstd. Empty for HEAD. */
  readonly body: Uint8Array;
  /** True: the body is longer than `maxBytes`, and `body` its beginning. */
  readonly truncated: boolean;
  /** How many redirects were followed. */
  readonly redirects: number;
  /** Milliseconds from the first request to the end of the body. */
  readonly ms: number;
}
