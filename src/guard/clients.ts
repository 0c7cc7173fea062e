import type { Effect } from "../contract/effect.ts";

/** Other vendors' agents whose tool calls Handrail can judge. */
export const CLIENTS = ["claude-code", "codex", "gemini", "cursor", "opencode"] as const;
export type ClientName = (typeof CLIENTS)[number];

/** What a client's hook reports, in one form for all clients. */
export type Happening = {
  /** The client's id of the session. */
  readonly session: string;
  /** The folder in which the call runs, and the project's folder, absolute. */
  readonly cwd: string;
  readonly project: string;
} & (
  | { readonly phase: "prompt"; readonly text: string }
  | {
      readonly phase: "before" | "after";
      /** The client's id of the call. Absent if the client gives no id. */
      readonly id?: string;
      readonly tool: string;
      readonly input: ToolInput;
      /** For "after": what the call returned, as text. */
      readonly result?: string;
      readonly failed?: boolean;
    }
);

export interface ToolInput {
  readonly [name: string]: unknown;
}

/** The answer to a call that is about to run. `input` replaces the arguments. */
export type Verdict =
  /** Nothing to judge: the client does what it would do without the guard. */
  | { readonly verdict: "pass" }
  | { readonly verdict: "allow"; readonly input?: ToolInput }
  /** The client asks its person. Only for clients that `asks`. */
  | { readonly verdict: "ask"; readonly reason: string; readonly input?: ToolInput }
  | { readonly verdict: "deny"; readonly reason: string };

/** A verdict that the client gets. */
export type Judged = Exclude<Verdict, { readonly verdict: "pass" }>;

/**
 * What a tool of a client touches. The words after the kind are the names of its arguments. "none": nothing that the
 * guard judges, for example a list of things to do, or a sub-agent, whose own calls are judged.
 */
type Touches =
  | readonly ["none"]
  | readonly ["exec", command: string, cwd?: string]
  | readonly ["read" | "write" | "delete", ...path: string[]]
  | readonly ["patch", text: string]
  | readonly ["fetch", ...url: string[]]
  | readonly ["search", ...query: string[]];

export interface Client {
  /** For people: "Claude Code". */
  readonly title: string;
  /** The client's own tools. Tools that are not listed are judged as tools of an unknown program. */
  readonly tools: { readonly [tool: string]: Touches };
  /** Whether the client can ask its person when a hook requests it. */
  readonly asks: boolean;
  /** Whether a hook can replace the arguments of a call. */
  readonly rewrites: boolean;
  /** The origin of the client's search engine, for the policy. */
  readonly searches: string;
  /** Returns an event about a shell command, for `handrail guard test`. */
  example(command: string, cwd: string): ToolInput;
  /** Reads an event. `undefined`: the guard does not handle it. Throws when it is not an event of this client. */
  read(event: ToolInput, env: NodeJS.ProcessEnv): Happening | undefined;
  /** Returns what the hook prints. */
  reply(answer: Judged): string;
}

const NONE = ["none"] as const;

/** Claude Code 2.1: https://code.claude.com/docs/en/hooks and /settings (tools available to Claude). */
export const CLAUDE_TOOLS = {
  ...{ Bash: ["exec", "command"], PowerShell: ["exec", "command"], Monitor: ["exec", "command"] },
  ...{ Read: ["read", "file_path"], Glob: ["read", "path"], Grep: ["read", "path"], LS: ["read", "path"] },
  ...{ Write: ["write", "file_path"], Edit: ["write", "file_path"], MultiEdit: ["write", "file_path"] },
  ...{ NotebookEdit: ["write", "notebook_path"], NotebookRead: ["read", "notebook_path"] },
  ...{ WebFetch: ["fetch", "url"], WebSearch: ["search", "query"] },
  ...{ Task: NONE, Agent: NONE, TodoWrite: NONE, TaskCreate: NONE, TaskUpdate: NONE, TaskGet: NONE, TaskList: NONE },
  ...{ TaskOutput: NONE, TaskStop: NONE, BashOutput: NONE, KillShell: NONE, AskUserQuestion: NONE, ToolSearch: NONE },
  ...{ EnterPlanMode: NONE, ExitPlanMode: NONE, Skill: NONE, SlashCommand: NONE },
} as const satisfies Client["tools"];

