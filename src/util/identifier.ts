import { randomBytes } from "node:crypto";

// Crockford's base32: without i, l, o, u, so that models and people copy it correctly.
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** An unguessable name of `length` characters (5 bits each), easy to copy. */
export function randomName(length: number): string {
  let name = "";
  for (const byte of randomBytes(length)) name += ALPHABET[byte & 31];
  return name;
}
