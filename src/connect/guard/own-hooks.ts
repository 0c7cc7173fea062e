import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { text } from "../../core/contract/content.ts";
import type { Verdict } from "../../core/contract/decision.ts";
import type { HookVerdict } from "../../core/contract/hook-verdict.ts";
import type { HookPlace, Hooks, TurnAnswer, TurnEvent } from "../../core/contract/hooks.ts";
import type { ThreadId } from "../../core/contract/identity.ts";
import { clip } from "../../core/util/text.ts";
import type { ToolInput } from "./clients.ts";
import { type HookOutput, runHandler } from "./hook-handler.ts";
import { type HookEvent, type HookHandler, type HookSettings, labelOf } from "./hook-settings.ts";
import { hookCall } from "./own-tools.ts";

export interface HooksOptions {
  readonly settings: HookSettings;
  /** Whether the working directory is a folder of this machine. Commands start there, otherwise in the home folder. */
  readonly isLocal: boolean;
  /** The permission mode of Claude Code that is closest to the policy. */
  readonly mode: string;
  /** Rules of the user whose questions no hook answers. */
  readonly except: readonly string[];
  /** Returns why a command must not be started, as a sentence. */
  readonly mayStart: (handler: HookHandler, event: HookEvent, folder: string) => Promise<string | undefined>;
  /** Tells people what a hook has to say, or that it failed. Must not throw. */
  readonly tell: (words: string) => void;
}

/** What one handler made of an event. */
interface Outcome extends Pick<TurnAnswer, "context" | "ended"> {
  readonly by: string;
  readonly verdict?: Verdict;
  readonly reason?: string;
  readonly input?: ToolInput;
  readonly result?: unknown;
}

type Owner = "project" | "user";
const LISTS: readonly Verdict[] = ["deny", "ask", "allow"];
/** The most that a hook adds to a conversation, in characters. Source: Claude Code. */
const MOST_CONTEXT = 10_000;

/**
 * Creates the hooks of the settings. All handlers of an event that match run together, those of a project before those
 * of the user: so the user's see what a project's have changed. Only the user's can allow.
 */
