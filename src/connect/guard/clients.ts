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
  /** Whether nobody can answer a question of the client itself. Default false. */
  readonly isUnattended?: true;
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

export interface Client {
  /** For people: "Claude Code". */
  readonly title: string;
  /** Whether the client can ask its person when a hook requests it. */
  readonly asks: boolean;
  /** Whether a command begins in the folder in which the last one has ended. */
  readonly keepsFolder: boolean;
  /** How a model asks for a run outside the sandbox: "with …". */
  readonly outside: string;
  /** The origin of the client's search engine, for the policy. */
  readonly searches: string;
  /** Returns an event about a shell command, for `handrail guard test`. */
  example(command: string, cwd: string): ToolInput;
  /** Reads an event. `undefined`: the guard does not handle it. Throws when it is not an event of this client. */
  read(event: ToolInput, env: NodeJS.ProcessEnv): Happening | undefined;
  /** Returns what the hook prints. */
  reply(answer: Judged): string;
}

/**
 * Begins a command that is to run outside the sandbox, for clients without an argument for that. A model reads of it in
 * the output of a command to which the sandbox refused something.
 */
export const OUTSIDE = "HANDRAIL_SANDBOX=off";
const WITH_WORD = `${OUTSIDE} in front of it`;

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
    asks: true,
    keepsFolder: true,
    outside: "dangerouslyDisableSandbox: true",
    searches: "https://api.anthropic.com",
    example: (command, cwd) => claudeExample(command, cwd),
    read: (event, env) => claudeEvents(event, env["CLAUDE_PROJECT_DIR"]),
    reply: claudeReply, // "allow" skips its own question, but not what its rules deny or ask about
  },
  codex: {
    title: "Codex",
    asks: false, // codex reads "ask" and then runs the call
    keepsFolder: false,
    outside: WITH_WORD,
    searches: "https://api.openai.com",
    example: (command, cwd) => claudeExample(command, cwd),
    read: (event) => claudeEvents(event, undefined),
    // It refuses "allow" without a changed input: silence lets the call go on.
    reply: (answer) => (answer.verdict === "allow" && answer.input === undefined ? "" : claudeReply(answer)),
  },
  /** Gemini CLI 0.61: docs/hooks/reference.md in its package. */
  gemini: {
    title: "Gemini CLI",
    asks: true,
    keepsFolder: false,
    outside: WITH_WORD,
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
    asks: false, // "ask" is not honoured for every tool
    keepsFolder: true,
    outside: WITH_WORD,
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
    asks: false,
    keepsFolder: false,
    outside: WITH_WORD,
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
