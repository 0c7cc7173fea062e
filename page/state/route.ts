import { computed, signal } from "@preact/signals";
import { tried } from "../../src/core/util/errors.ts";

/** What the address selects: `#/thread/ID` or `#/PAGE`. */
export type Route =
  /** `thread` is absent for a new thread, and for the list of threads on a phone. */
  | { readonly view: "thread"; readonly thread?: string }
  /** `item` is the selected item of the page: `#/tools/bash`. */
  | { readonly view: "page"; readonly page: string; readonly item?: string };

const hash = signal(location.hash);
addEventListener("hashchange", () => (hash.value = location.hash));

export const route = computed((): Route => {
  const [, kind = "", id = ""] = /^#\/(\w+)(?:\/([^?]*))?/.exec(hash.value) ?? [];
  if (kind === "thread" && id !== "") return { view: "thread", thread: decoded(id) };
  if (kind !== "" && kind !== "thread" && kind !== "threads")
    return { view: "page", page: kind, ...(id !== "" && { item: decoded(id) }) };
  return { view: "thread" };
});

/** The visible view of a narrow window. A wide window shows all. */
export const view = signal<"threads" | "main" | "inspector" | "terminal">("threads");

/** Shows a view, and moves the focus to the element with this selector: at once, or when the view is drawn. */
export function showView(next: typeof view.value, focused: string): void {
  view.value = next;
  const focus = () => document.querySelector<HTMLElement>(focused)?.focus();
  focus();
  requestAnimationFrame(focus);
}

/** Returns the address of a thread, for links. */
export function threadAddress(thread: string): string {
  return `#/thread/${encodeURIComponent(thread)}`;
}

/** Returns the address of a saved output, for links. @param id of the output, or "job-3" */
export function outputAddress(id: string): string {
  return `#/output/${encodeURIComponent(id)}`;
}

export function goTo(address: string): void {
  location.hash = address;
  hash.value = address; // the event comes later, maybe after the next key
}

function decoded(text: string): string {
  return tried(() => decodeURIComponent(text)) ?? text;
}
