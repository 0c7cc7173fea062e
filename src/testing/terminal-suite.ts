import type { Backend } from "../contract/backend.ts";
import { type TestRunner, registerSuite } from "./suite.ts";
import { looking } from "./terminal/looking.ts";
import { results } from "./terminal/results.ts";
import { seen } from "./terminal/seen.ts";
import { sharing } from "./terminal/sharing.ts";
import { typing } from "./terminal/typing.ts";
import { waiting } from "./terminal/waiting.ts";

/** Which live terminal is tested. */
export interface TerminalSuiteOptions {
  /** Heads the titles. */
  readonly name: string;
  /** Gives a new backend at each call, all of them on one place and in one session. Called by the first test at the earliest; what it gave is closed by the suite. */
  open(): Promise<Backend>;
  /** Titles of tests that are not run, each with its reason, which is shown. */
  readonly skip?: { readonly [title: string]: string };
}

/**
 * Holds the terminal of a backend to its contract (`Terminal`, and what `Command` and `Process` say of one): what a person sees, that results do not depend on it, what is
 * typed, what waits. Everything is done through the backend, so that it does not matter where that is. `backendSuite` is for all the rest.
 *
 * @throws Error at once when `skip` names a test that there is not.
 */
export function terminalSuite({ name, open, skip = {} }: TerminalSuiteOptions, runner: TestRunner): void {
  const groups = [
    ["what a person sees", seen],
    ["results", results],
    ["what is typed", typing],
    ["waiting for a person", waiting],
    ["looking at a pane", looking],
    ["several in one session", sharing],
  ] as const;
  registerSuite({ name, groups, differences: { signals: "code", ids: "process" }, skip, open }, runner);
}
