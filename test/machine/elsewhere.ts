// A toolkit on a remote target, as a model uses it.
import { readFileSync, readdirSync } from "node:fs";
import type { Backend } from "../../src/core/contract/backend.ts";
import type { Toolkit } from "../../src/core/contract/toolkit.ts";
import { asText } from "../../src/core/call/result.ts";
import type { ToolkitOptions } from "../../src/app/toolkit-options.ts";
import { until } from "../support/until.ts";
import { toolkitWith } from "../support/workspace.ts";

/** The maximum duration of a call that must notice a fault and react to it, in milliseconds. */
const BOUND_MS = 25_000;

export interface Hands {
  readonly toolkit: Toolkit;
  /** Makes a call, and returns what the model reads. Limited in time. */
  call(name: string, input: unknown): Promise<string>;
}

/** Opens all tools on the backend. Everything is approved. Closed at the end of the test file. */
export async function handsOn(backend: Backend, options: ToolkitOptions = {}): Promise<Hands> {
  const toolkit = await toolkitWith({
    target: backend,
    preset: "all",
    policy: { autonomy: "full" },
    approver: async () => ({ answer: "once" }),
    ...options,
  });
  return {
    toolkit,
    call: async (name, input) =>
      asText(await within(`${name} ${JSON.stringify(input)}`, toolkit.call({ name, input }))),
  };
}

/** Returns the text of the first call that works again. Calls that are made just before report the fault. */
export async function workingAgain(call: Hands["call"]): Promise<string> {
  let text = "";
  await until("a call works again", async () =>
    (text = await call("bash", { command: "echo here" })).startsWith("here\n"),
  );
  return text;
}

/** Rejects when the work takes longer than any fault here may take. */
export function within<T>(what: string, done: Promise<T>, milliseconds = BOUND_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} was not done within ${milliseconds} ms`)), milliseconds);
  });
  return Promise.race([done, late]).finally(() => clearTimeout(timer));
}

/** Returns the ids of local processes whose command line matches. */
export function processesHere(fits: (words: readonly string[]) => boolean): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => fits(wordsOf(pid)));
}

function wordsOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return []; // it has ended
  }
}
