/** Options of a request. */
export interface FetchOptions {
  /** Upper case. Default "GET". */
  readonly method?: string;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string;
  /** The most redirects of GET and HEAD to follow. With 0, a redirect is the response. Default and maximum 5. */
  readonly maxRedirects?: number;
  /** The maximum number of bytes of the decoded body; then the connection is closed. Default 10 MiB (10,485,760). */
  readonly maxBytes?: number;
  /** The time limit for all redirects together, without the time for approvals. Milliseconds; default 30,000. */
  readonly timeoutMs?: number;
}

/** The final response, whatever its status. */
export interface Fetched {
  /** The URL of the response, after all redirects. */
  readonly url: string;
  readonly status: number;
  /** The status text of the server, or the usual text: "Not Found". */
  readonly statusText: string;
  /** By lower-case name. Values of one name are joined with ", ", cookies with a newline. */
  readonly headers: { readonly [name: string]: string };
  /** Decoded from gzip, deflate, br or zstd. Empty for HEAD. */
  readonly body: Uint8Array;
  /** Whether the body was longer than `maxBytes`, so that `body` is its beginning. */
  readonly truncated: boolean;
  /** Why the response ended early, if it did, so that `body` is its beginning: a sentence. */
  readonly incomplete?: string;
  /** How many redirects were followed. */
  readonly redirects: number;
  /** Milliseconds from the first request to the end of the body. */
  readonly ms: number;
}

/** Makes requests through the guard. */
export interface Fetcher {
  /**
   * Makes a request and follows its redirects. Rejects with a `ToolFailure` when there is no response, and with
   * whatever `permit` rejects with.
   */
  fetch(url: string, options: FetchOptions, by: FetchCaller): Promise<Fetched>;
  /** Closes all connections. */
  close(): Promise<void>;
}

/** The caller of a request. */
export interface FetchCaller {
  /** Called before every hop. Rejects if the hop is refused. */
  permit(url: URL): Promise<void>;
  /** Stops the request. */
  readonly signal: AbortSignal;
}
