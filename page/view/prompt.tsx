import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useAction } from "../state/action.ts";
import { part, post } from "../state/api.ts";
import { isConnected, isAgentAtWork } from "../state/model.ts";
import { goTo, threadAddress } from "../state/route.ts";
import { Problem } from "./row.tsx";

/** Unsent prompts, by thread. They are kept when another page is opened. */
const drafts = new Map<string | undefined, string>();

/** The maximum height of the box, in pixels. */
const MOST_HEIGHT = 200;

/**
 * Sends a message to the agent of a thread: as a new turn or, while one runs, as steering. Without a thread, starts
 * one.
 */
export function Prompt({ thread }: { readonly thread: string | undefined }) {
  const area = useRef<HTMLTextAreaElement>(null);
  /** The thread that was created for a prompt. Used again when the prompt was not accepted. */
  const created = useRef<string>(undefined);
  const text = useSignal(drafts.get(thread) ?? "");
  const { failure, isBusy, attempt } = useAction();

  useLayoutEffect(() => {
    const { current } = area;
    if (current === null) return;
    current.style.height = "auto";
    current.style.height = `${Math.min(MOST_HEIGHT, current.scrollHeight)}px`;
  }, [text.value]);

  const type = (value: string) => {
    text.value = value;
    drafts.set(thread, value);
  };
  const send = () => {
    const asked = text.value.trim();
    if (asked === "" || isBusy.value || !isConnected.value) return;
    void attempt(async () => {
      const id = thread ?? (created.current ??= (await post<{ thread: string }>("/api/threads")).thread);
      await post(`/api/threads/${part(id)}/prompts`, { text: asked });
      type("");
      if (thread === undefined) goTo(threadAddress(id));
    });
  };
  const pressed = (event: KeyboardEvent) => {
    const isTouch = matchMedia("(pointer: coarse)").matches;
    if (event.key === "Escape") area.current?.blur();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || isTouch) return;
    event.preventDefault();
    send();
  };
  const isOff = !isConnected.value || isBusy.value || text.value.trim() === "";
  return (
    <div class="prompt">
      <Problem text={failure.value} />
      <div class={`box ${isConnected.value ? "" : "off-line"}`}>
        <textarea
          ref={area}
          id="prompt"
          aria-label={isAgentAtWork.value ? "Steer the agent" : "Prompt"}
          placeholder={isAgentAtWork.value ? "Steer the agent" : "What should the agent do?"}
          rows={1}
          value={text.value}
          onInput={({ currentTarget }) => type(currentTarget.value)}
          onKeyDown={pressed}
        />
        <button class={`btn ${text.value.trim() === "" ? "" : "ink"}`} disabled={isOff} onClick={send}>
          {isAgentAtWork.value ? "Steer" : "Send"}
        </button>
      </div>
      <div class="hint meta">
        {HINTS.map(([keys, word]) => (
          <span key={word}>
            {keys.map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
            {word}
          </span>
        ))}
        <span class="sp" />
        {isAgentAtWork.value && <span>Read after the current call</span>}
      </div>
    </div>
  );
}

const HINTS = [
  [["Q"], "question"],
  [["J", "K"], "cells"],
  [["P"], "prompt"],
  [["?"], "all keys"],
] as const;
