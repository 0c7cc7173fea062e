import { type Signal, computed, signal } from "@preact/signals";
import type { PageInput, PageView } from "../../src/core/contract/live-page.ts";
import { RequestFailed, part, post, readEvents } from "../state/api.ts";
import { follow } from "../state/followed-calls.ts";
import { inOrder } from "../state/in-order.ts";
import { type Question, questions } from "../state/model.ts";
import { addInput } from "./inputs.ts";

/** What a thread's browser shows. The stream is followed only while somebody watches. */
export interface ShownPage {
  /** The newest view, with a picture. `undefined` while no browser is open. */
  readonly view: Signal<Required<PageView> | undefined>;
  /** True from the request to take the page over until it is handed back. */
  readonly isTaking: Signal<boolean>;
  /** Why the last action did not work; "" if it worked. */
  readonly failure: Signal<string>;
  /** Follows the page until the returned function is called. `retry`: tries again while no browser is open. */
  watch(retry: boolean): () => void;
  takeOver(): void;
  /** Sends what a person does, in order. */
  use(input: PageInput): void;
}

/** How long the stream is kept when nobody watches: the view moves to the next call's cell. Milliseconds. */
const KEPT_MS = 500;
const RETRY_MS = 1_000;

let last: { readonly thread: string; readonly page: ShownPage } | undefined;

/** The page of a thread. The same for every component that shows it. */
export function shownPage(thread: string): ShownPage {
  if (last?.thread !== thread) last = { thread, page: createShownPage(thread) };
  return last.page;
}

/** The question that is answered when a person has done something in the page of a thread. */
export function questionOf(thread: string): Question | undefined {
  const asks = ({ effects }: Question) => effects.some((effect) => effect.kind === "page" && effect.act === "person");
  return questions.value.find((each) => each.thread === thread && asks(each));
}

function createShownPage(thread: string): ShownPage {
  const path = `/api/threads/${part(thread)}/page`;
  const view = signal<Required<PageView> | undefined>(undefined);
  const isTaking = signal(false);
  const failure = signal("");
  const isTaken = computed(() => view.value?.taken === true);
  let watching = 0;
  let retries = false;
  let source: AbortController | undefined;
  const waiting: PageInput[] = [];

  const onEvent = (event: unknown) => {
    const next = event as PageView;
    const picture = next.picture ?? view.peek()?.picture;
    if (picture !== undefined) view.value = { ...next, picture };
  };
  const connect = async (opened: AbortController) => {
    const { signal: gone } = opened;
    const isLost = await readEvents(path, { signal: gone, onEvent: (event) => gone.aborted || onEvent(event) }).then(
      () => false,
      (error: unknown) => !(error instanceof RequestFailed) || error.status === 0,
    );
    if (gone.aborted) return;
    if (!isLost) view.value = undefined;
    if (isLost || retries) setTimeout(() => void (gone.aborted || connect(opened)), RETRY_MS);
    else source = undefined;
  };
  const rest = () => {
    if (watching > 0) return;
    source?.abort();
    source = undefined;
  };

  const send = inOrder(
    () => (waiting.length === 0 ? undefined : post(`${path}/input`, { inputs: waiting.splice(0) })),
    (why) => {
      failure.value = why;
      if (why !== "") waiting.length = 0;
    },
  );

  return {
    ...{ view, isTaking, failure },
    watch(retry) {
      watching++;
      retries = retry;
      if (source === undefined) void connect((source = new AbortController()));
      return () => {
        watching--;
        setTimeout(rest, KEPT_MS);
      };
    },
    takeOver() {
      isTaking.value = true;
      failure.value = "";
      follow(() => post(`${path}/take`))
        .then(({ status, error }) => (failure.value = status === "failed" ? (error ?? "It failed.") : ""))
        .catch((error: Error) => (failure.value = error.message))
        .finally(() => (isTaking.value = false));
    },
    use(input) {
      if (!isTaken.peek()) return;
      addInput(waiting, input);
      send();
    },
  };
}