/** What Claude Code and codex have in common: codex took over its format (developers.openai.com/codex/hooks). */
function claudeEvents(event: ToolInput, project: string | undefined): Happening | undefined {
  const cwd = text(event, "cwd");
  const where = { session: text(event, "session_id"), cwd, project: project ?? cwd };
  switch (text(event, "hook_event_name")) {
    case "UserPromptSubmit":
      return { ...where, phase: "prompt", text: text(event, "prompt") };
    case "PreToolUse":
      return { ...where, phase: "before", ...callOf(event, "tool_use_id") };
    case "PostToolUse":
      return { ...where, phase: "after", ...callOf(event, "tool_use_id"), result: asText(event["tool_response"]) };
    case "PostToolUseFailure":
      return {
        ...where,
        phase: "after",
        ...callOf(event, "tool_use_id"),
        result: asText(event["error"]),
        failed: true,
      };
    default:
      return undefined;
  }
}

function claudeReply(answer: Judged): string {
  const { verdict } = answer;
  return json({
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: verdict,
      ...("reason" in answer && { permissionDecisionReason: answer.reason }),
      ...("input" in answer && answer.input !== undefined && { updatedInput: answer.input }),
    },
  });
}

function claudeExample(command: string, cwd: string): ToolInput {
  const about = { session_id: "guard-test", cwd, hook_event_name: "PreToolUse" };
  return { ...about, tool_name: "Bash", tool_input: { command }, tool_use_id: String(Date.now()) };
}

