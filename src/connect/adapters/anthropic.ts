import type { CallId } from "../../core/contract/identity.ts";
import type { AnswerOutcome } from "../../core/contract/question.ts";
import type { ToolResult } from "../../core/contract/result.ts";
import type { DefinitionOf, Toolkit } from "../../core/contract/toolkit.ts";
import { asContent } from "../../core/call/result.ts";
import { partText } from "../../core/output/part-text.ts";
import { messageOf } from "../../core/util/errors.ts";
import { randomName } from "../../core/util/identifier.ts";
import { type AdapterOptions, type AskPerson, type SdkAnswer, createHand } from "./hand.ts";
import { liveTools } from "./live.ts";

export type { AdapterOptions, AskPerson, SdkAnswer } from "./hand.ts";

export interface AnthropicOptions extends Pick<AdapterOptions, "thread"> {
  /** Whether tools are defined for strict mode where their schemas allow it. Default true. */
  readonly strict?: boolean;
}

type TextOrImage =
  | { type: "text"; text: string }
  | { type: "image"; source: { type: "base64"; data: string; media_type: ImageType } };
type ImageType = "image/png" | "image/jpeg" | "image/gif" | "image/webp";

/** The result of one call: a content block of a message of the user. */
export interface AnthropicResult {
  type: "tool_result";
  tool_use_id: string;
  content: TextOrImage[];
  is_error: boolean;
}

/** A toolkit for the client `@anthropic-ai/sdk`. Calls that need a person are asked about by the toolkit, or parked. */
export interface AnthropicClient {
  /** `tools` of a message; `undefined` without tools. */
  readonly tools: DefinitionOf["anthropic"][] | undefined;
  /** `tools` of the client's own loop, `beta.messages.toolRunner`. Live: it has tools that start later. */
  readonly runnableTools: (DefinitionOf["anthropic"] & {
    parse: (input: unknown) => unknown;
    run: (input: unknown, context?: RunContext) => Promise<TextOrImage[]>;
  })[];
  /**
   * Makes the calls of a message, one after another. Resolves to their results, with images: the content of the message
   * of the user that follows.
   */
  readonly results: (
    message: { readonly content: readonly ({ readonly type: string } | AnthropicCall)[] },
    signal?: AbortSignal,
  ) => Promise<AnthropicResult[]>;
}

interface RunContext {
  readonly toolUse: { readonly id: CallId };
  readonly signal?: AbortSignal | null | undefined;
}

/** A call in a message. */
interface AnthropicCall {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** Makes a toolkit's tools usable by the client `@anthropic-ai/sdk`. */
export function anthropic(toolkit: Toolkit, { strict = true, ...options }: AnthropicOptions = {}): AnthropicClient {
  const hand = createHand(toolkit, { approvals: "toolkit", ...options }, "Anthropic");
  return {
    get tools() {
      return toolkit.definitions("anthropic", { strict });
    },
    runnableTools: liveTools(toolkit, () =>
      (toolkit.definitions("anthropic", { strict }) ?? []).map((definition) => ({
        ...definition,
        parse: (input: unknown) => input, // the toolkit checks it
        async run(input: unknown, context?: RunContext) {
          const call = { id: context?.toolUse.id ?? randomName(16), name: definition.name, input };
          return blocksOf(await hand.run(call, { signal: context?.signal ?? undefined }));
        },
      })),
    ),
    async results({ content }, signal) {
      const results: AnthropicResult[] = [];
      for (const block of content) {
        if (!isCall(block)) continue;
        const result = await hand.run(block, { signal });
        const { isError } = asContent(result);
        results.push({ type: "tool_result", tool_use_id: block.id, content: blocksOf(result), is_error: isError });
      }
      return results;
    },
  };
}

function isCall(block: { readonly type: string } | AnthropicCall): block is AnthropicCall {
  return block.type === "tool_use";
}

function blocksOf(result: ToolResult): TextOrImage[] {
  const parts = asContent(result).content.map((part): TextOrImage =>
    part.type === "image"
      ? { type: "image", source: { type: "base64", data: part.data, media_type: part.mimeType as ImageType } }
      : { type: "text", text: partText(part) },
  );
  // The API refuses empty texts.
  return parts.map((part) => (part.type === "text" && part.text === "" ? { ...part, text: "(no output)" } : part));
}

export interface ClaudeAgentOptions extends AdapterOptions {
  /** The name of the MCP server: tools are named `mcp__NAME__TOOL`. Default "handrail". */
  readonly name?: string;
}

/** A toolkit for `@anthropic-ai/claude-agent-sdk`. */
export interface ClaudeAgent {
  /** For the option `mcpServers`. */
  readonly mcpServers: {
    // The type of `instance` is a class with private parts in the SDK.
    // oxlint-disable-next-line typescript/no-explicit-any
    readonly [name: string]: { type: "sdk"; name: string; instance: any };
  };
  /**
   * For the option `hooks`. Calls that need nobody are allowed, for the others the SDK asks: its `canUseTool` comes
   * after its own rules and modes, which would otherwise allow them. A hook that fails blocks its call.
   */
  readonly hooks: {
    PreToolUse: {
      matcher: string;
      onFailure: "block";
      hooks: ((input: HookInput) => Promise<HookOutput>)[];
    }[];
  };
  /**
   * For `canUseTool`, with its `toolUseID`: asks a person, unless somebody answers elsewhere first, such as in the
   * console. Resolves to the answer that counts, with the reason of a refusal for the model. The signal of `ask` fires
   * when somebody else was first.
   */
  readonly answer: (toolUseID: CallId, ask: AskPerson) => Promise<SdkAnswer>;
  /**
   * Closes the question of a call that a person has refused: its `toolUseID`. Allow the call all the same: it does not
   * run, and the model reads the refusal with its reason. "closed": it came too late, and the call runs.
   */
  readonly refuse: (toolUseID: CallId, reason?: string) => Promise<AnswerOutcome>;
}

type HookInput =
  | { hook_event_name: "PreToolUse"; tool_name: string; tool_input: unknown; tool_use_id: string }
  | { hook_event_name: string };

interface HookOutput {
  hookSpecificOutput?: {
    hookEventName: "PreToolUse";
    permissionDecision: "allow" | "ask";
    permissionDecisionReason?: string;
  };
}

/** The SDK's connection to a server in its process. */
interface SdkTransport {
  onmessage?: (message: Message) => void;
  onclose?: () => void;
  send(message: object): Promise<void>;
}

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: unknown;
    readonly protocolVersion?: string;
    readonly requestId?: string | number;
    readonly _meta?: { readonly "claudecode/toolUseId"?: string };
  };
}

