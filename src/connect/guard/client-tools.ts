import type { ClientName } from "./clients.ts";

/**
 * What a tool of a client touches. The texts are names of its arguments, separated by spaces where several have the
 * same meaning. `others` names those that touch nothing: an argument that the entry does not name refuses the call.
 */
export type Touches =
  /** Nothing that the guard judges: a list of things to do, or a sub-agent, whose own calls are judged. */
  { readonly does: "nothing" } | (TouchesBy & { readonly others?: string });

type TouchesBy =
  /** Runs a shell command. `outside`, if true, asks for no sandbox. */
  | { readonly does: "run"; readonly command: string; readonly folder?: string; readonly outside?: string }
  /** Reads files, or lists folders. Without a path, a list is of the working directory. */
  | { readonly does: "read" | "list" | "write"; readonly paths: string }
  | { readonly does: "patch"; readonly text: string }
  /** Searches lines in the files of a folder. `files` is a glob; `hidden`: names with a dot are searched too. */
  | { readonly does: "grep"; readonly folder: string; readonly files: string; readonly hidden: boolean }
  /** Lists the names that a glob matches. */
  | { readonly does: "glob"; readonly folder: string; readonly patterns: string }
  /** Reads all files that globs match. */
  | { readonly does: "gather"; readonly patterns: string }
  | { readonly does: "fetch"; readonly urls: string }
  | { readonly does: "search"; readonly query: string };

type Tools = { readonly [tool: string]: Touches };

const NOTHING = { does: "nothing" } as const;

/** Returns an entry for each of these tools, which touch nothing. */
function nothing<const Name extends string>(...names: readonly Name[]): { readonly [name in Name]: typeof NOTHING } {
  return Object.fromEntries(names.map((name) => [name, NOTHING])) as { readonly [name in Name]: typeof NOTHING };
}

