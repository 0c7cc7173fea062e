import type { CheckedCall } from "./call.ts";
import type { Content } from "./content.ts";
import type { HookVerdict } from "./hook-verdict.ts";
import type { ThreadId } from "./identity.ts";
import type { Json } from "./schema.ts";

/** What happens in the turns of an agent, with the names of Claude Code. */
export type TurnEvent =
  | { readonly event: "SessionStart"; readonly source: "startup" | "resume" | "compact" }
  | { readonly event: "UserPromptSubmit"; readonly prompt: string }
  /** `again`: a hook has made the agent continue before, in this turn. */
  | { readonly event: "Stop"; readonly again: boolean; readonly lastMessage: string }
  | { readonly event: "SubagentStop"; readonly again: boolean; readonly lastMessage: string; readonly agent: string }
  /** `keep`: what a person wants to keep; empty for "auto". */
  | { readonly event: "PreCompact"; readonly trigger: "manual" | "auto"; readonly keep: string }
  | { readonly event: "Notification"; readonly message: string; readonly about: string };

/** Where and for what hooks run. */
export interface HookPlace {
  /** The working directory of the call or agent. */
  readonly workDir: string;
  readonly thread: ThreadId;
  readonly signal: AbortSignal;
  /** Shows people what a hook does; `null` removes it. Default: nobody is shown. */
  readonly show?: (text: string | null) => void;
}

/** What hooks made of a result. */
export interface HookRemarks extends Pick<HookVerdict, "context" | "by"> {
  /** In place of the result. */
  readonly content?: readonly Content[];
}

/** What hooks made of something in a turn. */
export interface TurnAnswer extends Pick<HookVerdict, "context"> {
  /** Why it does not happen: a prompt is not taken, the agent does not stop, the conversation is not shortened. */
  readonly blocked?: string;
  /** Why the turn ends. It counts before `blocked`. */
  readonly ended?: string;
}

/** The user's programs at stages of a call and of a turn. None of the functions rejects, except when stopped. */
export interface Hooks {
  /** Absent if no hook is about calls that begin. */
  before?(call: CheckedCall, place: HookPlace): Promise<HookVerdict | undefined>;
  /** Absent if no hook is about results. */
  after?(
    call: CheckedCall,
    content: readonly Content[],
    data: Json,
    place: HookPlace,
  ): Promise<HookRemarks | undefined>;
  /** Returns `undefined` at once if no hook is about this event. */
  on(event: TurnEvent, place: HookPlace): Promise<TurnAnswer> | undefined;
  /** Returns once why a hook wants the turn of a thread to end. */
  takeStop(thread: ThreadId): string | undefined;
}
