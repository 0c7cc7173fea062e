import type { Backend } from "../contract/backend.ts";
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
import { type TestRunner, registerSuite } from "./suite.ts";

/** What is tested, and how it is known to differ from this machine's backend. */
export interface BackendSuiteOptions extends Partial<Differences> {
  /** Heads the titles. */
  readonly name: string;
  /**
   * Gives a new backend at each call, all of them on one place: the same working directory and the same detached processes. Called by
   * the first test at the earliest; what it gave is closed by the suite.
   */
  open(): Promise<Backend>;
  /** True: it has `detached`. Default false: it must have none. */
  readonly detached?: boolean;
  /** Titles of tests that are not run, each with its reason, which is shown. */
  readonly skip?: { readonly [title: string]: string };
}

/**
 * Holds a backend to its contract (`Backend`), sentence by sentence. Everything is done through the backend, in a folder that is made in its
 * working directory and removed at the end, so that it does not matter where that is. There it needs a POSIX `sh` with the programs that
 * POSIX has.
 *
 * @throws Error at once when `skip` names a test that there is not.
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
