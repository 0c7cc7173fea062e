import { type Signal, signal } from "@preact/signals";
import { get, part } from "./api.ts";

/** The end of what a call has written so far. */
export interface LiveOutput {
  /** Increases whenever output is added. */
  readonly version: Signal<number>;
  /** Returns the last lines, including an unfinished one. */
  lines(most: number): readonly string[];
  /** The number of lines of everything that was written. */
  readonly lineCount: number;
  readonly length: number;
  /** Adds the output of an event. */
  add(event: number, text: string): void;
}

/** Characters that are kept. */
const KEPT = 131_072;

/** @param call the call whose earlier output is loaded first; absent if its start was seen */
export function createLiveOutput(call?: string): LiveOutput {
  const version = signal(0);
  let text = "";
  let length = 0;
  let lineCount = 0;
  /** The newest event whose output was loaded. */
  let loadedTo = 0;
  /** Events that arrived while the earlier output was loading. */
  let early: { readonly event: number; readonly text: string }[] | undefined = call === undefined ? undefined : [];

  const append = (more: string) => {
    text += more;
    if (text.length > 2 * KEPT) text = text.slice(-KEPT);
    length += more.length;
    for (let at = more.indexOf("\n"); at !== -1; at = more.indexOf("\n", at + 1)) lineCount += 1;
    version.value += 1;
  };

  const load = async (id: string) => {
    const { output, outputLength, last } = await get<{ output: string; outputLength: number; last: number }>(
      `/api/calls/${part(id)}`,
    );
    append(output);
    [length, loadedTo] = [outputLength, last];
    const later = early ?? [];
    early = undefined;
    for (const each of later) if (each.event > last) append(each.text);
  };
  if (call !== undefined) load(call).catch(() => (early = undefined));

  return {
    version,
    lines(most) {
      // Only the end of the text is searched for lines.
      const end = text.endsWith("\n") ? text.length - 1 : text.length;
      let start = end;
      for (let count = 0; count < most && start > 0; count += 1) start = text.lastIndexOf("\n", start - 1);
      return end <= 0 ? [] : text.slice(start + 1, end).split("\n");
    },
    get lineCount() {
      return lineCount + (text === "" || text.endsWith("\n") ? 0 : 1);
    },
    get length() {
      return length;
    },
    add(event, more) {
      if (event <= loadedTo) return;
      if (early === undefined) append(more);
      else early.push({ event, text: more });
    },
  };
}
