/**
 * What an MCP server offers beside tools: Handrail's own server, and the servers whose offers it passes on. Nothing here
 * names a type of the SDK, which is bundled.
 */
import type { Content } from "../../core/contract/content.ts";

/** The values of a prompt's arguments, or of a template's variables. */
export interface Values {
  readonly [name: string]: string;
}

/** One message of a prompt. */
export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly content: Content;
}

/** A prompt: words that a person sends by its name. */
export interface OfferedPrompt {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly arguments?:
    | readonly {
        readonly name: string;
        readonly description?: string | undefined;
        readonly required?: boolean | undefined;
      }[]
    | undefined;
  /** Returns its messages; a string is one of the user. All required arguments have values. */
  get(values: Values, signal: AbortSignal): Promise<string | readonly PromptMessage[]>;
  /** Returns possible values of an argument that begin with `value`, the best first. Default: none. */
  complete?(argument: string, value: string, signal: AbortSignal): Promise<readonly string[]>;
}

/** A resource that the client, not the model, reads by its address. */
export interface OfferedResource {
  /** Its address, or for many resources a template (RFC 6570, level 1): "db://{table}". */
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  /** Returns its text or bytes. `values` has the variables of the template. */
  read(uri: string, values: Values, signal: AbortSignal): Promise<string | Uint8Array>;
}

/** What a server offers beside tools. */
export interface Offering {
  /** Returns the current prompts. Called for each request. Default: the server has no prompts. */
  readonly prompts?: () => readonly OfferedPrompt[];
  /** Resources beside the saved outputs, `output://ID`, which the server always has. */
  readonly resources?: readonly OfferedResource[];
}
