import type { OutputLog } from "../contract/backend.ts";
import type { Mask } from "./mask.ts";

/** The largest log that is masked before it is saved, in bytes: 16 MiB. A larger one is masked only when it is read. */
const MOST_MASKED = 16_777_216;

/**
 * Masks what is saved, so that secrets are not on disk for as long as saved outputs are kept. Returns a log without
 * secrets itself, which is saved without copying. Bytes are kept: they are pictures.
 */
export async function maskedOutput(
  content: string | Uint8Array | OutputLog,
  mask: Pick<Mask, "text">,
): Promise<string | Uint8Array | OutputLog> {
  if (typeof content === "string") return mask.text(content);
  if (content instanceof Uint8Array || content.kept > MOST_MASKED) return content;
  // Each byte is a character, so that bytes in any encoding stay the same.
  const text = Buffer.from(await content.read(0, content.kept)).toString("latin1");
  const masked = mask.text(text);
  return masked === text ? content : Buffer.from(masked, "latin1");
}
