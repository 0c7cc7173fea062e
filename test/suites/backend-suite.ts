import type { Backend } from "../../src/core/contract/backend.ts";
import { closing } from "./backend/closing.ts";
import { endings } from "./backend/endings.ts";
import { finding } from "./backend/finding.ts";
import { input } from "./backend/input.ts";
import { detachedLifetime, toolkitLifetime, withoutDetached } from "./backend/lifetimes.ts";
import { listing } from "./backend/listing.ts";
import { looking } from "./backend/looking.ts";
import { names } from "./backend/names.ts";
import { outputLogs } from "./backend/output-logs.ts";
import { paths } from "./backend/paths.ts";
import { reading } from "./backend/reading.ts";
import { realPaths } from "./backend/real-paths.ts";
import { removing } from "./backend/removing.ts";
import type { Cases, Differences } from "./backend/scene.ts";
import { searching } from "./backend/searching.ts";
import { starting } from "./backend/starting.ts";
import { stopping } from "./backend/stopping.ts";
import { streams } from "./backend/streams.ts";
import { writing } from "./backend/writing.ts";
import type { TestRunner } from "../../src/core/util/test-cases.ts";
import { registerSuite } from "./suite.ts";

/** The tested backend, and its known differences from this machine's backend. */
export interface BackendSuiteOptions extends Partial<Differences> {
  /** The prefix of the titles. */
  readonly name: string;
  /**
   * Returns a new backend for each call, all on the same target: the same working directory and the same detached
   * processes. Not called before the first test; the suite closes the backends.
   */
  open(): Promise<Backend>;
  /** Whether it has `detached`. Default false: it must not have it. */
  readonly detached?: boolean;
  /** Titles of tests to skip, each with its reason, which is shown. */
  readonly skip?: { readonly [title: string]: string };
}

/**
 * Tests a backend against its contract (`Backend`), sentence by sentence. Works only through the backend, in a folder
 * that it creates in the working directory and removes at the end, so the target may be anywhere. Needs a POSIX `sh`
 * and the POSIX programs on the target.
 *
 * @throws Error at once when `skip` names an unknown test.
 */
export function backendSuite(
  { name, open, signals = "name", ids = "process", detached: keepsProcesses = false, skip = {} }: BackendSuiteOptions,
  runner: TestRunner,
): void {
  const groups: readonly (readonly [title: string, cases: Cases])[] = [
    ["paths", paths],
    ["real paths", realPaths],
    ["looking at files", looking],
    ["reading", reading],
    ["writing", writing],
    ["names", names],
    ["listing", listing],
    ["removing", removing],
    ["starting processes", starting],
    ["how processes end", endings],
    ["what they write", streams],
    ["what they read", input],
    ["output logs", outputLogs],
    ["stopping", stopping],
    ["searching with rg", searching],
    ["walking with find", finding],
    ["processes that end with the backend", toolkitLifetime],
    ["detached processes", keepsProcesses ? detachedLifetime : withoutDetached],
    ["closing", closing],
  ];
  registerSuite({ name, groups, differences: { signals, ids }, skip, open }, runner);
}