export const CLIENT: { readonly [name in ClientName]: Client } = {
  "claude-code": {
    title: "Claude Code",
    tools: CLAUDE_TOOLS,
    asks: true,
    rewrites: true,
    searches: "https://api.anthropic.com",
    example: (command, cwd) => claudeExample(command, cwd),
    read: (event, env) => claudeEvents(event, env["CLAUDE_PROJECT_DIR"]),
    reply: claudeReply, // "allow" skips its own question, but not what its rules deny or ask about
  },
  codex: {
    title: "Codex",
    tools: {
      ...{
        Bash: ["exec", "command"],
        apply_patch: ["patch", "command"],
        update_plan: NONE,
        view_image: ["read", "path"],
      },
      ...{ Edit: ["patch", "command"], Write: ["patch", "command"], web_search: ["search", "query"] },
    },
    asks: false, // codex reads "ask" and then runs the call
    rewrites: true,
    searches: "https://api.openai.com",
    example: (command, cwd) => claudeExample(command, cwd),
    read: (event) => claudeEvents(event, undefined),
    // It refuses "allow" without a changed input: silence lets the call go on.
    reply: (answer) => (answer.verdict === "allow" && answer.input === undefined ? "" : claudeReply(answer)),
  },
  /** Gemini CLI 0.61: docs/hooks/reference.md in its package. */
  gemini: {
    title: "Gemini CLI",
    tools: {
      ...{ run_shell_command: ["exec", "command", "dir_path"], read_file: ["read", "file_path", "absolute_path"] },
      ...{ read_many_files: ["read", "include", "paths"], list_directory: ["read", "dir_path"] },
      ...{ glob: ["read", "dir_path"], grep_search: ["read", "dir_path"], search_file_content: ["read", "dir_path"] },
      ...{ write_file: ["write", "file_path"], replace: ["write", "file_path"] },
      ...{ web_fetch: ["fetch", "url", "prompt"], google_web_search: ["search", "query"] },
      ...{ write_todos: NONE, ask_user: NONE, activate_skill: NONE, enter_plan_mode: NONE, exit_plan_mode: NONE },
      ...{ update_topic: NONE, complete_task: NONE, get_internal_docs: NONE },
    },
    asks: true,
    rewrites: true,
    searches: "https://generativelanguage.googleapis.com",
    example: (command, cwd) => ({
      ...{ session_id: "guard-test", cwd, hook_event_name: "BeforeTool", tool_name: "run_shell_command" },
      tool_input: { command },
    }),
    read(event, env) {
      const cwd = text(event, "cwd");
      const where = { session: text(event, "session_id"), cwd, project: env["GEMINI_PROJECT_DIR"] ?? cwd };
      switch (text(event, "hook_event_name")) {
        case "BeforeAgent":
          return { ...where, phase: "prompt", text: text(event, "prompt") };
        case "BeforeTool":
          return { ...where, phase: "before", ...callOf(event) };
        case "AfterTool": {
          const response = asInput(event["tool_response"]);
          const failed = response["error"] !== undefined && response["error"] !== null;
          return { ...where, phase: "after", ...callOf(event), result: asText(response["llmContent"]), failed };
        }
        default:
          return undefined;
      }
    },
    reply(answer) {
      if (answer.verdict !== "deny" && answer.input !== undefined)
        return json({
          decision: answer.verdict,
          ...("reason" in answer && { reason: answer.reason }),
          hookSpecificOutput: { hookEventName: "BeforeTool", tool_input: answer.input },
        });
      return answer.verdict === "allow" ? "{}" : json({ decision: answer.verdict, reason: answer.reason });
    },
  },
  /** Cursor 2: https://cursor.com/docs/agent/hooks. Tools of MCP servers are called `MCP:SERVER:TOOL`. */
  cursor: {
    title: "Cursor",
    tools: {
      ...{ Shell: ["exec", "command", "working_directory"], Read: ["read", "file_path", "target_file", "path"] },
      ...{ Write: ["write", "file_path", "path"], Edit: ["write", "file_path", "path"] },
      ...{ StrReplace: ["write", "file_path", "path"], Delete: ["delete", "file_path", "path"] },
      ...{
        Grep: ["read", "path"],
        Glob: ["read", "target_directory", "path"],
        LS: ["read", "target_directory", "path"],
      },
      ...{ WebFetch: ["fetch", "url"], WebSearch: ["search", "search_term", "query"] },
      ...{ Task: NONE, TodoWrite: NONE, AskQuestion: NONE },
    },
    asks: false, // "ask" is not honoured for every tool
    rewrites: true,
    searches: "https://api2.cursor.sh",
    example: (command, cwd) => ({
      ...{ conversation_id: "guard-test", workspace_roots: [cwd], hook_event_name: "preToolUse", tool_name: "Shell" },
      tool_input: { command },
    }),
    read(event, env) {
      const [root] = Array.isArray(event["workspace_roots"]) ? (event["workspace_roots"] as unknown[]) : [];
      const project = typeof root === "string" ? root : (env["CURSOR_PROJECT_DIR"] ?? text(event, "cwd"));
      const cwd = typeof event["cwd"] === "string" && event["cwd"] !== "" ? event["cwd"] : project;
      const where = { session: text(event, "conversation_id"), cwd, project };
      switch (text(event, "hook_event_name")) {
        case "beforeSubmitPrompt":
          return { ...where, phase: "prompt", text: text(event, "prompt") };
        case "preToolUse":
          return { ...where, phase: "before", ...callOf(event, "tool_use_id") };
        case "postToolUse":
          return { ...where, phase: "after", ...callOf(event, "tool_use_id"), result: asText(event["tool_output"]) };
        case "postToolUseFailure": {
          const result = asText(event["error_message"]);
          return { ...where, phase: "after", ...callOf(event, "tool_use_id"), result, failed: true };
        }
        default:
          return undefined;
      }
    },
    reply: (answer) =>
      json({
        permission: answer.verdict === "ask" ? "deny" : answer.verdict,
        ...("reason" in answer && { user_message: answer.reason, agent_message: answer.reason }),
        ...("input" in answer && answer.input !== undefined && { updated_input: answer.input }),
      }),
  },
  /** opencode: its plugin (`opencode-plugin.ts`) sends these events in our own form. */
  opencode: {
    title: "opencode",
    tools: {
      ...{ bash: ["exec", "command", "workdir"], read: ["read", "filePath"], write: ["write", "filePath"] },
      ...{ edit: ["write", "filePath"], multiedit: ["write", "filePath"], apply_patch: ["patch", "patchText"] },
      ...{ patch: ["patch", "patchText"], glob: ["read", "path"], grep: ["read", "path"], list: ["read", "path"] },
      ...{ webfetch: ["fetch", "url"], websearch: ["search", "query"], codesearch: ["search", "query"] },
      ...{ task: NONE, todowrite: NONE, todoread: NONE, question: NONE, skill: NONE, plan_exit: NONE, invalid: NONE },
    },
    asks: false,
    rewrites: true,
    searches: "https://mcp.exa.ai",
    example: (command, cwd) => ({
      ...{ phase: "before", session: "guard-test", cwd, project: cwd, id: "example", tool: "bash", input: { command } },
    }),
    read(event) {
      const where = { session: text(event, "session"), cwd: text(event, "cwd"), project: text(event, "project") };
      const phase = text(event, "phase");
      if (phase === "prompt") return { ...where, phase, text: text(event, "text") };
      if (phase !== "before" && phase !== "after") return undefined;
      const call = { id: text(event, "id"), tool: text(event, "tool"), input: asInput(event["input"]) };
      return { ...where, phase, ...call, ...(phase === "after" && { result: asText(event["result"]) }) };
    },
    reply: (answer) => json(answer),
  },
};

