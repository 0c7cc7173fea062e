import { isFolded, shownQuestion } from "./dock.ts";
import { now, threads } from "./model.ts";
import { goTo, route, showView, threadAddress, view } from "./route.ts";
import { statusOf } from "./thread-status.ts";

/** The keys and what they do, as the list shows them. */
export const KEYS: readonly (readonly [key: string, does: string])[] = [
  ["Q", "to the question"],
  ["Y S A N", "at the question: once, session, always, refuse"],
  ["J K", "next and previous cell"],
  ["Enter", "open or close a cell"],
  [".", "stop the cell's call"],
  ["P", "to the prompt"],
  ["/", "search threads"],
  ["]", "next thread that needs you"],
  ["?", "this list"],
];

/** Listens for keys pressed outside of fields. Call once. */
export function startKeys(): void {
  document.addEventListener("keydown", (event) => {
    const { target, key } = event;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (target instanceof HTMLElement && target.closest("input, textarea, select, dialog") !== null) {
      return;
    }
    const act = ACTS[key.toLowerCase()];
    if (act === undefined) return;
    event.preventDefault();
    act();
  });
}

const ACTS: { readonly [key: string]: () => void } = {
  q() {
    if (shownQuestion.value === undefined) return;
    isFolded.value = false;
    view.value = "main";
    document.getElementById("dock")?.focus();
  },
  j: () => toCell(1),
  k: () => toCell(-1),
  ".": () => document.activeElement?.closest(".cell")?.querySelector<HTMLElement>("[data-stop]")?.click(),
  p: () => document.getElementById("prompt")?.focus(),
  "/": () => showView("threads", "#search"),
  "]": toNextWaiting,
  "?": () => document.querySelector<HTMLDialogElement>("dialog.keys")?.showModal(),
};

/** Moves the focus to another cell: from the focused cell or, without one, from the last visible cell. */
function toCell(step: number): void {
  const heads = [...document.querySelectorAll<HTMLElement>(".log .ch")];
  const focused = document.activeElement?.closest(".cell")?.querySelector<HTMLElement>(".ch");
  const seen = heads.findLastIndex((head) => {
    const { top, bottom } = head.getBoundingClientRect();
    return top >= 48 && bottom <= innerHeight;
  });
  const from = focused === undefined || focused === null ? seen - step : heads.indexOf(focused);
  const next = heads[Math.min(heads.length - 1, Math.max(0, from + step))];
  next?.focus({ preventScroll: true });
  next?.closest(".cell")?.scrollIntoView({ block: "nearest" });
}

function toNextWaiting(): void {
  const waiting = [...threads.value.values()].filter((state) => statusOf(state, now.value) === "waiting");
  const { value: at } = route;
  const index = waiting.findIndex(({ thread }) => at.view === "thread" && thread === at.thread);
  const next = waiting[(index + 1) % waiting.length];
  if (next !== undefined) goTo(threadAddress(next.thread));
}
