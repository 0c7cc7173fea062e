import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../core/util/errors.ts";

/** The state of one thing on this machine, and what to type if it is not right. */
export type Finding =
  | { readonly status: "ok"; readonly detail: string }
  | { readonly status: "missing" | "broken"; readonly detail: string; readonly fix: string };

/** What a check is about, in the order of the report. */
export type CheckGroup = "machine" | "state" | "settings" | "work";

/** One check. To add one, add an entry to the file of its group. */
export interface Check {
  readonly name: string;
  readonly group: CheckGroup;
  /** Whether Handrail needs what is checked. If false, it works without it, with less. */
  readonly required: boolean;
  /** What to type when the check itself fails. */
  readonly fix: string;
  /** How long it may take, in milliseconds. Default: the `deadlineMs` of `runChecks`. */
  readonly deadlineMs?: number;
  /**
   * Performs the check on the real system. If it throws or hangs, its status is "broken". The signal fires at the
   * deadline.
   */
  run(signal: AbortSignal): Promise<Finding>;
}

/** A finding with the name of its check. */
export type Checked = Finding & Pick<Check, "name" | "group" | "required"> & { readonly timedOut: boolean };

/**
 * Runs the checks concurrently, each with a deadline in milliseconds. Returns findings in the given order; never
 * rejects.
 */
export async function runChecks(checks: readonly Check[], deadlineMs = 10_000): Promise<readonly Checked[]> {
  return await Promise.all(checks.map((check) => runCheck({ deadlineMs, ...check })));
}

async function runCheck({ deadlineMs, run, fix, ...check }: Check & { deadlineMs: number }): Promise<Checked> {
  const { name, group, required } = check;
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<Checked>((resolve) => {
    timer = setTimeout(() => {
      const detail = `no answer within ${deadlineMs / 1_000} s`;
      resolve({ name, group, required, status: "broken", detail, fix, timedOut: true });
      controller.abort(new Error("the check took too long"));
    }, deadlineMs);
  });
  const looking = Promise.resolve()
    .then(() => run(controller.signal))
    .catch((error: unknown): Finding => ({ status: "broken", detail: messageOf(error), fix }))
    .then((finding): Checked => ({ name, group, required, ...finding, timedOut: false }));
  try {
    return await Promise.race([looking, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

/** Gives the work an empty folder, which is removed afterwards. */
export async function inTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "handrail-doctor-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
