import { quoteWords } from "../../core/util/quote.ts";
import type { ClientName, ToolInput } from "./clients.ts";

/** Folders of a person, and of a project. */
export interface Folders {
  readonly home: string;
  /** `$XDG_CONFIG_HOME`, by default `~/.config`. */
  readonly config: string;
  /** Only for an entry in the project. */
  readonly project?: string;
}

/** Returns the file with the hooks of a client. */
export function fileOf(client: ClientName, { home, config, project }: Folders): string {
  const folder = project ?? home;
  switch (client) {
    case "claude-code":
      return `${folder}/.claude/settings.json`;
    case "codex":
      return `${folder}/.codex/hooks.json`;
    case "gemini":
      return `${folder}/.gemini/settings.json`;
    case "cursor":
      return `${folder}/.cursor/hooks.json`;
    case "opencode":
      return project === undefined
        ? `${config}/opencode/plugins/handrail-guard.js`
        : `${project}/.opencode/plugins/handrail-guard.js`;
  }
}

/** What clients give a hook before they stop it: ten minutes. */
const TIMEOUT_S = 600;

/**
 * Returns what the hooks of each event are with the guard, beside those that are there, or with `hook` undefined
 * without it. The guard blocks a call also when Handrail is missing or fails.
 *
 * @param settings the content of the file
 * @param hook the words that start `handrail hook CLIENT`
 */
export function hooksWithGuard(
  client: Exclude<ClientName, "opencode">,
  settings: ToolInput,
  hook: readonly string[] | undefined,
): { readonly [event: string]: readonly unknown[] } {
  // `|| exit 2`: this code blocks a call, also if the program no longer exists.
  const command = hook === undefined ? "" : `${quoteWords(hook)} || exit 2`;
  const hooks = objectOf(settings["hooks"]);
  return Object.fromEntries(
    Object.entries(entriesOf(client, command)).map(([event, entry]) => {
      const others = listOf(hooks[event]).filter((each) => !isGuard(each));
      return [event, hook === undefined ? others : [...others, entry]];
    }),
  );
}

/** Whether the content of the file has the guard. */
export function hasGuard(settings: ToolInput): boolean {
  return Object.values(objectOf(settings["hooks"])).some((all) => listOf(all).some(isGuard));
}

/** The entries by event, in the client's form. */
function entriesOf(client: Exclude<ClientName, "opencode">, command: string): { readonly [event: string]: ToolInput } {
  const plain = { type: "command", command, timeout: TIMEOUT_S };
  switch (client) {
    case "claude-code": {
      const group = { hooks: [{ ...plain, onFailure: "block" }] };
      const after = { matcher: "*", hooks: [plain] };
      const before = { matcher: "*", ...group };
      return {
        PreToolUse: before,
        PostToolUse: after,
        PostToolUseFailure: after,
        UserPromptSubmit: { hooks: [plain] },
      };
    }
    case "codex": {
      const group = { hooks: [plain] };
      return { PreToolUse: group, PostToolUse: group, UserPromptSubmit: group };
    }
    case "gemini": {
      const hook = { ...plain, name: "handrail-guard", timeout: TIMEOUT_S * 1_000 };
      const group = { matcher: ".*", hooks: [hook] };
      return { BeforeTool: group, AfterTool: group, BeforeAgent: { hooks: [hook] } };
    }
    case "cursor": {
      const entry = { command, timeout: TIMEOUT_S };
      const after = { postToolUse: entry, postToolUseFailure: entry, beforeSubmitPrompt: entry };
      return { preToolUse: { ...entry, failClosed: true }, ...after };
    }
  }
}

/** Whether an entry of an event is the guard's. */
export function isGuard(entry: unknown): boolean {
  return / hook (?:claude-code|codex|gemini|cursor) \|\| exit 2"/.test(JSON.stringify(entry));
}

function objectOf(value: unknown): { [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as never) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
