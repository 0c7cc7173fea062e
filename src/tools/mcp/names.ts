import { createHash } from "node:crypto";

/** The maximum length of a name that every provider accepts, in characters. See `defineTool`. */
const MAX_NAME = 64;
const HASH_LENGTH = 8;

/**
 * Returns true for a valid name of a server. It contains no "__", so that tools of different servers never share a
 * name, and a rule for one server never matches another.
 */
export function isServerName(name: string): boolean {
  return name.length <= 32 && /^[a-zA-Z0-9-]+(?:_[a-zA-Z0-9-]+)*$/.test(name);
}

/**
 * Returns the name of a server's tool in a toolset: `mcp__SERVER__TOOL`. A name that is longer than 64 characters, or
 * has characters other than letters, digits, `_` and `-`, is changed to end in a hash of the original names. The result
 * depends only on the two names.
 */
export function toolName(server: string, tool: string): string {
  const plain = `mcp__${server}__${tool}`;
  if (plain.length <= MAX_NAME && /^[\w-]+$/.test(plain)) return plain;
  const hash = createHash("sha256").update(`${server}\0${tool}`).digest("hex").slice(0, HASH_LENGTH);
  return `${plain.replaceAll(/[^\w-]+/g, "_").slice(0, MAX_NAME - HASH_LENGTH - 1)}_${hash}`;
}
