import { later } from "../../util/promises.ts";

/** The reports about one command. Each comes at most once. */
export interface CommandProgress {
  /** Resolves to its PID on the target. */
  readonly begun: Promise<number>;
  /** Resolves to the reason for which it cannot be started (`unreadyFailure`). */
  readonly unready: Promise<number>;
  /** Its exit code, as a shell reports it; `undefined` if the runner ended without a report. */
  readonly exited: Promise<number | undefined>;
  /** Resolves when the output before its end has been copied. */
  readonly settled: Promise<void>;
  /** Resolves when it was stopped with its children. "left": some could not be ended. */
  readonly stopped: Promise<"all" | "left">;
  heard(event: string, words: string): void;
}

export function createProgress(): CommandProgress {
  const [begun, unready] = [later<number>(), later<number>()];
  const exited = later<number | undefined>();
  const settled = later();
  const stopped = later<"all" | "left">();
  return {
    begun: begun.promise,
    unready: unready.promise,
    exited: exited.promise,
    settled: settled.promise,
    stopped: stopped.promise,
    heard(event, words) {
      if (event === "started") begun.resolve(Number(words));
      if (event === "unready") unready.resolve(Number(words));
      if (event === "exited") exited.resolve(/^\d+$/.test(words) ? Number(words) : undefined);
      if (event === "gone") exited.resolve(undefined);
      if (event === "settled") settled.resolve();
      if (event === "stopped") stopped.resolve(words === "left" ? "left" : "all");
    },
  };
}
