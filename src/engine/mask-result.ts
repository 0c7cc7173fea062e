import type { Content } from "../contract/content.ts";
import type { ToolResult } from "../contract/result.ts";
import type { Mask } from "../output/mask.ts";

/** Masks secrets in text parts. Images are not changed. */
export function maskedContent(parts: readonly Content[], mask: Mask): readonly Content[] {
  let changed = false;
  const masked = parts.map((part): Content => {
    if (part.type !== "text") return part;
    const shown = mask.text(part.text);
    if (shown === part.text) return part;
    changed = true;
    return { type: "text", text: shown };
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
