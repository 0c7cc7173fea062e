export { createToolkit } from "./app/toolkit.ts";
export type { ToolkitOptions } from "./app/toolkit-options.ts";
export { type TakeReadyOptions, takeReady } from "./core/call/take-ready.ts";
export { withoutBoundaries } from "./core/call/foreign-text.ts";
export { asContent, asOutcome, asText } from "./core/call/result.ts";
export { definitions } from "./core/call/definitions.ts";
export { toolset } from "./core/call/toolset.ts";
export { defineTool } from "./core/contract/tool.ts";
export { standardSchema } from "./core/contract/schema.ts";
export { notice, text } from "./core/contract/content.ts";
export { ToolFailure } from "./core/contract/failure.ts";
export { memoryStore, type MemoryStoreOptions } from "./record/activity/memory-store.ts";
export { postgresStore, type PostgresStoreOptions } from "./record/activity/postgres-store.ts";
export { sqliteStore, type SqliteStoreOptions } from "./record/activity/sqlite-store.ts";
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
} from "./record/activity/messages.ts";
export { deleteToolActivityFields, updateToolActivity, updateToolActivityData } from "./record/activity/changes.ts";
export { type ToolActivity, type ToolMessage, foldMessage } from "./record/activity/fold.ts";
export {
  DEFAULT_MAX_BYTES,
  DEFAULT_MAX_LINES,
  type Truncation,
  truncateHead,
  truncateTail,
} from "./core/output/truncate.ts";
export type { MaskOptions } from "./core/output/mask.ts";
export { formatSize } from "./core/output/size.ts";
export { type LocalOptions, local } from "./machine/local/backend.ts";
export type { SandboxOptions } from "./machine/sandbox/options.ts";
export { sandbox } from "./machine/sandbox/sandbox.ts";
export type { AlarmOptions } from "./record/activity/alarms.ts";
export { DEFAULT_FORBIDDEN_PATHS, type PolicySettings } from "./policy/policy-settings.ts";
export { describeCall } from "./policy/describe.ts";
export { type PluginOptions, plugin } from "./tools/plugins/plugin.ts";
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
export type * from "./core/contract/activity.ts";
export type * from "./core/contract/backend.ts";
export type * from "./core/contract/call.ts";
export type * from "./core/contract/containment.ts";
export type * from "./core/contract/decision.ts";
export type * from "./core/contract/identity.ts";
export type * from "./core/contract/job.ts";
export type * from "./core/contract/content.ts";
export type * from "./core/contract/effect.ts";
export type * from "./core/contract/fetch.ts";
export type * from "./core/contract/message.ts";
export type * from "./core/contract/parked.ts";
export type * from "./core/contract/policy.ts";
export type * from "./core/contract/question.ts";
export type * from "./core/contract/result.ts";
export type * from "./core/contract/schema.ts";
export type * from "./core/contract/search.ts";
export type * from "./core/contract/target.ts";
export type * from "./core/contract/tool-source.ts";
export type * from "./core/contract/tool.ts";
export type * from "./core/contract/toolkit.ts";
