import type { CheckedCall } from "../contract/call.ts";
import { whyNotFrom } from "../contract/approvers.ts";
import { type Content, notice } from "../contract/content.ts";
import type { Decision } from "../contract/decision.ts";
import type { HookPlace } from "../contract/hooks.ts";
import type { Json } from "../contract/schema.ts";
import type { Stop } from "../util/abort.ts";
import { clip } from "../util/text.ts";
import type { ToolResult } from "../contract/result.ts";
import { check } from "./check.ts";
import { withNotes } from "./edited.ts";
import type { Host } from "./host.ts";
import type { Recorder } from "./record.ts";
import { CallEnded } from "./result.ts";

/**
 * Runs the hooks before a call is judged. Arguments that a hook changed are checked like any others; hooks do not run
 * again for them.
 *
 * @throws CallEnded "denied" when a hook refuses the call, and what `check` throws for changed arguments.
 */
export async function hooked(checked: CheckedCall, host: Host, record: Recorder, stop: Stop): Promise<CheckedCall> {
  if (host.hooks?.before === undefined) return checked;
  const hook = await host.hooks.before(checked, placeOf(checked, host, record, stop));
  stop.throwIfAborted();
  if (hook === undefined) return checked;
  const { verdict, reason = "A hook refused this call.", input, context, by } = hook;
  const { except: _, input: __, ...made } = hook;
  record.hooked({ event: "PreToolUse", ...made, ...(input !== undefined && { input: input as Json }) });
  if (verdict === "deny") throw new CallEnded({ status: "denied", reason: withContext(reason, context), by: "policy" });
  if (input === undefined) return { ...checked, hook };
  const { notJson: ___, ...request } = { ...checked.request, input };
  const changed = await check(request, host);
  const written = clip(host.mask.text(JSON.stringify(changed.input)), QUOTED);
  const told = `A hook (${by.join(", ")}) changed this call. Its arguments are now: ${written}.`;
  return { ...changed, request: checked.request, hook: { ...hook, context: [told, ...context] } };
}

/** How many characters of changed arguments a result quotes. */
const QUOTED = 2_000;

/** The question that a hook asks. It is asked each time. */
export function questionOfHook({ hook, tool }: CheckedCall): Decision | undefined {
  if (hook?.verdict !== "ask") return undefined;
  const { reason = "A hook asks for approval" } = hook;
  const scope = { label: `${tool.name}, because a hook asks`, key: "hook", upTo: "once" } as const;
  return { verdict: "ask", risk: "medium", rule: "hook", reason, scopes: [scope] };
}

/**
 * Whether a hook of the user has answered the question. Not where only a person may answer, where a rule of the user
 * demands a person, or where programs may not approve such a risk.
 */
export function isAnsweredByHook({ hook }: CheckedCall, question: Decision): boolean {
  if (hook?.verdict !== "allow" || whyNotFrom("api", question) !== undefined) return false;
  if (question.scopes?.some(({ onlyPerson }) => onlyPerson === true) === true) return false;
  const rules = [question, ...(question.parts ?? [])].map(({ rule }) => rule);
  return !(hook.except ?? []).some((rule) => rules.includes(rule));
}

/** Runs the hooks after a call that succeeded, and returns the content with what they add. Never rejects. */
export async function withRemarks(
  call: CheckedCall,
  { content, data }: { readonly content: readonly Content[]; readonly data: Json },
  host: Host,
  record: Recorder,
  stop: Stop,
): Promise<readonly Content[]> {
  const remarks = await host.hooks?.after?.(call, content, data, placeOf(call, host, record, stop));
  if (remarks === undefined) return content;
  const { content: replaced, context, by } = remarks;
  record.hooked({ event: "PostToolUse", context, by });
  const added = [...(replaced ?? []), ...context.map(notice)].map((part) => host.mask.json(part));
  return replaced === undefined ? [...content, ...added] : added;
}

/** The result of a call that was made elsewhere, with what hooks add to it. */
export async function remarked(
  made: ToolResult,
  call: CheckedCall,
  host: Host,
  record: Recorder,
  stop: Stop,
): Promise<ToolResult> {
  if (host.hooks === undefined) return made;
  const content = made.status === "ok" && (await withRemarks(call, made, host, record, stop));
  return withNotes(made.status === "ok" && content !== false ? { ...made, content } : made, call, host);
}

function placeOf({ request }: CheckedCall, host: Host, record: Recorder, { signal }: Stop): HookPlace {
  const show = (displayMessage: string | null) => record.updated({ displayMessage });
  return { workDir: host.backend.workDir, thread: request.thread, signal, show };
}

function withContext(reason: string, context: readonly string[]): string {
  return [reason, ...context].join("\n");
}
