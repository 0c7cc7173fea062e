import { domainToUnicode } from "node:url";

/**
 * Ends of names for which no public server answers (RFC 6761, 6762, 8375, 9476 and ICANN's list), and ends that clouds
 * and clusters use internally.
 */
const LOCAL_ENDS = [
  "localhost",
  "localdomain",
  "local",
  "internal",
  "intranet",
  "private",
  "corp",
  "home",
  "lan",
  "home.arpa",
  "svc",
  "alt",
  "onion",
];

/**
 * Returns what is wrong with a name that cannot be a public host; `undefined` for other names. The name's addresses are
 * judged separately.
 */
export function judgeName(host: string): string | undefined {
  const labels = host.split(".");
  if (labels.includes("")) return `${JSON.stringify(host)} is not a host name`;
  const end = LOCAL_ENDS.find((each) => host === each || host.endsWith(`.${each}`));
  if (end !== undefined) return `${host} is a local name (.${end})`;
  if (labels.length === 1) return `${host} has no dot in it, so it is a local name`;
  return undefined;
}

/**
 * The name in its own letters if it looks like another name, as "аррӏе.com" in Cyrillic; `undefined` for other names. A
 * part is suspicious if it mixes Latin with letters that look alike, or has only such letters.
 */
export function lookAlike(host: string): string | undefined {
  if (!host.includes("xn--")) return undefined;
  const shown = domainToUnicode(host);
  return shown.split(".").some(isLookAlike) ? shown : undefined;
}

function isLookAlike(label: string): boolean {
  if (/^[\x00-\x7f]*$/.test(label)) return false;
  if (/\p{Script=Latin}/u.test(label) && MADE_ALIKE.test(label)) return true;
  return /^[аеорсухіјѕһԁԛԝӏоɡνοαρικυτγցսօքհ\d-]+$/u.test(label);
}

const MADE_ALIKE = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Lisu}]/u;
