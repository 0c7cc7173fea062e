export { type BackendSuiteOptions, type TestRunner, backendSuite } from "./backend-suite.ts";
