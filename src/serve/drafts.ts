import { type Wake, createWake } from "../core/util/wake.ts";
import type { ThreadId } from "../core/contract/identity.ts";
import type { Draft } from "./api-types.ts";

/** What an agent emits, as far as drafts need it: `AgentEvent` without its details. */
export interface AgentStep {
  readonly type: string;
  readonly text?: string;
  readonly reply?: string;
}

/** The replies that models are writing in agents of this process. */
export interface Drafts {
  /** Takes the events of a thread's agent until they end. Never rejects. */
  follow(thread: ThreadId, events: AsyncIterable<AgentStep>): Promise<void>;
  /** The drafts of the running turn, oldest first, also those that are recorded meanwhile. Secrets are masked. */
  of(thread: ThreadId): readonly Draft[];
  /** Resolves at the next change of a draft of the thread, or when the signal fires. */
  changed(thread: ThreadId, signal: AbortSignal): Promise<void>;
}

interface Written {
  readonly key: string;
  parts: { readonly type: "text" | "reasoning"; text: string }[];
  /** Nothing follows. */
  isOver: boolean;
}

/** A word that may continue, and then be a secret. Other scripts are not held back: they have no spaces. */
const UNFINISHED_WORD = /[!-~]{1,512}$/;

/** @param mask masks the secrets of a text */
export function createDrafts(mask: (text: string) => string): Drafts {
  const written = new Map<ThreadId, Written[]>();
  const wakes = new Map<ThreadId, Wake>();

  /** Returns false for an event that changes nothing. */
  const take = (thread: ThreadId, { type, text = "", reply }: AgentStep): boolean => {
    const drafts = written.get(thread) ?? [];
    const last = drafts.at(-1);
    if ((type === "text" || type === "reasoning") && reply !== undefined) {
      const draft = last?.key === reply ? last : { key: reply, parts: [], isOver: false };
      const part = draft.parts.at(-1);
      if (part?.type === type) part.text += text;
      else draft.parts.push({ type, text });
      if (draft !== last) written.set(thread, [...drafts, draft]);
      return true;
    }
    if (type === "end") return written.delete(thread);
    if (last === undefined || (type !== "usage" && type !== "retry")) return false;
    last.isOver = true;
    if (type === "retry") last.parts = []; // the model begins again
    return true;
  };

  return {
    async follow(thread, events) {
      for await (const event of events) {
        if (!take(thread, event)) continue;
        wakes.get(thread)?.resolve();
        wakes.delete(thread);
      }
    },
    of: (thread) =>
      (written.get(thread) ?? []).map(({ key, parts, isOver }) => {
        const content = parts.map(({ type, text }, index) => {
          const isOpen = !isOver && index === parts.length - 1;
          return { type, text: mask(isOpen ? text.replace(UNFINISHED_WORD, "") : text) };
        });
        return { key, draft: true, role: "assistant", content: content.filter(({ text }) => text !== "") };
      }),
    async changed(thread, signal) {
      const wake = wakes.get(thread) ?? createWake();
      wakes.set(thread, wake);
      await wake.untilResolved(signal);
    },
  };
}
