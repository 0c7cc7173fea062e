import type { Store } from "../../src/core/contract/activity.ts";
import { events } from "./store/events.ts";
import { following } from "./store/following.ts";
import { parked } from "./store/parked.ts";
import { questions } from "./store/questions.ts";
import type { StoreScene } from "./store/scene.ts";
import { shared as sharedStores } from "./store/shared.ts";
import { threads } from "./store/threads.ts";
import { type TestRunner, registerCases } from "../../src/core/util/test-cases.ts";

/** The tested store. */
export interface StoreSuiteOptions {
  /** The prefix of the titles. */
  readonly name: string;
  /**
   * Opens the store named by `place` (letters, digits and hyphens): empty the first time, later another connection to
   * the same store. It keeps at least 1,000 events. The suite closes it.
   */
  open(place: string): Promise<Store>;
  /** Whether stores opened under one name share their events. False skips the tests of that. Default true. */
  readonly shared?: boolean;
  /** Titles of tests to skip, each with its reason, which is shown. */
  readonly skip?: { readonly [title: string]: string };
}

/**
 * Tests a store against its contract (`Store`).
 *
 * @throws Error at once when `skip` names an unknown test.
 */
export function storeSuite({ name, open, shared = true, skip = {} }: StoreSuiteOptions, runner: TestRunner): void {
  const groups = [
    ["events", events],
    ["following", following],
    ["threads, search and jobs", threads],
    ["questions", questions],
    ["parked calls", parked],
    ...(shared ? ([["several processes", sharedStores]] as const) : []),
  ] as const;
  let places = 0;
  registerCases<StoreScene>(
    { name, groups, skip },
    runner,
    async (perform) => {
      const place = `place-${++places}`;
      const opened: Store[] = [];
      const another = async () => {
        const store = await open(place);
        opened.push(store);
        return store;
      };
      try {
        await perform({ store: await another(), open: another });
      } finally {
        await Promise.all(opened.map((store) => store.close()));
      }
    },
    async () => undefined,
  );
}
