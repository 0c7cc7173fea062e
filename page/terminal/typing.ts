import { type Signal, signal } from "@preact/signals";
import { post } from "../state/api.ts";
import { follow } from "../state/followed-calls.ts";
import { inOrder } from "../state/in-order.ts";
import { type Batch, type Stroke, nextBatch } from "./keys.ts";

/** Sends keys to a pane in order: one call after another. */
export interface Typing {
  /** True while a person is asked about the last keys. No other keys are accepted until then. */
  readonly isAsked: Signal<boolean>;
  /** Why the last keys were not typed; "" if they were. */
  readonly failure: Signal<string>;
  add(stroke: Stroke): void;
}

/** The thread that records the calls. */
const THREAD = "terminal";
/** Keys pressed within this time are sent in one request. Milliseconds. */
const TOGETHER_MS = 30;
/** The maximum number of characters in one request. */
const MOST_TEXT = 65_536;

export function createTyping(pane: () => string | undefined): Typing {
  const isAsked = signal(false);
  const failure = signal("");
  let waiting: Stroke[] = [];
  const send = async (batch: Batch): Promise<void> => {
    const target = pane();
    const body = { thread: THREAD, ...batch, ...(target !== undefined && { pane: target }) };
    const request = () => post<{ readonly call: string }>("/api/terminal/keys", body);
    // Keys typed in the meantime were meant for the screen before the question.
    const onAsked = () => {
      isAsked.value = true;
      waiting = [];
    };
    const { status, error } = await follow(request, onAsked).finally(() => (isAsked.value = false));
    if (status !== "ok") throw new Error(error ?? "It was not typed.");
  };

  const run = inOrder(
    () => (waiting.length === 0 ? undefined : send(nextBatch(waiting))),
    (why) => {
      failure.value = why;
      if (why !== "") waiting = [];
    },
  );

  return {
    ...{ isAsked, failure },
    add(stroke) {
      if (isAsked.value) return;
      if ("text" in stroke && (stroke.text === "" || stroke.text.length > MOST_TEXT)) {
        if (stroke.text !== "") failure.value = `Expected at most ${MOST_TEXT.toLocaleString("en")} characters.`;
        return;
      }
      waiting.push(stroke);
      setTimeout(run, TOGETHER_MS);
    },
  };
}
