import { ToolFailure } from "../../contract/failure.ts";

/** What is heard of one command. Each happens once at most. */
export interface Story {
  /** Its process id there; or why it could not be started. */
  readonly begun: Promise<number | ToolFailure>;
  /** Its exit code, as a shell tells it; `undefined`: the runner has gone without telling. */
  readonly exited: Promise<number | undefined>;
  /** What it wrote before its end has been passed on. */
  readonly settled: Promise<void>;
  /** It was stopped, with all that it had started; "left": some of that goes on, since nothing ends it. */
  readonly stopped: Promise<"all" | "left">;
  heard(event: string, words: string): void;
}

export function createStory(): Story {
  const begun = later<number | ToolFailure>();
  const exited = later<number | undefined>();
  const settled = later<void>();
  const stopped = later<"all" | "left">();
  return {
    begun: begun.promise,
    exited: exited.promise,
    settled: settled.promise,
    stopped: stopped.promise,
    heard(event, words) {
      if (event === "started") begun.resolve(Number(words));
      if (event === "failed") begun.resolve(new ToolFailure(REASONS[words] ?? words));
      if (event === "exited") exited.resolve(/^\d+$/.test(words) ? Number(words) : undefined);
      if (event === "gone") exited.resolve(undefined);
      if (event === "settled") settled.resolve();
      if (event === "stopped") stopped.resolve(words === "left" ? "left" : "all");
    },
  };
}

/** By the words of the starter. */
const REASONS: { readonly [words: string]: string | undefined } = {
  folder: "there is no such folder to start in",
  closed: "the folder to start in may not be entered",
  program: "no such program",
  executable: "it is not executable",
};

function later<T>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let settle: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => (settle = resolve));
  return { promise, resolve: (value) => settle(value) };
}