export function createHooks({ settings, isLocal, mode, except, mayStart, tell }: HooksOptions): Hooks {
  const stopping = new Map<ThreadId, string>();
  const groupsOf = (event: HookEvent) => (settings[event] ?? []).filter(({ project }) => project !== "not trusted");

  const handlersOf = (event: HookEvent, subjects: readonly string[], owner?: Owner): readonly HookHandler[] => {
    const found = groupsOf(event)
      .filter(({ project }) => owner === undefined || owner === (project === undefined ? "user" : "project"))
      .filter(({ matcher }) => subjects.length === 0 || matches(matcher, subjects))
      .flatMap(({ hooks }) => hooks);
    return [...new Map(found.map((each) => [JSON.stringify(each), each])).values()];
  };

  const run = async (handler: HookHandler, event: HookEvent, about: ToolInput, place: HookPlace): Promise<Outcome> => {
    const { workDir, thread, signal, show } = place;
    const folder = isLocal && existsSync(workDir) ? workDir : homedir();
    const common = { session_id: thread, transcript_path: "/dev/null", cwd: workDir, permission_mode: mode };
    const given = { ...common, hook_event_name: event, ...about };
    const by = labelOf(handler);
    const held = await mayStart(handler, event, folder);
    const problem = (why: string, blocks: boolean): Outcome => {
      tell(`the ${event} hook ${by} ${why}`);
      return { by, context: [], ...(blocks && { verdict: "deny", reason: `The ${event} hook ${by} ${why}` }) };
    };
    // A model must not be able to switch off a check by changing its program.
    if (held !== undefined) return problem(held, event === "PreToolUse" || event === "UserPromptSubmit");
    if (handler.statusMessage !== undefined) show?.(handler.statusMessage);
    const running = runHandler(handler, given, { folder, signal });
    if (handler.async === true) return { by, context: [] };
    const output = await running;
    if (handler.statusMessage !== undefined) show?.(null);
    if (output.how === "failed") return problem(`failed: ${output.why}`, handler.onFailure === "block");
    const outcome = { by, ...outcomeOf(output, event) };
    if (output.how === "json" && typeof output.output["systemMessage"] === "string")
      tell(clip(output.output["systemMessage"], MOST_CONTEXT));
    if (outcome.ended !== undefined) stopping.set(thread, outcome.ended);
    return outcome;
  };

  const fire = (handlers: readonly HookHandler[], event: HookEvent, about: ToolInput, place: HookPlace) =>
    Promise.all(handlers.map((each) => run(each, event, about, place)));

  const on = async (handlers: readonly HookHandler[], about: TurnEvent, place: HookPlace): Promise<TurnAnswer> => {
    const outcomes = await fire(handlers, about.event, bodyOf(about), place);
    const refused = outcomes.find(({ verdict }) => verdict === "deny");
    stopping.delete(place.thread); // answered here
    const ended = outcomes.find((each) => each.ended !== undefined)?.ended;
    return {
      context: outcomes.flatMap(({ context }) => context),
      ...(refused !== undefined && { blocked: refused.reason ?? "A hook blocked it." }),
      ...(ended !== undefined && { ended }),
    };
  };

  return {
    ...(groupsOf("PreToolUse").length > 0 && {
      async before({ tool, input, request }, place) {
        const call = hookCall(tool.name, input, place.workDir);
        const seen = { tool_name: call.names[0], tool_input: call.input, tool_use_id: request.id };
        const made: Outcome[] = [];
        let changed: ToolInput | undefined;
        for (const owner of ["project", "user"] as const) {
          const about = { ...seen, tool_input: changed ?? call.input };
          const outcomes = await fire(handlersOf("PreToolUse", call.names, owner), "PreToolUse", about, place);
          const last = outcomes.findLast((each) => each.input !== undefined);
          changed = last?.input ?? changed;
          // What is allowed is the call that the hook saw, or made of it.
          const mayAllow = (each: Outcome) => owner === "user" && (last === undefined || each === last);
          made.push(
            ...(outcomes.map((each) =>
              each.verdict !== "allow" || mayAllow(each) ? each : { ...each, verdict: undefined },
            ) as Outcome[]),
          );
        }
        return combined(made, changed && call.back(changed), except);
      },
    }),
    ...(groupsOf("PostToolUse").length > 0 && {
      async after({ tool, input, request }, content, data, place) {
        const call = hookCall(tool.name, input, place.workDir);
        const handlers = handlersOf("PostToolUse", call.names);
        if (handlers.length === 0) return undefined;
        const shown = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
        const isCommand = call.names[0] === "Bash";
        const isObject = typeof data === "object" && data !== null && !Array.isArray(data);
        const whole = isObject ? (data as ToolInput) : { output: shown };
        const path = call.input["file_path"];
        const about = {
          ...{ tool_name: call.names[0], tool_input: call.input, tool_use_id: request.id },
          tool_response: isCommand
            ? { stdout: shown, stderr: "", interrupted: false, isImage: false }
            : { ...whole, ...(path !== undefined && { filePath: path }) },
        };
        const outcomes = await fire(handlers, "PostToolUse", about, place);
        const replaced = outcomes.findLast(({ result }) => result !== undefined)?.result;
        const context = outcomes.flatMap(({ verdict, reason, context: added }) => [
          ...(verdict !== "deny" ? [] : [`[PostToolUse hook: ${reason ?? "blocked"}]`]),
          ...added,
        ]);
        if (context.length === 0 && replaced === undefined) return undefined;
        const written = typeof replaced === "string" ? replaced : JSON.stringify(replaced ?? null);
        const by = outcomes.filter(
          (each) => each.verdict === "deny" || each.context.length > 0 || each.result !== undefined,
        );
        return {
          ...{ context, by: by.map((each) => each.by) },
          ...(replaced !== undefined && { content: [text(written)] }),
        };
      },
    }),
    on(event, place) {
      const handlers = handlersOf(event.event, subjectsOf(event));
      return handlers.length === 0 ? undefined : on(handlers, event, place);
    },
    takeStop(thread) {
      const why = stopping.get(thread);
      stopping.delete(thread);
      return why;
    },
  };
}

