import type { Draft } from "./editor.ts";

/** When a queued message is sent: to the model after the running call, or when the turn has ended. */
export type When = "steer" | "after";

interface Queued {
  readonly draft: Draft;
  readonly when: When;
  /** Takes a steering message back. Returns false if the model has the message. Absent until it is handed over. */
  readonly takeBack?: () => boolean;
}

/** Messages that were written during a turn and are not delivered yet. Each can be taken back. */
export interface Queue {
  add(queued: Queued): void;
  /** Oldest first. */
  all(): readonly Queued[];
  /** Removes the last message that can be taken back, and returns it. */
  takeLast(): Draft | undefined;
  /** Removes all messages that can be taken back, and returns them, oldest first. */
  takeAll(): readonly Draft[];
  /** The turn is being stopped: messages that the model does not have wait for the turn's end. */
  hold(): void;
  /** Removes the first message that waits for the end of the turn. */
  next(): Draft | undefined;
  /** Removes the oldest steering message for which `isIt` is true, because the model has it. Returns the message. */
  delivered(isIt: (draft: Draft) => boolean): Draft | undefined;
}

export function createQueue(): Queue {
  const queued: Queued[] = [];
  const isBack = ({ takeBack }: Queued) => takeBack === undefined || takeBack();
  const removed = (index: number) => (index === -1 ? undefined : queued.splice(index, 1)[0]?.draft);

  return {
    add: (one) => void queued.push(one),
    all: () => queued,
    takeLast: () => removed(queued.findLastIndex(isBack)),
    takeAll() {
      const back = queued.filter(isBack);
      for (const one of back) queued.splice(queued.indexOf(one), 1);
      return back.map(({ draft }) => draft);
    },
    hold() {
      for (const [index, one] of queued.entries())
        if (one.takeBack?.()) queued[index] = { draft: one.draft, when: "after" };
    },
    next: () => removed(queued.findIndex(({ when }) => when === "after")),
    delivered: (isIt) => removed(queued.findIndex(({ when, draft }) => when === "steer" && isIt(draft))),
  };
}
