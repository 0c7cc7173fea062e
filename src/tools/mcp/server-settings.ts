import type { Containment } from "../../core/contract/containment.ts";
import type { Env } from "../../core/contract/effect.ts";
import type { ToolSource } from "../../core/contract/tool-source.ts";
import type { NetworkSettings } from "../../machine/network/network-settings.ts";
import type { OfferedPrompt, PromptMessage, Values } from "./offering.ts";

/** Settings of any server. */
interface AnyServerSettings {
  /** Patterns for the server's own names of the tools to use; `*` matches any characters. Default: all tools. */
  readonly tools?: readonly string[];
  /**
   * How long a call may take without progress, in milliseconds. Default 300,000: five minutes. At most an hour in
   * total.
   */
  readonly timeoutMs?: number;
  /** How long it may take until the server can be used, in milliseconds. Default 60,000. */
  readonly startMs?: number;
}

/** A server that is a program on this machine. It communicates over stdin and stdout. */
export interface ProcessServerSettings extends AnyServerSettings {
  readonly command: string;
  readonly args?: readonly string[];
  /** Added to the clean environment of commands. */
  readonly env?: Env;
  /** Default: in the sandbox the workspace, else a private folder (`SourceProgram`). */
  readonly cwd?: string;
  /**
   * "none" for outside the sandbox; `{}` for the sandbox with access to the workspace only. Additional access is named
   * here.
   */
  readonly within: Containment;
}

/** A server that is reached over streamable HTTP. */
export interface HttpServerSettings extends AnyServerSettings {
  readonly url: string;
  /** Sent with every request to the URL's origin. */
  readonly headers?: { readonly [name: string]: string };
  /** The network rules. The URL's own host and port are always allowed, even if they are not public. */
  readonly network?: NetworkSettings | undefined;
  /** Returns the provider of OAuth tokens. Default: requests that need a login fail. */
  readonly auth?: (network: Fetching) => TokenProvider;
}

export type ServerSettings = ProcessServerSettings | HttpServerSettings;

/** Makes requests, subject to the network rules. */
export interface Fetching {
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
}

/** Provides the bearer token of requests to a server. */
export interface TokenProvider {
  token(): Promise<string | undefined>;
  /**
   * Called with the response to a request that was refused with status 401. The request is made once more after it
   * resolves.
   */
  onUnauthorized?(refused: { readonly response: Response; readonly serverUrl: URL }): Promise<void>;
  /** Called with each response with status 403: the token may lack a scope, which the response names. */
  onForbidden?(response: Response): Promise<void>;
  /** Resolves when a person has logged in, so that there is another token. */
  changed?(signal: AbortSignal): Promise<void>;
}

/** A prompt that a server offers. */
export interface McpPrompt extends Pick<OfferedPrompt, "name" | "title" | "description" | "arguments"> {
  /** The name in the configuration. */
  readonly server: string;
  /** Requests the prompt's messages, with values for its arguments. Rejects with an Error for people. */
  get(values: Values, signal: AbortSignal): Promise<readonly PromptMessage[]>;
  /** As `get`, as one text. Messages of the model are marked. */
  text(values: Values, signal: AbortSignal): Promise<string>;
  /** Requests values of an argument that begin with `value`. Empty if the server has none. */
  complete(argument: string, value: string, signal: AbortSignal): Promise<readonly string[]>;
}

/** An MCP server as a source of tools. */
export interface McpSource extends ToolSource {
  /** The name in the configuration. */
  readonly server: string;
  /** Returns the server's prompts, as last listed. */
  prompts(): readonly McpPrompt[];
}