/**
 * Returns what a call touches. A call of a tool that is not in the table, or without the arguments that the tool needs,
 * counts as a call of an unknown program: the policy asks about it.
 */
export function effectsOf(name: ClientName, tool: string, input: ToolInput, cwd: string): readonly Effect[] {
  const { tools, searches } = CLIENT[name];
  const [kind, ...names] = (Object.hasOwn(tools, tool) ? tools[tool] : undefined) ?? [];
  const values = names.flatMap((argument) => stringsOf(argument === undefined ? undefined : input[argument]));
  const [value] = values;
  switch (kind) {
    case "none":
      return [];
    case "exec": {
      const [, folder] = names;
      const command = names[0] === undefined ? undefined : input[names[0]];
      if (typeof command !== "string") break;
      const [at = cwd] = folder === undefined ? [] : stringsOf(input[folder]);
      return [{ kind, command, cwd: at }];
    }
    case "read":
      return (values.length === 0 ? [cwd] : values).map((path) => ({ kind, path: inFolder(path, cwd) }));
    case "write":
    case "delete":
      if (value !== undefined) return [{ kind: "write", path: inFolder(value, cwd) }];
      break;
    case "patch": {
      const paths = value === undefined ? [] : patchedPaths(value);
      if (paths.length > 0) return paths.map((path) => ({ kind: "write", path: inFolder(path, cwd) }));
      break;
    }
    case "fetch": {
      const urls = values.flatMap((written) => written.match(/https?:\/\/[^\s"'<>)\]]+/g) ?? []);
      if (urls.length > 0) return urls.map((url) => ({ kind, url, method: "GET" }));
      break;
    }
    case "search":
      if (value !== undefined) return [{ kind, engine: searches, query: value }];
      break;
    case undefined:
  }
  const [, server, rest] = /^(?:mcp__|mcp_|MCP:)([^:_]+(?:_(?!_)[^:_]+)*)(?:__|_|:)(.+)$/.exec(tool) ?? [];
  const foreign = server === undefined ? { from: name, tool } : { from: `mcp:${server}`, tool: rest ?? tool };
  return [{ kind: "foreign", ...foreign, input: json(input) }];
}

/** The paths that a patch in the format of apply_patch adds, changes, deletes or moves to. */
function patchedPaths(patch: string): readonly string[] {
  return [...patch.matchAll(/^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$/gm)].flatMap(
    ([, path]) => path ?? [],
  );
}

function inFolder(path: string, cwd: string): string {
  return path.startsWith("/") || path === "~" || path.startsWith("~/") ? path : `${cwd}/${path}`;
}

function callOf(
  event: ToolInput,
  id?: string,
): { readonly tool: string; readonly input: ToolInput; readonly id?: string } {
  const given = id === undefined ? undefined : event[id];
  const call = { tool: text(event, "tool_name"), input: asInput(event["tool_input"]) };
  return typeof given === "string" && given !== "" ? { ...call, id: given } : call;
}

/** @throws Error that names the field. */
function text(event: ToolInput, field: string): string {
  const value = event[field];
  if (typeof value === "string" && value !== "") return value;
  throw new Error(`the event has no ${field}: ${json(Object.keys(event))}`);
}

/** The arguments of a call; some clients write them as JSON text. */
function asInput(value: unknown): ToolInput {
  const parsed: unknown = typeof value === "string" ? tryJson(value) : value;
  return typeof parsed === "object" && parsed !== null ? (parsed as ToolInput) : { value };
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : json(value ?? "");
}

function stringsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return value === "" ? [] : [value];
  return Array.isArray(value) ? value.filter((each) => typeof each === "string" && each !== "") : [];
}

function tryJson(written: string): unknown {
  try {
    return JSON.parse(written);
  } catch {
    return undefined;
  }
}

function json(value: unknown): string {
  return JSON.stringify(value);
}
