import { computed, effect, signal } from "@preact/signals";
import type { Json } from "../../src/core/contract/schema.ts";
import { post, part, RequestFailed } from "./api.ts";
import { type Answered, type Question, answered, open, openState, questions, threads } from "./model.ts";
import { notifies } from "./notifications.ts";
import { goTo, threadAddress } from "./route.ts";
import { titleOf } from "./thread-status.ts";

/** How long a question is visible before its buttons accept an answer, in milliseconds. */
export const ARMED_AFTER_MS = 400;

/** The shown question. It stays until it is answered or another is selected, so that it never changes under a click. */
const pinned = signal<Question | undefined>(undefined);
export const isFolded = signal(false);
/** Questions answered on this page. They are not reported as "answered elsewhere". */
const own = new Set<string>();

export const shownQuestion = computed(() => pinned.value);
/** The question that was answered elsewhere while it was shown. Kept until the next one is shown. */
export const goneQuestion = signal<Answered | undefined>(undefined);
/** Position of the shown question among the open ones: "1 of 2". */
export const place = computed(() => {
  const index = questions.value.findIndex(({ question }) => question === pinned.value?.question);
  return { index, count: questions.value.length };
});

/** Shows the question that is this many steps after the shown one. */
export function step(by: number): void {
  const all = questions.value;
  const next = all[(place.value.index + by + all.length) % all.length];
  if (next !== undefined) show(next);
}

function show(question: Question): void {
  pin(question);
  isFolded.value = false;
}

function pin(question: Question | undefined): void {
  [pinned.value, goneQuestion.value] = [question, undefined];
}

export type Given =
  | { readonly answer: "once"; readonly input?: Json; readonly edited?: Json }
  | { readonly answer: "session" | "always" }
  | { readonly answer: "refuse"; readonly reason?: string };

/** Answers the question. Rejects with `RequestFailed`, unless it was answered before: an event reports that. */
export async function answer({ question }: Question, given: Given): Promise<void> {
  own.add(question);
  try {
    await post(`/api/approvals/${part(question)}`, given);
  } catch (error) {
    own.delete(question);
    if (error instanceof RequestFailed && error.status === 409) return;
    throw error;
  }
}

/** Keeps the shown question, the title and the notifications in step with the open questions. Call once. */
export function startDock(): void {
  effect(() => {
    const all = questions.value;
    const current = pinned.peek();
    if (current !== undefined && all.some(({ question }) => question === current.question)) return;
    const ended = answered.peek();
    if (current !== undefined && !own.has(current.question) && ended?.question.question === current.question) {
      // The next question is shown when the person goes to it, or when a new one is asked.
      [pinned.value, goneQuestion.value] = [undefined, ended];
      return;
    }
    if (goneQuestion.peek() === undefined) pin(nextOf(all));
  });
  effect(() => {
    const thread = open.value?.thread;
    const current = pinned.peek();
    if (thread === undefined || current?.thread === thread) return;
    const ofThread = questions.peek().find((each) => each.thread === thread);
    if (ofThread !== undefined) pin(ofThread);
  });
  let known = new Set(questions.peek().map(({ question }) => question));
  effect(() => {
    const fresh = questions.value.filter(({ question }) => !known.has(question));
    known = new Set(questions.value.map(({ question }) => question));
    const [first] = fresh;
    if (first !== undefined && pinned.peek() === undefined) pin(first);
    for (const question of fresh) notify(question);
  });
  effect(() => {
    const count = questions.value.length;
    const { value: state } = openState;
    document.title = `${count > 0 ? `(${count}) ` : ""}${state === undefined ? "" : `${titleOf(state)} · `}Handrail`;
  });
}

function nextOf(all: readonly Question[]): Question | undefined {
  return all.find(({ thread }) => thread === open.peek()?.thread) ?? all[0];
}

/** Notifies while the page is in the background. Names the thread and the tool, not the command: others may see it. */
function notify(question: Question): void {
  if (!document.hidden || !notifies()) return;
  const state = threads.peek().get(question.thread);
  const title = state === undefined ? question.thread : titleOf(state);
  const note = new Notification(title, { body: `${question.name} waits for your answer`, tag: question.question });
  note.addEventListener("click", () => {
    window.focus();
    show(question);
    goTo(threadAddress(question.thread));
    note.close();
  });
  const stop = effect(() => {
    if (questions.value.some((each) => each.question === question.question)) return;
    note.close();
    queueMicrotask(() => stop());
  });
}
