import type { ApprovedCall } from "../contract/call.ts";
import { text } from "../contract/content.ts";
import type { EditedInput } from "../contract/decision.ts";
import type { ToolResult } from "../contract/result.ts";
import { clip } from "../util/text.ts";
import type { Host } from "./host.ts";

/** How many characters of the changed arguments a result quotes. */
const QUOTED = 2_000;

/** Tells the model that a person has changed a call, and to what. */
export function editedNote(edited: EditedInput, { mask }: Pick<Host, "mask">): string {
  const now = clip(mask.text(JSON.stringify(edited)), QUOTED);
  return `A person changed this call before approving it. Its arguments are now: ${now}.`;
}

/** Returns the result of a call, with a note before it if a person has changed the call. */
export function withEditedNote(
  result: ToolResult,
  call: ApprovedCall | undefined,
  host: Pick<Host, "mask">,
): ToolResult {
  const approval = call?.approval;
  if (approval?.answer !== "once" || approval.edited === undefined) return result;
  const note = text(`[${editedNote(approval.edited, host)}]`);
  switch (result.status) {
    case "ok":
      return { ...result, content: [note, ...result.content] };
    case "failed":
    case "aborted":
      return { ...result, content: [note, ...(result.content ?? [])] };
    default:
      return result;
  }
}
