import { useSignal, useSignalEffect } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { part } from "../state/api.ts";
import { open } from "../state/model.ts";
import type { CallShown } from "../state/open-thread.ts";
import { Output } from "../text/safe.tsx";
import { sizeOf } from "../text/sizes.ts";
import { StopButton } from "./stop-button.tsx";

/** Lines that can be scrolled back to. */
const KEPT_LINES = 200;
/** The shortest time between two renders, in milliseconds. */
const DRAW_MS = 60;

/** The end of a call's output, in a box of fixed height that follows the output until it is scrolled up. */
export function LiveTail({ message }: { readonly message: CallShown }) {
  const call = message.metadata.tool_activity.id;
  const box = useRef<HTMLPreElement>(null);
  const isFollowing = useSignal(true);
  const shown = useSignal<readonly string[]>([]);
  /** The number of lines when following was paused. */
  const pausedAt = useSignal(0);
  const counts = useSignal({ lines: 0, length: 0 });
  const output = open.value?.output(call);

  useSignalEffect(() => {
    const version = output?.version.value ?? 0;
    if (version === 0 || output === undefined) return;
    const draw = () => {
      counts.value = { lines: output.lineCount, length: output.length };
      if (isFollowing.peek()) shown.value = output.lines(KEPT_LINES).map(withoutReturns);
    };
    if (shown.peek().length === 0) return draw();
    const timer = setTimeout(draw, DRAW_MS);
    return () => clearTimeout(timer);
  });

  useLayoutEffect(() => {
    const { current } = box;
    if (current !== null && isFollowing.value) current.scrollTop = current.scrollHeight;
  }, [shown.value]);

  const scrolled = () => {
    const { current } = box;
    if (current === null) return;
    const isAtEnd = current.scrollHeight - current.scrollTop - current.clientHeight < 8;
    if (isAtEnd === isFollowing.value) return;
    isFollowing.value = isAtEnd;
    pausedAt.value = counts.value.lines;
    if (isAtEnd && output !== undefined) shown.value = output.lines(KEPT_LINES).map(withoutReturns);
  };

  const { lines, length } = counts.value;
  const fresh = lines - pausedAt.value;
  return (
    <div class="well">
      <pre class="live free" ref={box} tabIndex={0} role="log" aria-live="off" aria-label="Output" onScroll={scrolled}>
        <Output lines={shown.value} />
      </pre>
      <div class="strip flex num">
        <span>{isFollowing.value ? "Following" : `Paused, ${fresh} new ${fresh === 1 ? "line" : "lines"}`}</span>
        {lines > 0 && (
          <>
            <span class="counted">{lines.toLocaleString("en")} lines</span>
            <span class="counted">{sizeOf(length)}</span>
          </>
        )}
        <span class="sp" />
        <StopButton path={`/api/calls/${part(call)}/stop`}>Stop</StopButton>
      </div>
    </div>
  );
}

/** Returns a line without text that carriage returns overwrite. */
function withoutReturns(line: string): string {
  return line.slice(line.replace(/\r+$/, "").lastIndexOf("\r") + 1).replace(/\r+$/, "");
}
