export { createToolkit } from "./toolkit.ts";
export type { ToolkitOptions } from "./toolkit-options.ts";
export { type TakeReadyOptions, takeReady } from "./engine/take-ready.ts";
export { withoutBoundaries } from "./engine/foreign-text.ts";
export { asContent, asOutcome, asText } from "./engine/result.ts";
export { definitions } from "./engine/definitions.ts";
export { toolset } from "./engine/toolset.ts";
export { defineTool } from "./contract/tool.ts";
export { standardSchema } from "./contract/schema.ts";
export { notice, text } from "./contract/content.ts";
export { ToolFailure } from "./contract/failure.ts";
export { memoryStore, type MemoryStoreOptions } from "./activity/memory-store.ts";
export { postgresStore, type PostgresStoreOptions } from "./activity/postgres-store.ts";
export { sqliteStore, type SqliteStoreOptions } from "./activity/sqlite-store.ts";
export {
  type CallMessage,
  type ReadThreadOptions,
  type ThreadMessage,
  type ThreadView,
  type ThreadViewOptions,
  createThreadView,
  findToolMessage,
  followThread,
  readThread,
} from "./activity/messages.ts";
export { deleteToolActivityFields, updateToolActivity, updateToolActivityData } from "./activity/changes.ts";
export { type ToolActivity, type ToolMessage, foldMessage } from "./activity/fold.ts";
export {
  DEFAULT_MAX_BYTES,
  DEFAULT_MAX_LINES,
  type Truncation,
  truncateHead,
  truncateTail,
} from "./output/truncate.ts";
export type { MaskOptions } from "./output/mask.ts";
export { formatSize } from "./output/size.ts";
export { type LocalOptions, local } from "./backends/local/backend.ts";
export type { SandboxOptions } from "./backends/sandbox/options.ts";
export { sandbox } from "./backends/sandbox/sandbox.ts";
export type { AlarmOptions } from "./activity/alarms.ts";
export { DEFAULT_FORBIDDEN_PATHS, type PolicySettings } from "./policy/policy-settings.ts";
export { describeCall } from "./policy/describe.ts";
export { type PluginOptions, plugin } from "./plugins/plugin.ts";
export { type PresetName, PRESETS } from "./tools/presets/presets.ts";
export type { ToolChoice } from "./tools/presets/choose.ts";
export type { ToolOptionsByName } from "./tools/presets/built-in.ts";
export { bash } from "./tools/bash.ts";
export { capturePane } from "./tools/capture-pane.ts";
export { edit } from "./tools/edit.ts";
export { fetchUrl } from "./tools/fetch-url.ts";
export { find } from "./tools/find.ts";
export { httpRequest } from "./tools/http-request.ts";
export { jobs } from "./tools/jobs.ts";
export { grep } from "./tools/grep.ts";
export { ls } from "./tools/ls.ts";
export { memoryForget } from "./tools/memory-forget.ts";
export { memoryRecall } from "./tools/memory-recall.ts";
export { memoryStore as memoryStoreTool } from "./tools/memory-store.ts";
export { read } from "./tools/read.ts";
export { readFile } from "./tools/read-file.ts";
export { type RunShellOptions, runShell } from "./tools/run-shell.ts";
export { sendKeys } from "./tools/send-keys.ts";
export { type ShellOptions, shell } from "./tools/shell.ts";
export { time } from "./tools/time.ts";
export { browser } from "./tools/browser.ts";
export { webFetch } from "./tools/web-fetch.ts";
export { webSearch } from "./tools/web-search.ts";
export { write } from "./tools/write.ts";
export type * from "./contract/activity.ts";
export type * from "./contract/backend.ts";
export type * from "./contract/call.ts";
export type * from "./contract/containment.ts";
export type * from "./contract/decision.ts";
export type * from "./contract/identity.ts";
export type * from "./contract/job.ts";
export type * from "./contract/content.ts";
export type * from "./contract/effect.ts";
export type * from "./contract/fetch.ts";
export type * from "./contract/message.ts";
export type * from "./contract/parked.ts";
export type * from "./contract/policy.ts";
export type * from "./contract/question.ts";
export type * from "./contract/result.ts";
export type * from "./contract/schema.ts";
export type * from "./contract/search.ts";
export type * from "./contract/target.ts";
export type * from "./contract/tool-source.ts";
export type * from "./contract/tool.ts";
export type * from "./contract/toolkit.ts";