/** Combines what handlers made of a call: the strictest decision counts. */
function combined(
  made: readonly Outcome[],
  input: ToolInput | undefined,
  except: readonly string[],
): HookVerdict | undefined {
  const verdict = LISTS.find((each) => made.some((one) => one.verdict === each));
  const deciding = made.filter((each) => each.verdict === verdict);
  const reasons = deciding.flatMap(({ reason }) => (verdict === undefined || reason === undefined ? [] : [reason]));
  const context = made.flatMap((each) => each.context);
  if (verdict === undefined && input === undefined && context.length === 0) return undefined;
  const by = made.filter((each) => each.verdict !== undefined || each.input !== undefined || each.context.length > 0);
  return {
    ...{ context, by: [...new Set(by.map((each) => each.by))] },
    ...(verdict !== undefined && { verdict }),
    ...(verdict === "allow" && { except }),
    ...(reasons.length > 0 && { reason: reasons.join("\n") }),
    ...(input !== undefined && { input }),
  };
}

/** Reads what a handler printed. */
function outcomeOf(output: Exclude<HookOutput, { readonly how: "failed" }>, event: HookEvent): Omit<Outcome, "by"> {
  const added = (words: unknown) =>
    typeof words === "string" && words !== "" ? [`[${event} hook: ${clip(words, MOST_CONTEXT)}]`] : [];
  if (output.how === "blocked") return { verdict: "deny", reason: clip(output.why, MOST_CONTEXT), context: [] };
  if (output.how === "text") {
    const isContext = event === "UserPromptSubmit" || event === "SessionStart";
    return { context: isContext ? added(output.text) : [] };
  }
  const { decision, reason, continue: goesOn, stopReason } = output.output;
  const { permissionDecision, permissionDecisionReason, updatedInput, additionalContext, ...specific } = fieldsOf(
    output.output["hookSpecificOutput"],
  );
  const verdict = VERDICTS[String(permissionDecision ?? decision)];
  const why = permissionDecisionReason ?? reason;
  const ended = goesOn === false ? (typeof stopReason === "string" ? stopReason : "A hook ended the turn.") : undefined;
  const result = specific["updatedToolOutput"] ?? specific["updatedMCPToolOutput"];
  const isChanged = typeof updatedInput === "object" && updatedInput !== null && event === "PreToolUse";
  return {
    context: added(additionalContext),
    ...(verdict !== undefined && { verdict }),
    ...(ended !== undefined && { ended, ...(event === "PreToolUse" && { verdict: "deny", reason: ended }) }),
    ...(typeof why === "string" && verdict !== undefined && { reason: clip(why, MOST_CONTEXT) }),
    ...(isChanged && { input: updatedInput as ToolInput }),
    ...(result !== undefined && { result }),
  };
}

/** The words of both forms of a decision. "defer" leaves it to people. */
const VERDICTS: { readonly [word: string]: Verdict } = {
  ...{ allow: "allow", deny: "deny", ask: "ask", defer: "ask", approve: "allow", block: "deny" },
};

/** What a matcher is compared with: nothing for events without matchers. */
function subjectsOf(event: TurnEvent): readonly string[] {
  switch (event.event) {
    case "SessionStart":
      return [event.source];
    case "PreCompact":
      return [event.trigger];
    case "SubagentStop":
      return [event.agent];
    case "Notification":
      return [event.about];
    default:
      return [];
  }
}

function bodyOf(event: TurnEvent): ToolInput {
  switch (event.event) {
    case "SessionStart":
      return { source: event.source };
    case "UserPromptSubmit":
      return { prompt: event.prompt };
    case "Stop":
      return { stop_hook_active: event.again, last_assistant_message: event.lastMessage };
    case "SubagentStop":
      return { stop_hook_active: event.again, last_assistant_message: event.lastMessage, agent_type: event.agent };
    case "PreCompact":
      return { trigger: event.trigger, custom_instructions: event.keep };
    case "Notification":
      return { message: event.message, title: "Handrail", notification_type: event.about };
  }
}

/**
 * Whether a matcher is about one of the names. Letters, digits, `_`, `-`, spaces, `,` and `|` are names; anything else
 * is a regular expression that may match a part.
 */
function matches(matcher: string | undefined, names: readonly string[]): boolean {
  if (matcher === undefined || matcher === "" || matcher === "*") return true;
  if (/^[\w\s,|-]+$/.test(matcher)) return matcher.split(/[,|]/).some((each) => names.includes(each.trim()));
  const expression = new RegExp(matcher);
  return names.some((name) => expression.test(name));
}

function fieldsOf(value: unknown): ToolInput {
  return typeof value === "object" && value !== null ? (value as ToolInput) : {};
}
