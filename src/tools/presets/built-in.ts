import type { Tool } from "../../core/contract/tool.ts";
import { bash } from "../bash.ts";
import { browser } from "../browser.ts";
import { capturePane } from "../capture-pane.ts";
import { cronAdd } from "../cron-add.ts";
import { cronList } from "../cron-list.ts";
import { cronRemove } from "../cron-remove.ts";
import { edit } from "../edit.ts";
import { fetchUrl } from "../fetch-url.ts";
import { find } from "../find.ts";
import { grep } from "../grep.ts";
import { httpRequest } from "../http-request.ts";
import { jobs } from "../jobs.ts";
import { ls } from "../ls.ts";
import { memoryForget } from "../memory-forget.ts";
import { memoryRecall } from "../memory-recall.ts";
import { memoryStore } from "../memory-store.ts";
import { read } from "../read.ts";
import { readFile } from "../read-file.ts";
import { runShell } from "../run-shell.ts";
import { sendKeys } from "../send-keys.ts";
import { shell } from "../shell.ts";
import { time } from "../time.ts";
import { webFetch } from "../web-fetch.ts";
import { webSearch } from "../web-search.ts";
import { type Written, write } from "../write.ts";
import { fileReadWords, fileWriteWords, shellWords } from "./words.ts";

/** Options of the built-in tools, by name: each is the argument of the tool's factory. */
export interface ToolOptionsByName {
  readonly read?: Parameters<typeof read>[0];
  readonly write?: Parameters<typeof write>[0];
  readonly edit?: Parameters<typeof edit>[0];
  readonly bash?: Parameters<typeof bash>[0];
  readonly jobs?: Parameters<typeof jobs>[0];
  readonly grep?: Parameters<typeof grep>[0];
  readonly find?: Parameters<typeof find>[0];
  readonly ls?: Parameters<typeof ls>[0];
  readonly memory_store?: Parameters<typeof memoryStore>[0];
  readonly memory_recall?: Parameters<typeof memoryRecall>[0];
  readonly memory_forget?: Parameters<typeof memoryForget>[0];
  readonly cron_add?: Parameters<typeof cronAdd>[0];
  readonly cron_list?: Parameters<typeof cronList>[0];
  readonly cron_remove?: Parameters<typeof cronRemove>[0];
  readonly time?: Parameters<typeof time>[0];
  readonly web_search?: Parameters<typeof webSearch>[0];
  readonly web_fetch?: Parameters<typeof webFetch>[0];
  readonly fetch_url?: Parameters<typeof fetchUrl>[0];
  readonly http_request?: Parameters<typeof httpRequest>[0];
  readonly browser?: Parameters<typeof browser>[0];
  readonly shell?: Parameters<typeof shell>[0];
  readonly run_shell?: Parameters<typeof runShell>[0];
  readonly "capture-pane"?: Parameters<typeof capturePane>[0];
  readonly "send-keys"?: Parameters<typeof sendKeys>[0];
  readonly read_file?: Parameters<typeof readFile>[0];
  readonly write_file?: Parameters<typeof write>[0];
  readonly file_read?: Parameters<typeof read>[0];
  readonly file_write?: Parameters<typeof write>[0];
}

/** Factories of all built-in tools, by name: `BUILT_IN.read({})`. */
export const BUILT_IN = {
  read: (options) => read(options.read),
  write: (options) => write(options.write),
  edit: (options) => edit(options.edit),
  bash: (options) => bash(options.bash),
  jobs: (options) => jobs(options.jobs),
  grep: (options) => grep(options.grep),
  find: (options) => find(options.find),
  ls: (options) => ls(options.ls),
  memory_store: (options) => memoryStore(options.memory_store),
  memory_recall: (options) => memoryRecall(options.memory_recall),
  memory_forget: (options) => memoryForget(options.memory_forget),
  cron_add: (options) => cronAdd(options.cron_add),
  cron_list: (options) => cronList(options.cron_list),
  cron_remove: (options) => cronRemove(options.cron_remove),
  time: (options) => time(options.time),
  web_search: (options) => webSearch(options.web_search),
  web_fetch: (options) => webFetch(options.web_fetch),
  fetch_url: (options) => fetchUrl(options.fetch_url),
  http_request: (options) => httpRequest(options.http_request),
  browser: (options) => browser(options.browser),
  shell: (options) => shell({ phrase: shellWords, ...options.shell }),
  run_shell: (options) => runShell(options.run_shell),
  "capture-pane": (options) => capturePane(options["capture-pane"]),
  "send-keys": (options) => sendKeys(options["send-keys"]),
  // Names and texts of the preset `operator`.
  read_file: (options) => readFile(options.read_file),
  write_file: (options) => write({ name: "write_file", summary: summaryInBytes, ...options.write_file }),
  // Names and texts of the presets `default` and `assistant`.
  file_read: (options) => read({ name: "file_read", phrase: fileReadWords, ...options.file_read }),
  file_write: (options) =>
    write({ name: "file_write", phrase: fileWriteWords, summary: summaryInBytes, ...options.file_write }),
} satisfies { readonly [name: string]: (options: ToolOptionsByName) => Tool };

/** Tools that do the work of another tool, with names and texts of the seeds. Presets and toolsets can name them. */
export const SECOND_NAMES: ReadonlySet<string> = new Set([
  ...["read_file", "write_file", "file_read", "file_write"], // read, write
  ...["shell", "run_shell"], // bash
  "fetch_url", // web_fetch
]);

/** Tools that need a live terminal. */
export const TERMINAL_TOOLS: ReadonlySet<string> = new Set(["capture-pane", "send-keys"]);

export type BuiltInName = keyof typeof BUILT_IN;

/** Returns the tools with these names, in this order. */
export function builtIn(names: readonly BuiltInName[], options: ToolOptionsByName = {}): readonly Tool[] {
  return names.map((name) => BUILT_IN[name](options));
}

/** The result text of seeds 000 and 003. */
function summaryInBytes({ path, bytes }: Written): string {
  return `Wrote ${bytes} bytes to ${path}`;
}
