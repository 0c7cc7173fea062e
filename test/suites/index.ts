export { type BackendSuiteOptions, backendSuite } from "./backend-suite.ts";
export { type PluginSuiteOptions, pluginSuite } from "../../src/tools/plugins/suite.ts";
export { type StoreSuiteOptions, storeSuite } from "./store-suite.ts";
export type { TestRunner } from "../../src/core/util/test-cases.ts";
export { type TerminalSuiteOptions, terminalSuite } from "./terminal-suite.ts";
export { type ScriptedModel, type ScriptedReply, scriptedModel } from "./scripted-model.ts";
