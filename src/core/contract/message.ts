import type { Content } from "./content.ts";
import type { CallId } from "./identity.ts";
import type { ToolStatus } from "./result.ts";
import type { Json } from "./schema.ts";

/** A message of a thread, in the order in which a model reads them. */
export type Message =
  /** `from: "handrail"` marks a notice or a summary that no person wrote. */
  | {
      readonly role: "user";
      readonly from: "person" | "handrail";
      readonly content: readonly Content[];
      /**
       * A summary of the thread so far: for a model it replaces all messages before it, except the last `kept`, which
       * follow it.
       */
      readonly summary?: { readonly kept: number };
      /** The `offer` of the event `message.offered` that brought the message. */
      readonly offer?: string;
      /** A call's result was that it waits for a person. This message reports the call's outcome. */
      readonly outcomeOf?: CallId;
    }
  | {
      readonly role: "assistant";
      readonly content: readonly AssistantPart[];
      /** Names the reply in what was sent while the model wrote it. Absent in older records. */
      readonly reply?: string;
    }
  /** The one result of a call, as the model reads it. */
  | {
      readonly role: "tool";
      readonly call: CallId;
      readonly status: MessageStatus;
      readonly content: readonly Content[];
    };

/** "not-started": the call never ran; "interrupted": the process that ran it ended first. */
export type MessageStatus = ToolStatus | "not-started" | "interrupted";

/** One part of a model's reply. `provider` is opaque data that the provider needs back with the part. */
export type AssistantPart =
  | { readonly type: "text" | "reasoning"; readonly text: string; readonly provider?: Json }
  | {
      readonly type: "call";
      /** Handrail's id, unique in a store. */
      readonly id: CallId;
      /** The id that the provider gave the call. It may repeat. */
      readonly providerId: string;
      readonly name: string;
      /** The arguments as the model wrote them: JSON text, perhaps malformed. */
      readonly input: string;
      readonly provider?: Json;
    };
