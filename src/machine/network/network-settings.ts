/**
 * What people may set about the network. A host is a name (`example.org`), all names below a name (`*.example.org`), or
 * an address (`10.0.0.7`, `[fd00::1]`).
 */
export interface NetworkSettings {
  /**
   * Hosts that can be fetched from without a question. Their addresses must be public, unless `allowPrivate` names the
   * hosts too. Default: none.
   */
  readonly allowHosts?: readonly string[];
  /** Hosts that are never fetched from. Default: none. */
  readonly denyHosts?: readonly string[];
  /** Hosts that may have an address that is not public: `localhost`, a machine in the office. Default: none. */
  readonly allowPrivate?: readonly string[];
  /** Which fetches a person is asked about. Default "seen". */
  readonly fetch?: FetchMode;
  /** "environment": requests go through the proxy that HTTPS_PROXY, HTTP_PROXY or ALL_PROXY name. Default "none". */
  readonly proxy?: ProxyMode;
  /** Ports besides 80 and 443. Default: none. */
  readonly ports?: readonly number[];
}

/**
 * Which fetches (GET, HEAD) of public hosts are asked about. From the loosest to the strictest. "open": fetches with a
 * secret in the URL, and with a long query to a host that no message and no search result named; "seen": also fetches
 * that tell a host something that was in no message, search result or fetched page (`judgeSeen`); "ask": every fetch.
 */
export const FETCH_MODES = ["open", "seen", "ask"] as const;
export type FetchMode = (typeof FETCH_MODES)[number];

export const PROXY_MODES = ["none", "environment"] as const;
export type ProxyMode = (typeof PROXY_MODES)[number];