/** Claude Code 2.1: `sdk-tools.d.ts` in its package. */
export const CLAUDE_TOOLS = {
  Bash: {
    ...{ does: "run", command: "command", outside: "dangerouslyDisableSandbox" },
    others: "timeout description run_in_background",
  },
  Monitor: { does: "run", command: "command", others: "description timeout_ms persistent" },
  Read: { does: "read", paths: "file_path", others: "offset limit pages allow_large" },
  NotebookRead: { does: "read", paths: "notebook_path", others: "cell_id" },
  LS: { does: "list", paths: "path", others: "ignore" },
  Glob: { does: "glob", folder: "path", patterns: "pattern" },
  Grep: {
    ...{ does: "grep", folder: "path", files: "glob", hidden: true },
    others: "pattern output_mode -A -B -C -n -i -o context type head_limit offset multiline",
  },
  Write: { does: "write", paths: "file_path", others: "content" },
  Edit: { does: "write", paths: "file_path", others: "old_string new_string replace_all" },
  MultiEdit: { does: "write", paths: "file_path", others: "edits" },
  NotebookEdit: { does: "write", paths: "notebook_path", others: "cell_id new_source cell_type edit_mode" },
  WebFetch: { does: "fetch", urls: "url", others: "prompt offset" },
  WebSearch: { does: "search", query: "query", others: "allowed_domains blocked_domains" },
  ...nothing("Task", "Agent", "TodoWrite", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList", "TaskOutput", "TaskStop"),
  ...nothing("BashOutput", "KillShell", "AskUserQuestion", "ToolSearch", "EnterPlanMode", "ExitPlanMode", "Skill"),
  ...nothing("SlashCommand"),
} as const satisfies Tools;

/** Codex 0.171: developers.openai.com/codex/hooks. A hook gets a patch under three names. */
const CODEX_TOOLS: Tools = {
  Bash: { does: "run", command: "command", folder: "workdir", others: "timeout_ms description" },
  apply_patch: { does: "patch", text: "command" },
  Edit: { does: "patch", text: "command" },
  Write: { does: "patch", text: "command" },
  view_image: { does: "read", paths: "path", others: "detail" },
  web_search: { does: "search", query: "query" },
  ...nothing("update_plan"),
};

const GEMINI_IGNORE = "respect_git_ignore respect_gemini_ignore file_filtering_options";

/** Gemini CLI 0.61: `docs/tools` and the declarations in its package. Every tool has `wait_for_previous`. */
const GEMINI_TOOLS: Tools = waiting({
  run_shell_command: {
    ...{ does: "run", command: "command", folder: "dir_path directory" },
    others: "description is_background delay_ms",
  },
  read_file: { does: "read", paths: "file_path absolute_path", others: "start_line end_line offset limit" },
  read_many_files: {
    ...{ does: "gather", patterns: "include paths" },
    others: "exclude recursive useDefaultExcludes file_filtering_options",
  },
  list_directory: { does: "list", paths: "dir_path path", others: `ignore ${GEMINI_IGNORE}` },
  glob: {
    ...{ does: "glob", folder: "dir_path path", patterns: "pattern" },
    others: `case_sensitive ${GEMINI_IGNORE}`,
  },
  grep_search: geminiGrep("include_pattern include"),
  search_file_content: geminiGrep("include include_pattern"),
  write_file: { does: "write", paths: "file_path", others: "content" },
  replace: {
    ...{ does: "write", paths: "file_path" },
    others: "instruction old_string new_string allow_multiple expected_replacements",
  },
  web_fetch: { does: "fetch", urls: "url prompt" },
  google_web_search: { does: "search", query: "query" },
  ...nothing("write_todos", "ask_user", "activate_skill", "enter_plan_mode", "exit_plan_mode", "update_topic"),
  ...nothing("complete_task", "get_internal_docs"),
});

function geminiGrep(files: string): Touches {
  const lines = "names_only case_sensitive fixed_strings context after before";
  return {
    ...{ does: "grep", folder: "dir_path path", files, hidden: false },
    others: `pattern exclude_pattern ${lines} no_ignore max_matches_per_file total_max_matches`,
  };
}

function waiting(tools: Tools): Tools {
  const waits = (one: Touches): Touches =>
    one.does === "nothing" ? one : { ...one, others: `${one.others ?? ""} wait_for_previous`.trim() };
  return Object.fromEntries(Object.entries(tools).map(([name, one]) => [name, waits(one)]));
}

/** Cursor 2: https://cursor.com/docs/agent/hooks. */
const CURSOR_TOOLS: Tools = {
  Shell: {
    ...{ does: "run", command: "command", folder: "working_directory cwd" },
    others: "description explanation timeout block_until_ms is_background",
  },
  Read: { does: "read", paths: "file_path target_file path", others: "offset limit explanation" },
  Write: { does: "write", paths: "file_path path", others: "content contents explanation" },
  Edit: { does: "write", paths: "file_path path", others: "edits old_string new_string replace_all explanation" },
  StrReplace: { does: "write", paths: "file_path path", others: "old_string new_string replace_all explanation" },
  Delete: { does: "write", paths: "file_path path", others: "explanation" },
  Grep: {
    ...{ does: "grep", folder: "path", files: "glob", hidden: true },
    others: "pattern output_mode -A -B -C -i type head_limit offset multiline explanation",
  },
  Glob: { does: "glob", folder: "target_directory path", patterns: "glob_pattern pattern", others: "explanation" },
  LS: { does: "list", paths: "target_directory path", others: "ignore_globs explanation" },
  WebFetch: { does: "fetch", urls: "url", others: "explanation" },
  WebSearch: { does: "search", query: "search_term query", others: "explanation" },
  ...nothing("Task", "TodoWrite", "AskQuestion"),
};

/** opencode 1.18: the schemas in its program. */
const OPENCODE_TOOLS: Tools = {
  bash: { does: "run", command: "command", folder: "workdir", others: "timeout description" },
  read: { does: "read", paths: "filePath", others: "offset limit" },
  write: { does: "write", paths: "filePath", others: "content" },
  edit: { does: "write", paths: "filePath", others: "oldString newString replaceAll" },
  multiedit: { does: "write", paths: "filePath", others: "edits" },
  apply_patch: { does: "patch", text: "patchText" },
  patch: { does: "patch", text: "patchText" },
  glob: { does: "glob", folder: "path", patterns: "pattern" },
  grep: { does: "grep", folder: "path", files: "include", hidden: true, others: "pattern" },
  list: { does: "list", paths: "path", others: "ignore" },
  webfetch: { does: "fetch", urls: "url", others: "format timeout" },
  websearch: { does: "search", query: "query", others: "numResults livecrawl type contextMaxCharacters" },
  codesearch: { does: "search", query: "query", others: "tokensNum" },
  ...nothing("task", "todowrite", "todoread", "question", "skill", "plan_exit", "invalid"),
};

/** The clients' own tools. Tools that are not listed are judged as tools of an unknown program. */
const CLIENT_TOOLS: { readonly [name in ClientName]: Tools } = {
  "claude-code": CLAUDE_TOOLS,
  codex: CODEX_TOOLS,
  gemini: GEMINI_TOOLS,
  cursor: CURSOR_TOOLS,
  opencode: OPENCODE_TOOLS,
};

/** Returns what a tool of a client touches; `undefined` for a tool that is not in the table. */
export function touchesOf(client: ClientName, tool: string): Touches | undefined {
  const tools = CLIENT_TOOLS[client];
  return Object.hasOwn(tools, tool) ? tools[tool] : undefined;
}
