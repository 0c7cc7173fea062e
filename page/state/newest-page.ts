import { computed } from "@preact/signals";
import { open } from "./model.ts";

/** Blocks of messages that are looked at. */
const BLOCKS = 5;

/** The newest call of the tool `browser` in the shown thread: its cell shows the page. */
export const newestPage = computed((): string | undefined => {
  for (const { messages } of (open.value?.blocks.value ?? []).slice(-BLOCKS).toReversed()) {
    const call = messages.value.findLast(
      (each) => each.role === "tool" && each.metadata.tool_activity.name === "browser",
    );
    if (call?.role === "tool") return call.metadata.tool_activity.id;
  }
  return undefined;
});
