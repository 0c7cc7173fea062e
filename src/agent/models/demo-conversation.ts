import type { LanguageModelV3CallOptions } from "@ai-sdk/provider";

type Prompt = LanguageModelV3CallOptions["prompt"];

export interface Call {
  readonly name: string;
  readonly input: { readonly [key: string]: unknown };
}

/** A call that the demo model made, and what the tool returned. */
export interface Done extends Call {
  readonly output: string;
  readonly failed: boolean;
}

/** The next reply of the model: a text, and the calls that follow it. */
export interface Step {
  readonly say: string;
  readonly calls?: readonly Call[];
}

/** What the offered tools can do. A field is `undefined` if no tool can do this. */
export interface Abilities {
  readonly names: readonly string[];
  list(): Call | undefined;
  read(path: string): Call | undefined;
  run(command: string): Call | undefined;
  /** Starts a command in the background. */
  start(command: string): Call | undefined;
  write(path: string, content: string): Call | undefined;
  /** Replaces the only occurrence of `from` in a file with this content. */
  change(path: string, content: string, from: string, to: string): Call | undefined;
  fetch(url: string): Call | undefined;
}

/** What the demo model decides from. */
export interface Conversation {
  /** The last message of a person, or of the agent that delegates. */
  readonly words: string;
  /** The model's text before those words; empty at the beginning. */
  readonly saidBefore: string;
  /** The calls of each reply since those words. */
  readonly rounds: readonly (readonly Done[])[];
  /** True when the agent has reached a limit and asks for a last message. */
  readonly mustEnd: boolean;
  readonly can: Abilities;
}

/** Reads the conversation from what a provider would be sent. */
export function conversationOf({ prompt, tools = [] }: LanguageModelV3CallOptions): Conversation {
  const at = prompt.findLastIndex((message) => message.role === "user" && !isNotice(messageText(message)));
  const words = at < 0 ? "" : messageText(prompt[at]);
  const before = prompt.slice(0, Math.max(at, 0)).filter(({ role }) => role === "assistant");
  return {
    ...{ words, saidBefore: messageText(before.at(-1)), rounds: roundsOf(prompt.slice(at + 1)) },
    mustEnd: messageText(prompt.at(-1)).includes("Call no more tools."),
    can: abilitiesOf(tools),
  };
}

/** Handrail's own messages are in brackets; the task of a sub-agent may begin with one. */
function isNotice(text: string): boolean {
  return text.startsWith("[") && !text.startsWith("[Context]");
}

function messageText(message: Prompt[number] | undefined): string {
  if (message === undefined || message.role === "system") return "";
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function roundsOf(since: Prompt): Conversation["rounds"] {
  const results = new Map<string, { readonly output: string; readonly failed: boolean }>();
  for (const message of since) {
    if (message.role !== "tool") continue;
    for (const part of message.content) {
      if (part.type !== "tool-result") continue;
      const { output } = part;
      if (output.type !== "text" && output.type !== "error-text") continue;
      results.set(part.toolCallId, { output: output.value, failed: output.type !== "text" });
    }
  }
  const rounds = since.map((message): readonly Done[] => {
    if (message.role !== "assistant") return [];
    return message.content.flatMap((part) => {
      if (part.type !== "tool-call") return [];
      const result = results.get(part.toolCallId) ?? { output: "", failed: true };
      return [{ name: part.toolName, input: part.input as Call["input"], ...result }];
    });
  });
  return rounds.filter(({ length }) => length > 0);
}

/** The tools of the presets, by what they do. The first offered tool is used. */
const TOOLS = {
  list: ["ls"],
  read: ["read", "file_read", "read_file"],
  run: ["bash", "shell", "run_shell"],
  edit: ["edit"],
  write: ["write", "file_write", "write_file"],
  fetch: ["web_fetch", "fetch_url"],
} as const;

function abilitiesOf(tools: NonNullable<LanguageModelV3CallOptions["tools"]>): Abilities {
  const names = tools.map(({ name }) => name);
  const named = (ability: keyof typeof TOOLS) => TOOLS[ability].find((name) => names.includes(name));
  const call = (ability: keyof typeof TOOLS, input: Call["input"]): Call | undefined => {
    const name = named(ability);
    return name === undefined ? undefined : { name, input };
  };
  const runner = tools.find(({ name }) => name === named("run"));
  const takes = (argument: string) =>
    runner?.type === "function" && Object.hasOwn(runner.inputSchema.properties ?? {}, argument);
  return {
    names,
    list: () => call("run", { command: "ls" }) ?? call("list", {}),
    read: (path) => call("read", { path }),
    run: (command) => call("run", { command }),
    start: (command) =>
      takes("background") && names.includes("jobs") ? call("run", { command, background: true }) : undefined,
    write: (path, content) => call("write", { path, content }),
    change: (path, content, from, to) =>
      call("edit", { path, old_text: from, new_text: to }) ??
      call("write", { path, content: content.replace(from, () => to) }),
    fetch: (url) => call("fetch", { url }),
  };
}

/** Returns the first line of a text that is not empty. */
export function firstLine(text: string): string {
  return text.trim().split("\n")[0] ?? "";
}
