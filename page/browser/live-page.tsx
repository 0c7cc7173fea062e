import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { answer, isFolded } from "../state/dock.ts";
import { isConnected, open, openState } from "../state/model.ts";
import { useWhileSeen } from "../state/seen.ts";
import { Safe } from "../text/safe.tsx";
import { Icon } from "../view/icons.tsx";
import { ExtraKeys, Keyboard } from "../view/keyboard.tsx";
import { keyOf } from "./inputs.ts";
import { type ShownPage, questionOf, shownPage } from "./shown-page.ts";

/** Keys that a phone's keyboard lacks, with their names. */
const EXTRA_KEYS: readonly (readonly [key: string, word: string])[] = [
  ["Tab", "Tab"],
  ["Escape", "Esc"],
  ["Backspace", "⌫"],
  ["PageUp", "↑"],
  ["PageDown", "↓"],
];

/** The page of the shown thread, live while it is visible. A person can take it over: then it takes clicks and keys. */
export function LivePage() {
  const thread = open.value?.thread;
  return thread === undefined ? null : <Page key={thread} thread={thread} />;
}

function Page({ thread }: { readonly thread: string }) {
  const page = shownPage(thread);
  const box = useRef<HTMLElement>(null);
  const input = useRef<HTMLTextAreaElement>(null);
  const isHidden = useSignal(false);
  const { value: view } = page.view;
  const question = questionOf(thread);
  const isTaken = view?.taken === true && question !== undefined;
  // The browser is opened while the first call runs.
  const isRunning = openState.value?.recent.some(({ name, endedMs }) => name === "browser" && endedMs === undefined);

  const watch = isHidden.value ? undefined : () => page.watch(isRunning === true);
  useWhileSeen(box, watch, [page, isRunning, isHidden.value]);
  useEffect(() => {
    if (!isTaken) return;
    isFolded.value = true; // the question is answered in this view
    box.current?.scrollIntoView({ block: "nearest" });
    input.current?.focus({ preventScroll: true });
  }, [isTaken]);

  const handBack = () => {
    if (question === undefined) return;
    answer(question, { answer: "once" }).catch((error: Error) => (page.failure.value = error.message));
  };
  return (
    <section class={`live-page ${isTaken ? "on" : ""}`} aria-label="Page" ref={box}>
      {view !== undefined && (
        <div class="well">
          <div class="strip top flex">
            <Safe in="code" class="clip" text={view.url} />
            <span class="sp" />
            {isTaken ? (
              <button class="btn" disabled={!isConnected.value || question.whyNot !== undefined} onClick={handBack}>
                Hand back
              </button>
            ) : (
              <>
                <button class="btn bare" onClick={() => (isHidden.value = !isHidden.value)}>
                  {isHidden.value ? "Show page" : "Hide page"}
                </button>
                <button class="btn" disabled={!isConnected.value || page.isTaking.value} onClick={page.takeOver}>
                  <Icon name="side" />
                  {page.isTaking.value ? "Waiting for the running action" : "Take over"}
                </button>
              </>
            )}
          </div>
          {!isHidden.value && (
            <Picture page={page} isTaken={isTaken} onUsed={() => input.current?.focus({ preventScroll: true })} />
          )}
          <Keyboard
            {...{ field: input, label: "Keys for the page", isOn: isTaken, keyOf }}
            onKey={(key) => page.use({ type: "key", key })}
            onText={(text) => page.use({ type: "text", text })}
          />
          {(isTaken || page.failure.value !== "") && (
            <p class="says flex meta" role="status">
              {page.failure.value !== "" ? (
                <Safe in="span" class="problem" text={page.failure.value} />
              ) : (
                <span class="wait">
                  {question?.whyNot ??
                    "You have the page: click and type in it. The agent waits, and nothing that you type is recorded."}
                </span>
              )}
              <span class="wide">
                <kbd>Ctrl ]</kbd> leaves it
              </span>
            </p>
          )}
          <ExtraKeys keys={isTaken ? EXTRA_KEYS : []} isOn onKey={(key) => page.use({ type: "key", key })} />
        </div>
      )}
    </section>
  );
}

interface PictureProps {
  readonly page: ShownPage;
  readonly isTaken: boolean;
  readonly onUsed: () => void;
}

function Picture({ page, isTaken, onUsed }: PictureProps) {
  const { value: view } = page.view;
  if (view === undefined) return null;
  /** The position of an event in the page. */
  const at = ({ offsetX, offsetY, currentTarget }: MouseEvent) => {
    const { clientWidth, clientHeight } = currentTarget as HTMLElement;
    const inside = (part: number, most: number) => Math.min(Math.max(part, 0), 1) * most;
    return { x: inside(offsetX / clientWidth, view.width), y: inside(offsetY / clientHeight, view.height) };
  };
  // Events of the mouse. A tap makes these events too, but a finger that scrolls the console does not.
  const button = (type: "down" | "up") => (event: MouseEvent) => {
    event.preventDefault(); // the field keeps the focus
    onUsed();
    if (event.button === 0) page.use({ type, ...at(event), clicks: Math.max(1, event.detail) });
  };
  const handlers = {
    onMouseDown: button("down"),
    onMouseUp: button("up"),
    onMouseMove: (event: MouseEvent) => page.use({ type: "move", ...at(event) }),
    onWheel(event: WheelEvent) {
      event.preventDefault();
      page.use({ type: "wheel", ...at(event), dx: event.deltaX, dy: event.deltaY });
    },
  };
  return (
    <img
      class="shot"
      src={`data:image/jpeg;base64,${view.picture}`}
      alt="The page, as the agent's browser shows it"
      draggable={false}
      {...(isTaken && handlers)}
    />
  );
}
