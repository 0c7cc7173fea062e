import { messageOf } from "../../util/errors.ts";

/** How one thing on this machine is, and what to type where it is not right. */
export type Finding =
  | { readonly status: "ok"; readonly detail: string }
  | { readonly status: "missing" | "broken"; readonly detail: string; readonly fix: string };

/** One thing to look at. To add one: a file beside this, and a line in checks.ts. */
export interface Check {
  readonly name: string;
  /** False: Handrail works without it, only less well. */
  readonly required: boolean;
  /** What to type when it cannot even be looked at. */
  readonly fix: string;
  /** How long it may take. Default: as long as any other. */
  readonly deadlineMs?: number;
  /** Looks, really. May throw, and may hang: then it is broken. The signal fires at the deadline. */
  run(signal: AbortSignal): Promise<Finding>;
}

/** A finding with what it is about. */
export type Checked = Finding & Pick<Check, "name" | "required"> & { readonly timedOut: boolean };

/** Runs the checks side by side, each for at most so long. In the order given; never rejects. */
export async function runChecks(checks: readonly Check[], deadlineMs = 10_000): Promise<readonly Checked[]> {
  return await Promise.all(checks.map((check) => runCheck({ deadlineMs, ...check })));
}

async function runCheck({ name, required, fix, deadlineMs, run }: Check & { deadlineMs: number }): Promise<Checked> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<Checked>((resolve) => {
    timer = setTimeout(() => {
      resolve({
        name,
        required,
        status: "broken",
        detail: `no answer within ${deadlineMs / 1_000} s`,
        fix,
        timedOut: true,
      });
      controller.abort(new Error("the check took too long"));
    }, deadlineMs);
  });
  const looking = Promise.resolve()
    .then(() => run(controller.signal))
    .catch((error: unknown): Finding => ({ status: "broken", detail: messageOf(error), fix }))
    .then((finding): Checked => ({ name, required, ...finding, timedOut: false }));
  try {
    return await Promise.race([looking, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
