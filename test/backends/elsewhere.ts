// A toolkit that works on another system, as a model uses it.
import { readFileSync, readdirSync } from "node:fs";
import type { Backend } from "../../src/contract/backend.ts";
import type { Toolkit } from "../../src/contract/toolkit.ts";
import { asText } from "../../src/engine/result.ts";
import type { ToolkitOptions } from "../../src/toolkit.ts";
import { until } from "../support/until.ts";
import { toolkitWith } from "../support/workspace.ts";

/** So long a call may take at most that has to notice that something is wrong, and to do something about it. */
const BOUND_MS = 25_000;

export interface Hands {
  readonly toolkit: Toolkit;
  /** Makes a call, to its end or that of the time; what the model reads. */
  call(name: string, input: unknown): Promise<string>;
}

/** Every tool on the backend, with a person who allows all that is asked. Closed when the test file is done. */
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

/** What the first call reads that works again. Who asks in the very moment in which it did not work yet is told so. */
export async function workingAgain(call: Hands["call"]): Promise<string> {
  let text = "";
  await until("a call works again", async () =>
    (text = await call("bash", { command: "echo here" })).startsWith("here\n"),
  );
  return text;
}

/** Rejects when it takes longer than whatever it is that goes wrong here may take. */
export function within<T>(what: string, done: Promise<T>, milliseconds = BOUND_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} was not done within ${milliseconds} ms`)), milliseconds);
  });
  return Promise.race([done, late]).finally(() => clearTimeout(timer));
}

/** Numbers of the processes here whose words fit. */
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