/**
 * Makes a toolkit's tools usable by `@anthropic-ai/claude-agent-sdk`, as an MCP server in this process. The SDK's own
 * tools remain as they are: leave them out with its option `tools: []`.
 */
export function claudeAgent(toolkit: Toolkit, { name = "handrail", ...options }: ClaudeAgentOptions = {}): ClaudeAgent {
  const hand = createHand(toolkit, options, "Claude Agent SDK");
  const prefix = `mcp__${name}__`;
  const running = new Map<string | number, AbortController>();

  const answer = async ({ id, method, params = {} }: Message): Promise<object> => {
    if (method === "initialize") {
      const { protocolVersion = "2025-11-25" } = params;
      return {
        protocolVersion,
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name, version: __VERSION__ },
      };
    }
    if (method === "tools/list") return { tools: toolkit.definitions("mcp") ?? [] };
    if (method !== "tools/call") return {};
    const { name: tool = "", arguments: input, _meta: meta = {} } = params;
    const stopping = new AbortController();
    if (id !== undefined) running.set(id, stopping);
    const call = { id: meta["claudecode/toolUseId"] ?? randomName(16), name: tool, input };
    return asContent(
      await hand.run(call, { signal: stopping.signal }).finally(() => id !== undefined && running.delete(id)),
    );
  };

  return {
    mcpServers: {
      [name]: {
        type: "sdk",
        name,
        instance: {
          async connect(transport: SdkTransport) {
            const forget = toolkit.onToolsChanged(
              () => void transport.send({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }).catch(() => {}),
            );
            transport.onclose = () => {
              forget();
              for (const stopping of running.values()) stopping.abort();
            };
            transport.onmessage = (message) => {
              const { id, method, params } = message;
              if (method === "notifications/cancelled") running.get(params?.requestId ?? "")?.abort();
              if (method === undefined || id === undefined) return;
              void answer(message).then(
                (result) => transport.send({ jsonrpc: "2.0", id, result }),
                (error) => transport.send({ jsonrpc: "2.0", id, error: { code: -32_603, message: messageOf(error) } }),
              );
            };
          },
        },
      },
    },
    hooks: {
      PreToolUse: [
        {
          matcher: `${prefix}.*`,
          onFailure: "block",
          hooks: [
            async (hook) => {
              if (!("tool_name" in hook) || !hook.tool_name.startsWith(prefix)) return {};
              const { tool_name: tool, tool_input: input, tool_use_id: id } = hook;
              const reason = await hand.question({ id, name: tool.slice(prefix.length), input });
              const decided =
                reason === undefined
                  ? { permissionDecision: "allow" as const }
                  : { permissionDecision: "ask" as const, permissionDecisionReason: reason };
              return { hookSpecificOutput: { hookEventName: "PreToolUse", ...decided } };
            },
          ],
        },
      ],
    },
    answer: hand.answer,
    refuse: hand.refuse,
  };
}
