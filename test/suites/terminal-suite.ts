import type { Backend } from "../../src/core/contract/backend.ts";
import type { TestRunner } from "../../src/core/util/test-cases.ts";
import { registerSuite } from "./suite.ts";
import { looking } from "./terminal/looking.ts";
import { results } from "./terminal/results.ts";
import { seen } from "./terminal/seen.ts";
import { sharing } from "./terminal/sharing.ts";
import { typing } from "./terminal/typing.ts";
import { waiting } from "./terminal/waiting.ts";

/** The tested terminal. */
export interface TerminalSuiteOptions {
  /** The prefix of the titles. */
  readonly name: string;
  /** Returns a new backend for each call, all on one target and session. The suite closes them. */
  open(): Promise<Backend>;
  /** Titles of tests to skip, each with its reason, which is shown. */
  readonly skip?: { readonly [title: string]: string };
}

/**
 * Tests the terminal of a backend against its contract (`Terminal`, and the parts of `Command` and `Process` about
 * terminals): what people see, that results do not depend on it, typing, and waiting for input. Works only through the
 * backend, so the target may be anywhere. `backendSuite` tests everything else.
 *
 * @throws Error at once when `skip` names an unknown test.
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
