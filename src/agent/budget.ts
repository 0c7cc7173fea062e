import { plural } from "../core/util/text.ts";
import { type Usage, NO_USAGE, addUsage } from "./events.ts";

/** What a million tokens cost. */
export interface Price {
  readonly input: number;
  readonly output: number;
}

/** What one turn uses, including its sub-agents. A sub-agent's use counts for every turn above it too. */
export interface Budget {
  /** Replies of models so far, including those of sub-agents. */
  readonly rounds: number;
  readonly usage: Usage;
  /** What the turn cost; `undefined` if a model without a price was used. */
  readonly cost: number | undefined;
  /** Calls that were denied because nobody could be asked, including those of sub-agents. */
  readonly unasked: number;
  /** Counts a round. Call before a request is made. */
  takeRound(): void;
  /** Uncounts a round whose request is made again. */
  returnRound(): void;
  /** Counts what a request used. `price`: the price of its model; without a price the request is free. */
  spend(usage: Usage, price: Price | undefined): void;
  /** Counts a call that was denied because nobody could be asked. */
  countUnasked(): void;
  /** Asks whether to continue, for each turn whose cost limit is reached, from the first turn down. Never rejects. */
  extend(signal: AbortSignal): Promise<void>;
  /** Returns the limit that is reached, of this turn or of a turn above; `undefined` if no limit is reached. */
  reached(): LimitReached | undefined;
}

export interface LimitReached {
  readonly reason: "max_rounds" | "max_tokens" | "max_cost";
  /** The limit in words: "100 replies". */
  readonly what: string;
  /** False if the limit belongs to a turn above. */
  readonly isOwn: boolean;
}

/** A limit of cost that is reached. */
export interface CostReached {
  /** What the turn has cost so far, including its sub-agents. */
  readonly cost: number;
  /** The amount by which the limit is raised if the turn continues. */
  readonly more: number;
}

export interface BudgetLimits {
  readonly rounds: number;
  readonly tokens: number;
  readonly cost: number;
  /** Decides whether to continue when `cost` is reached. Default: no. */
  readonly onCost?: (reached: CostReached, signal: AbortSignal) => Promise<boolean>;
}

/**
 * Creates the budget of a turn.
 *
 * @param above the budget of the turn whose call started the agent
 */
export function createBudget(limits: BudgetLimits, above?: Budget): Budget {
  let rounds = 0;
  let cost = 0;
  let isPriced = true;
  let allowed = limits.cost;
  let asking: Promise<void> | undefined;
  let usage = NO_USAGE;
  let unasked = 0;

  const own = (): Omit<LimitReached, "isOwn"> | undefined => {
    if (rounds >= limits.rounds) return { reason: "max_rounds", what: plural(limits.rounds, "reply", "replies") };
    if (usage.input + usage.output >= limits.tokens) return { reason: "max_tokens", what: `${limits.tokens} tokens` };
    return cost >= allowed ? { reason: "max_cost", what: `a cost of ${allowed}` } : undefined;
  };
  const ask = async (onCost: NonNullable<BudgetLimits["onCost"]>, signal: AbortSignal) => {
    const goesOn = await onCost({ cost, more: limits.cost }, signal).catch(() => false);
    if (goesOn) allowed = Math.max(allowed, cost) + limits.cost;
  };

  return {
    get rounds() {
      return rounds;
    },
    get usage() {
      return usage;
    },
    get cost() {
      return isPriced ? cost : undefined;
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
      if (price === undefined && more.input + more.output > 0) isPriced = false;
      cost += ((price?.input ?? 0) * more.input + (price?.output ?? 0) * more.output) / 1_000_000;
      above?.spend(more, price);
    },
    countUnasked() {
      unasked++;
      above?.countUnasked();
    },
    async extend(signal) {
      await above?.extend(signal);
      const { onCost } = limits;
      if (onCost === undefined || own()?.reason !== "max_cost") return;
      asking ??= ask(onCost, signal).finally(() => (asking = undefined)); // once for sub-agents that run side by side
      await asking;
    },
    reached() {
      const further = above?.reached();
      if (further !== undefined) return { ...further, isOwn: false };
      const limit = own();
      return limit && { ...limit, isOwn: true };
    },
  };
}
