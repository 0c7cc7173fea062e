import type { ApprovedCall } from "../contract/call.ts";
import { notice, text } from "../contract/content.ts";
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

/** Returns the result of a call, after notes on how a person has changed the call, and what hooks add to it. */
export function withNotes(
  result: ToolResult,
  call: Partial<Pick<ApprovedCall, "approval" | "hook">> | undefined,
  host: Pick<Host, "mask">,
): ToolResult {
  if (call?.approval === undefined && call?.hook === undefined) return result;
  const { approval, hook } = call;
  const edited = approval?.answer === "once" ? approval.edited : undefined;
  const notes = [
    ...(edited === undefined ? [] : [text(`[${editedNote(edited, host)}]`)]),
    ...(hook?.context ?? []).map((words) => notice(host.mask.text(words))),
  ];
  if (notes.length === 0) return result;
  switch (result.status) {
    case "ok":
      return { ...result, content: [...notes, ...result.content] };
    case "failed":
    case "aborted":
      return { ...result, content: [...notes, ...(result.content ?? [])] };
    default:
      return result;
  }
}
