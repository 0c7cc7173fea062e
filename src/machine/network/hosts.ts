import { tried } from "../../core/util/errors.ts";

/** A rule that matches hosts. */
export interface HostRule {
  /** The rule as it was written. */
  readonly text: string;
  /** `host` in the form of `hostOf`; `port` as a number: the scheme's port if none was written. */
  matches(host: string, port: number): boolean;
  /** The only port that the rule matches; `undefined`: all ports. */
  readonly port: number | undefined;
}

const EXPECTED =
  'expected a host: a name ("example.org"), all names below one ("*.example.org") or an address ("10.0.0.7", ' +
  '"[fd00::1]"), ' +
  'and, if only one is meant, its port ("localhost:3000")';

/**
 * Reads a host rule. Returns an error text for an invalid rule. All spellings become one: capitals, other alphabets,
 * addresses of every form.
 */
export function hostRule(text: string): HostRule | string {
  const below = text.startsWith("*.");
  const written = below ? text.slice(2) : text;
  if (/[\s/\\@#?*%]/.test(written) || written.endsWith(":")) return EXPECTED;
  const url = tried(() => new URL(`http://${written}/`));
  if (url === undefined) return EXPECTED;
  const host = hostOf(url);
  const port = /:(\d+)$/.test(written) && !written.endsWith("]") ? portOf(url) : undefined;
  if (host === "" || (below && isAddress(host))) return EXPECTED;
  return {
    text,
    port,
    matches: (other, otherPort) =>
      (port === undefined || port === otherPort) && (below ? other.endsWith(`.${host}`) : other === host),
  };
}

/** Parses a list of host rules. @throws TypeError that names the setting and the invalid entry. */
export function hostRules(texts: readonly string[], setting: string): readonly HostRule[] {
  return texts.map((text) => {
    const rule = hostRule(text);
    if (typeof rule === "string") throw new TypeError(`${setting}: ${rule}; got ${JSON.stringify(text)}`);
    return rule;
  });
}

/**
 * The host of a URL in its one spelling: lower case, ASCII, addresses canonical and without brackets, no dot at the
 * end.
 */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.+$/, "");
}

/** The port of a URL, including the scheme's default. */
export function portOf({ port, protocol }: URL): number {
  if (port !== "") return Number(port);
  return protocol === "https:" ? 443 : 80;
}

/** Whether the host of a URL (in the form of `hostOf`) is an address, not a name. */
export function isAddress(host: string): boolean {
  return host.includes(":") || /^\d+\.\d+\.\d+\.\d+$/.test(host);
}
