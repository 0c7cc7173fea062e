import type { Input } from "./input.ts";
import type { Screen } from "./screen.ts";

/** Gives the terminal to other programs, and takes it back. */
export interface Alone {
  /** Runs what needs the terminal for itself. Resolves or rejects as `work` does. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Whether another program has the terminal. */
  isAway(): boolean;
  /** This process was stopped and continues: the terminal may have other modes, and shows something else. */
  continued(): void;
  /** Gives the terminal back for good. */
  close(): void;
}

export function createAlone(screen: Screen, input: Input): Alone {
  let state: "here" | "away" | "closed" = "here";

  const isClosed = () => state === "closed";

  return {
    async run(work) {
      if (!isClosed()) state = "away";
      screen.leave();
      input.leave();
      try {
        return await work();
      } finally {
        if (!isClosed()) {
          state = "here";
          input.enter();
          screen.enter();
        }
      }
    },
    isAway: () => state === "away",
    continued() {
      if (state !== "here") return;
      input.leave();
      input.enter();
      screen.enter();
    },
    close() {
      state = "closed";
      screen.close();
      input.close();
    },
  };
}
