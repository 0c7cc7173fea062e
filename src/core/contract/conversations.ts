import type { ThreadId } from "./identity.ts";

/** A request that a model wants to make: what leaves the machine with it. */
export interface Leaving {
  readonly url: string;
  /** The headers that the model has set. */
  readonly headers?: { readonly [name: string]: string };
}

/** Something that happened in a conversation. */
export type SeenFact =
  /** A person wrote this. */
  | { readonly kind: "message"; readonly text: string }
  /** A search engine returned this URL. */
  | { readonly kind: "found"; readonly url: string }
  /** A page was fetched, and has these links. */
  | { readonly kind: "linked"; readonly page: string; readonly links: readonly string[] }
  /** A person approved a request of this URL, so it may be requested again. */
  | { readonly kind: "approved"; readonly url: string }
  /** A request ran without a question, so its cost is spent. */
  | ({ readonly kind: "sent" } & Leaving);

/** The judgement on a request. `as`: why it needs no question. */
export type SeenJudgement =
  | { readonly verdict: "seen"; readonly as: "url" | "link" | "approved" | "composed" }
  /** `reason`: a clause that names what has not been seen. */
  | { readonly verdict: "unseen"; readonly reason: string };

/**
 * What each conversation has seen. A conversation is a thread that a person, a schedule or a program has begun, with
 * the threads of all agents below it: they share what was seen, and the budget.
 */
export interface Conversations {
  /** Adds a fact to the conversation of a thread. */
  add(thread: ThreadId, fact: SeenFact): void;
  /** Makes a thread part of the conversation of another thread. */
  join(thread: ThreadId, above: ThreadId): void;
  /** Whether a message or search result named the host. */
  isKnown(thread: ThreadId, url: URL): Promise<boolean>;
  /**
   * Judges a request. With `take` what it costs is spent at once, so that requests side by side share the budget.
   */
  judge(thread: ThreadId, request: Leaving, options: { readonly take: boolean }): Promise<SeenJudgement>;
}
