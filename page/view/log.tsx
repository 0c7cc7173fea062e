import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Block, OpenThread } from "../state/open-thread.ts";
import { now, threads } from "../state/model.ts";
import { endOf, statusOf } from "../state/thread-status.ts";
import { Safe } from "../text/safe.tsx";
import { Icon } from "./icons.tsx";
import { Messages } from "./messages.tsx";

/** Blocks within this distance of the visible part are rendered, in pixels. */
const NEAR = "1500px 0px";
/** Earlier messages are loaded within this distance of the top, in pixels. */
const EARLY = 1_200;

/** A scroll so soon after a person's input is theirs. Milliseconds. */
const INPUT_MS = 1_000;
const INPUTS = ["wheel", "touchmove", "keydown", "pointerdown"] as const;

/**
 * The messages of a thread. Follows new messages while scrolled to the end; otherwise keeps the reading position. Only
 * blocks near the visible part are rendered; the others keep their height.
 */
export function Log({ thread }: { readonly thread: OpenThread }) {
  const log = useRef<HTMLDivElement>(null);
  const column = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const lastTop = useRef(0);
  /** When the person last used a wheel, a finger, a key or a button. */
  const lastInput = useRef(-Infinity);
  /** The reading position: an element, and the distance of its top from the top of the window. */
  const anchor = useRef<{ readonly element: Element; readonly top: number } | undefined>(undefined);
  const isSlow = useSignal(false);

  const keepPlace = () => {
    const { current } = log;
    if (current === null) return;
    if (follows.current) {
      current.scrollTop = current.scrollHeight;
      return;
    }
    const held = anchor.current;
    if (held === undefined || !held.element.isConnected) return;
    const moved = held.element.getBoundingClientRect().top - held.top;
    if (Math.abs(moved) >= 1) current.scrollTop += moved;
  };

  const scrolled = () => {
    const { current } = log;
    if (current === null) return;
    const isAtEnd = current.scrollHeight - current.scrollTop - current.clientHeight < 24;
    // The position also moves up when content above or below gets shorter: only a person's input ends the following.
    const isReader = performance.now() - lastInput.current < INPUT_MS;
    if (isAtEnd || (isReader && current.scrollTop < lastTop.current - 1)) follows.current = isAtEnd;
    lastTop.current = current.scrollTop;
    anchor.current = follows.current ? undefined : anchorIn(current);
    if (current.scrollTop < EARLY) void thread.loadEarlier();
  };

  useEffect(() => {
    const timer = setTimeout(() => (isSlow.value = true), 300);
    const resized = new ResizeObserver(keepPlace);
    const used = () => (lastInput.current = performance.now());
    for (const input of INPUTS) window.addEventListener(input, used, { capture: true, passive: true });
    if (column.current !== null) resized.observe(column.current);
    if (log.current !== null) resized.observe(log.current);
    return () => {
      clearTimeout(timer);
      for (const input of INPUTS) window.removeEventListener(input, used, { capture: true });
      resized.disconnect();
    };
  }, []);
  useLayoutEffect(keepPlace, [thread.blocks.value]);

  const earlier = thread.earlier.value;
  const isKnown = threads.value.has(thread.thread);
  const isEmpty = earlier === 0 && thread.blocks.value.length === 0;
  return (
    <div class="log" ref={log} role="region" tabIndex={0} aria-label="Conversation" onScroll={scrolled}>
      <div class="col" ref={column}>
        {thread.failure.value !== undefined && <p class="problem">{thread.failure.value}</p>}
        {earlier === undefined && thread.failure.value === undefined && isSlow.value && (
          <p class="load" role="status">
            Loading messages, newest first
          </p>
        )}
        {isEmpty && (isKnown || isSlow.value) && (
          <p class="load">{isKnown ? "No messages yet." : "There is no such thread. Choose one in the list."}</p>
        )}
        {earlier !== undefined && earlier > 0 && <p class="load">{earlier.toLocaleString("en")} earlier messages</p>}
        {thread.blocks.value.map((block, index) => (
          <BlockView key={block.key} block={block} isLast={index >= thread.blocks.value.length - 2} root={log} />
        ))}
        <End thread={thread.thread} />
      </div>
    </div>
  );
}

/** Shows that the agent has stopped, or waits for the model. Takes the same space while it is empty. */
function End({ thread }: { readonly thread: string }) {
  const state = threads.value.get(thread);
  const ended = state?.turn?.reason === "done" ? undefined : state?.turn;
  const isWaiting = state?.awaitsModel === true && statusOf(state, now.value) === "running";
  const isStop = ended?.reason === "stopped";
  return (
    <div class={`end ${ended === undefined ? "run" : isStop ? "off" : "fail"}`} role="status">
      {ended !== undefined && (
        <>
          <Icon name={isStop ? "stop" : "fail"} />
          <Safe in="span" text={endOf(ended)} />
        </>
      )}
      {ended === undefined && isWaiting && (
        <>
          <Icon name="run" class="spin" />
          <span>Waiting for the model</span>
        </>
      )}
    </div>
  );
}

interface BlockProps {
  readonly block: Block;
  /** True for the last blocks. They are always rendered, because the reader is there or returns to them. */
  readonly isLast: boolean;
  readonly root: { readonly current: HTMLElement | null };
}

function BlockView({ block, isLast, root }: BlockProps) {
  const element = useRef<HTMLDivElement>(null);
  const isNear = useSignal(isLast);
  useEffect(() => {
    const { current } = element;
    if (current === null) return;
    const watch = new IntersectionObserver(
      ([entry]) => {
        if (entry === undefined) return;
        if (!entry.isIntersecting && isNear.peek()) block.height = entry.boundingClientRect.height;
        isNear.value = entry.isIntersecting;
      },
      { root: root.current, rootMargin: NEAR },
    );
    watch.observe(current);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => {
    const { current } = element;
    if (current !== null) current.style.height = isLast || isNear.value ? "" : `${block.height}px`;
  });
  return (
    <div class="block" ref={element}>
      {(isLast || isNear.value) && <Messages messages={block.messages.value} />}
    </div>
  );
}

/** Returns the first visible cell or paragraph. */
function anchorIn(log: HTMLElement) {
  const { top, left, width } = log.getBoundingClientRect();
  for (const down of [8, 40, 90, 160]) {
    const found = document.elementFromPoint(left + width / 2, top + down);
    const element = found?.closest(".cell, .say, .who, .block");
    if (element instanceof Element && log.contains(element)) {
      return { element, top: element.getBoundingClientRect().top };
    }
  }
  return undefined;
}
