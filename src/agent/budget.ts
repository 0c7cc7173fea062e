import { plural } from "../util/text.ts";
import { type Usage, NO_USAGE, addUsage } from "./events.ts";

/** What a million tokens cost. */
export interface Price {
  readonly input: number;
  readonly output: number;
}

/** What one turn uses, including its sub-agents. Their use counts for all turns above them too. */
export interface Budget {
  /** Replies of models so far, including those of sub-agents. */
  readonly rounds: number;
  readonly usage: Usage;
  /** Calls that were denied because nobody could be asked, including those of sub-agents. */
  readonly unasked: number;
  /** Counts a round. Call before a request is made. */
  takeRound(): void;
  /** Uncounts a round, when its request is made again. */
  returnRound(): void;
  /** Counts what a request used. `price`: that of its model; without one it is free. */
  spend(usage: Usage, price: Price | undefined): void;
  /** Counts a call that was denied because nobody could be asked. */
  countUnasked(): void;
  /** Returns the limit that is reached, of this turn or one above; `undefined` if none is. */
  reached(): LimitReached | undefined;
}

export interface LimitReached {
  readonly reason: "max_rounds" | "max_tokens" | "max_cost";
  /** The limit in words: "100 replies". */
  readonly what: string;
  /** False if it is the limit of a turn above. */
  readonly isOwn: boolean;
}

/**
 * Creates the budget of a turn.
 *
 * @param above the budget of the turn whose call started the agent
 */
export function createBudget(
  limits: { readonly rounds: number; readonly tokens: number; readonly cost: number },
  above?: Budget,
): Budget {
  let rounds = 0;
  let cost = 0;
  let usage = NO_USAGE;
  let unasked = 0;

  const own = (): Omit<LimitReached, "isOwn"> | undefined => {
    if (rounds >= limits.rounds) return { reason: "max_rounds", what: plural(limits.rounds, "reply", "replies") };
    if (usage.input + usage.output >= limits.tokens) return { reason: "max_tokens", what: `${limits.tokens} tokens` };
    return cost >= limits.cost ? { reason: "max_cost", what: `a cost of ${limits.cost}` } : undefined;
  };

  return {
    get rounds() {
      return rounds;
    },
    get usage() {
      return usage;
    },
    get unasked() {
      return unasked;
    },
    takeRound() {
      rounds++;
      above?.takeRound();
    },
    returnRound() {
      rounds--;
      above?.returnRound();
    },
    spend(more, price) {
      usage = addUsage(usage, more);
      cost += ((price?.input ?? 0) * more.input + (price?.output ?? 0) * more.output) / 1_000_000;
      above?.spend(more, price);
    },
    countUnasked() {
      unasked++;
      above?.countUnasked();
    },
    reached() {
      const further = above?.reached();
      if (further !== undefined) return { ...further, isOwn: false };
      const limit = own();
      return limit && { ...limit, isOwn: true };
    },
  };
}
