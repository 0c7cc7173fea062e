/**
 * What people may set about the network. A host is a name (`example.org`), all names below one (`*.example.org`), or an address
 * (`10.0.0.7`, `[fd00::1]`).
 */
export interface NetworkSettings {
  /** Fetched from without a question. They stay public unless they are in `allowPrivate` too. Default: none. */
  readonly allowHosts?: readonly string[];
  /** Never fetched from. Default: none. */
  readonly denyHosts?: readonly string[];
  /** These may be, or lead to, an address that is not public: `localhost`, a machine of the office. Default: none. */
  readonly allowPrivate?: readonly string[];
  /** Ports beside 80 and 443. Default: none. */
  readonly ports?: readonly number[];
}
