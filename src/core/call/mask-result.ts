import { type Content, isReadable, withText } from "../contract/content.ts";
import type { ToolResult } from "../contract/result.ts";
import type { Mask } from "../output/mask.ts";

/** Masks secrets in parts with text. Images, audio and bytes are not changed. */
export function maskedContent(parts: readonly Content[], mask: Mask): readonly Content[] {
  let changed = false;
  const masked = parts.map((part): Content => {
    if (!isReadable(part)) return part;
    const shown = mask.text(part.text);
    if (shown === part.text) return part;
    changed = true;
    return withText(part, shown);
  });
  return changed ? masked : parts;
}

type Ending = Exclude<ToolResult, { status: "ok" | "parked" }>;

/** Masks secrets in the message, data and content of a failed result. (`fit` does this for an "ok" result.) */
export function maskedEnding(result: Ending, mask: Mask): Ending {
  if (!("content" in result) || result.content === undefined) return mask.json(result);
  const { content, ...rest } = result;
  return { ...mask.json(rest), content: maskedContent(content, mask) };
}
