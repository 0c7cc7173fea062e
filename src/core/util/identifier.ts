import { randomFillSync } from "node:crypto";
import { V7Generator } from "uuidv7";

// Crockford's base32: without i, l, o, u, so that models and people copy it correctly.
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** An unguessable name of `length` characters (5 bits each), easy to copy. */
export function randomName(length: number): string {
  let name = "";
  for (let index = 0; index < length; index++) name += ALPHABET[randomWord() & 31];
  return name;
}

/** A new UUID of version 7 (RFC 9562): those of one process are in order. */
export function newId(): string {
  return ids.generate().toString();
}

/** Random numbers that wait for use. Fetching each alone costs as much as parsing a call. */
const pool = new Uint32Array(512);
let used = pool.length;

function randomWord(): number {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const word = pool[used] ?? 0;
  pool[used++] = 0; // a number that was used is not kept
  return word;
}

const ids = new V7Generator({ nextUint32: randomWord });
