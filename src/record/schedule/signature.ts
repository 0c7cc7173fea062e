import { createHmac, timingSafeEqual } from "node:crypto";

/** How far the time of a signed request may be from the clock here. Milliseconds. */
export const SIGNATURE_MS = 300_000;

/** Signs the body of a request: `sha256=` and the HMAC-SHA256 of "TIMESTAMP.BODY" in hexadecimal. */
export function signatureOf(secret: string, timestamp: string, body: string | Uint8Array): string {
  return `sha256=${createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex")}`;
}

/** Whether a signature belongs to a current request. `timestamp`: seconds since 1970. */
export function isSigned(
  secret: string,
  { timestamp, signature, body }: { readonly timestamp: string; readonly signature: string; readonly body: Uint8Array },
  nowMs: number,
): boolean {
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(Number(timestamp) * 1_000 - nowMs) > SIGNATURE_MS) return false;
  const [expected, given] = [signatureOf(secret, timestamp, body), signature].map((text) => Buffer.from(text));
  return expected !== undefined && given?.length === expected.length && timingSafeEqual(given, expected);
}
