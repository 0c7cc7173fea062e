import type { Content } from "../../core/contract/content.ts";

/** What the person can do at any time, besides sending messages. */
export interface Actions {
  /**
   * Passes a message to the model after the running call. Returns a function that takes it back, which returns false
   * when the model has it.
   */
  readonly steer: (content: readonly Content[]) => () => boolean;
  /** Stops the turn, and the person's own calls. */
  readonly stop: () => void;
  /** Leaves, unless jobs run and the person stays. */
  readonly leave: () => void;
  /** Leaves at once, whatever runs. */
  readonly leaveNow: () => void;
  /** Runs a command during a turn. Resolves to the text for the person; never rejects. */
  readonly command: (line: string) => Promise<string>;
  /** Runs the person's own command line as a call. */
  readonly shell: (command: string) => void;
  /** Goes back to an earlier message. */
  readonly rewind: () => void;
  /** Returns what leaving would stop, a line each. */
  readonly running: () => Promise<readonly string[]>;
}
