import type { Content } from "./content.ts";
import type { CallId } from "./identity.ts";
import type { Json } from "./schema.ts";

/** One thing wrong with a call's arguments. */
export interface Issue {
  /** The path of the value, such as `edits[0].old_text`; "" for the arguments as a whole. */
  readonly path: string;
  /** What was expected, what came, and what to do. */
  readonly message: string;
}

/** How a call ended. Every ending is a value; none is thrown. `id` is absent for a call that never began. */
export type ToolResult = { readonly id?: CallId } & Ending;

type Ending =
  | { readonly status: "ok"; readonly content: readonly Content[]; readonly data: Json }
  | {
      readonly status: "unknown-tool";
      readonly name: string;
      readonly closest: readonly string[];
      /** Where a tool of this name is. */
      readonly hint?: string;
    }
  | { readonly status: "invalid-input"; readonly issues: readonly Issue[] }
  /** "nobody": a person must approve the call, and nobody could be asked or answered in time. */
  | { readonly status: "denied"; readonly reason: string; readonly by: "policy" | "person" | "nobody" }
  | {
      readonly status: "failed";
      readonly message: string;
      /** The next step. */
      readonly hint?: string;
      /** Partial results, such as output or a diff. */
      readonly content?: readonly Content[];
      readonly data?: Json;
    }
  /** The call has not run: it waits for a person, and no process needs to wait. `changed` as in `ParkedCall`. */
  | { readonly status: "parked"; readonly call: CallId; readonly changed?: readonly string[] }
  /** Stopped from outside. `content` has the partial output. */
  | { readonly status: "aborted"; readonly content?: readonly Content[] };

export type ToolStatus = ToolResult["status"];
