import { later } from "../../core/util/promises.ts";

export type CommandProgress = ReturnType<typeof createProgress>;

/** Creates the reports about one command. Each comes at most once. */
export function createProgress() {
  const [begun, unready] = [later<number>(), later<number>()];
  const exited = later<number | undefined>();
  const settled = later();
  const stopped = later<"all" | "left">();
  return {
    /** Resolves to the command's PID on the target. */
    begun: begun.promise,
    /** Resolves to the reason for which it cannot be started (`unreadyFailure`). */
    unready: unready.promise,
    /** The command's exit code, as a shell reports it; `undefined` if the runner ended without a report. */
    exited: exited.promise,
    /** Resolves when the output before its end has been copied. */
    settled: settled.promise,
    /** Resolves when the command was stopped with its children. "left": some processes could not be ended. */
    stopped: stopped.promise,
    heard(event: string, words: string) {
      if (event === "started") begun.resolve(Number(words));
      if (event === "unready") unready.resolve(Number(words));
      if (event === "exited") exited.resolve(/^\d+$/.test(words) ? Number(words) : undefined);
      if (event === "gone") exited.resolve(undefined);
      if (event === "settled") settled.resolve();
      if (event === "stopped") stopped.resolve(words === "left" ? "left" : "all");
    },
  };
}
