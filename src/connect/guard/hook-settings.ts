import { clip } from "../../core/util/text.ts";

/** The events of Claude Code that Handrail has. */
export const HOOK_EVENTS = [
  ...(["PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "Stop", "SubagentStop"] as const),
  ...(["PreCompact", "Notification"] as const),
] as const;
export type HookEvent = (typeof HOOK_EVENTS)[number];

/** Handlers for what a matcher finds. */
export interface HookGroup {
  readonly matcher?: string;
  readonly hooks: readonly HookHandler[];
  /** Present if a project's file has it. */
  readonly project?: "trusted" | "not trusted";
}
export type HookSettings = { readonly [event in HookEvent]?: readonly HookGroup[] };

/** One handler of an event, as configured: its names and meanings are those of Claude Code. */
export interface HookHandler {
  readonly type: "command";
  /** A script for bash or, with `args`, a program. */
  readonly command: string;
  readonly args?: readonly string[];
  /** In seconds. */
  readonly timeout?: number;
  /** "block": a handler that fails blocks what it is about. Default: the failure is shown. */
  readonly onFailure?: "block";
  /** True: nobody waits for it, and its output has no effect. */
  readonly async?: boolean;
  /** Shown while it runs. */
  readonly statusMessage?: string;
}

/** A handler for people: its command. */
export function labelOf({ command, args = [] }: HookHandler): string {
  return clip([command, ...args].join(" ").replaceAll(/\s+/g, " "), 120);
}
