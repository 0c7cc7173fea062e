import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { isConnected } from "../state/model.ts";
import { useWhileSeen } from "../state/seen.ts";
import { Output, Safe } from "../text/safe.tsx";
import { Icon } from "../view/icons.tsx";
import { ExtraKeys, Keyboard } from "../view/keyboard.tsx";
import { keyOf, typeable } from "./keys.ts";
import { type WatchedScreen, watchScreen } from "./screen.ts";
import { type Typing, createTyping } from "./typing.ts";

/** Keys that a phone's keyboard lacks, with their names. */
const EXTRA_KEYS: readonly (readonly [key: string, word: string])[] = [
  ["Escape", "Esc"],
  ["Tab", "Tab"],
  ["C-c", "Ctrl C"],
  ["BSpace", "⌫"],
  ["Up", "↑"],
  ["Down", "↓"],
  ["Left", "←"],
  ["Right", "→"],
];

/** The terminal shared with the agent. Keys are sent only while typing is switched on. */
export function Terminal() {
  const watched = useMemo(watchScreen, []);
  const typing = useMemo(() => createTyping(() => watched.screen.peek()?.pane), [watched]);
  const isOn = useSignal(false);
  const section = useRef<HTMLElement>(null);
  const input = useRef<HTMLTextAreaElement>(null);

  const watch = () => {
    watched.watch();
    return () => watched.pause();
  };
  useWhileSeen(section, watch, [watched]);
  // Without a connection, nobody sees the effect of the keys.
  useEffect(() => {
    if (!isConnected.value) isOn.value = false;
  }, [isConnected.value]);

  const turn = (on: boolean) => {
    isOn.value = on;
    if (on) input.current?.focus();
    else input.current?.blur();
  };
  const { value: screen } = watched.screen;
  return (
    <section class={`term ${isOn.value ? "on" : ""}`} aria-label="Terminal" ref={section}>
      <div class="bar flex">
        <Icon name="terminal" />
        <h2>Terminal</h2>
        {screen !== undefined && <Safe in="code" class="off" text={screen.pane} />}
        <span class="sp" />
        <button
          class="sw flex"
          role="switch"
          aria-checked={isOn.value}
          disabled={screen === undefined || !isConnected.value}
          // The field keeps the focus. Otherwise its blur would switch typing off, and the click on again.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => turn(!isOn.value)}
        >
          {isOn.value ? "Typing on" : "Typing off"}
        </button>
      </div>
      <ScreenView watched={watched} />
      <Keyboard
        {...{ field: input, label: "Keys for the terminal", isOn: isOn.value, keyOf }}
        onKey={(key) => typing.add({ key })}
        onText={(text) => typing.add({ text: typeable(text) })}
        onLeave={() => turn(false)} // the field regains the focus with the window, but typing stays off
      />
      <p class="says flex meta" role="status">
        <Words isOn={isOn.value} typing={typing} />
      </p>
      <ExtraKeys keys={EXTRA_KEYS} isOn={isOn.value} onKey={(key) => typing.add({ key })} />
    </section>
  );
}

function Words({ isOn, typing }: { readonly isOn: boolean; readonly typing: Typing }) {
  if (typing.failure.value !== "") {
    return <Safe in="span" class="problem" text={typing.failure.value} />;
  }
  if (typing.isAsked.value) return <span class="wait">Waiting for you. Keys are ignored until you answer.</span>;
  if (!isOn) return <>What the pane shows, live.</>;
  return (
    <>
      <span class="wait">Typing is on. Your keys are judged like commands.</span>
      <span class="wide">
        <kbd>Ctrl ]</kbd> off
      </span>
    </>
  );
}

function ScreenView({ watched }: { readonly watched: WatchedScreen }) {
  const box = useRef<HTMLPreElement>(null);
  const mark = useRef<HTMLSpanElement>(null);
  const { value: screen } = watched.screen;
  const { value: lines } = useComputed(() =>
    linesOf(watched.screen.value?.text ?? "", watched.screen.value?.cursor?.row),
  );
  useLayoutEffect(() => {
    const { current } = box;
    if (current === null || mark.current === null) return;
    const { cursor } = screen ?? {};
    mark.current.hidden = cursor === undefined;
    if (cursor === undefined) return;
    // One character is 1ch wide, and a line 18 pixels high.
    mark.current.style.transform = `translate(calc(${cursor.column} * 1ch), ${cursor.row * 18}px)`;
    current.scrollTop = current.scrollHeight;
  }, [screen]);
  if (watched.failure.value !== "") {
    return (
      <div class="scr none">
        <Safe in="p" text={watched.failure.value} />
        <button class="btn" onClick={watched.watch}>
          Try again
        </button>
      </div>
    );
  }
  return (
    <pre class="scr" ref={box} tabIndex={0} role="log" aria-live="off" aria-label="Screen">
      <span class="cursor" ref={mark} hidden />
      <Output lines={lines} />
    </pre>
  );
}

/** Splits the screen into lines, without the empty lines below the last line and the cursor. */
function linesOf(text: string, cursorRow = 0): readonly string[] {
  const lines = text.split("\n");
  const last = lines.findLastIndex((line) => line.replaceAll(/\x1b\[[0-9;:]*m/g, "").trim() !== "");
  return lines.slice(0, Math.max(last, cursorRow) + 1);
}
