export { type BackendSuiteOptions, backendSuite } from "./backend-suite.ts";
export type { TestRunner } from "./suite.ts";
export { type TerminalSuiteOptions, terminalSuite } from "./terminal-suite.ts";
