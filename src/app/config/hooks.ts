import { HOOK_EVENTS, type HookGroup, type HookSettings, labelOf } from "../../connect/guard/hook-settings.ts";
import { messageOf } from "../../core/util/errors.ts";
import type { Complaint } from "./project-rules.ts";
import { type Schema, type ValueOf, choice, fields, list, positive, record, text, yesOrNo } from "./schemas.ts";
import { type Owner, mapped, markEach } from "./values.ts";

/** A shell replaces the variables in it. */
const literal = (title: string) => text(title, { literal: true });

/** The types `http`, `prompt`, `agent` and `mcp_tool` of Claude Code do not exist here. */
const kind: Schema<"command"> = {
  ...choice(["command"]),
  title: '"command"',
  advice: "A hook is a program; for a URL, write a command such as curl.",
};

const handler = fields(
  {
    type: kind,
    command: literal("a command"),
    args: list(literal("an argument")),
    timeout: positive(86_400, "seconds"),
    onFailure: choice(["block"]),
    async: yesOrNo,
    statusMessage: text("text for people"),
  },
  ["type", "command"],
);

/** The hooks of a file: events, each with groups of handlers, as in the settings of Claude Code. */
export const hooksSchema = record(
  "a map of events, each with a list of { matcher, hooks }",
  choice(HOOK_EVENTS),
  list(fields({ matcher: text("a matcher"), hooks: list(handler) }, ["hooks"])),
);

/** Complains about a matcher that is no regular expression. */
export function complaintsOfHooks(written: ValueOf<typeof hooksSchema>): readonly Complaint[] {
  return Object.entries(written).flatMap(([event, groups]) =>
    groups.flatMap(({ matcher = "" }, index) =>
      problemOf(matcher) === "" ? [] : [{ at: [event, `${index}`, "matcher"], message: problemOf(matcher) }],
    ),
  );
}

/** Describes the hooks of a project: what trust would let run. */
export function describeHooks(settings: HookSettings): string | undefined {
  const all = Object.entries(settings).flatMap(([event, groups]) =>
    groups.flatMap(({ hooks }) => hooks.map((each) => `${event}: ${labelOf(each)}`)),
  );
  return all.length === 0 ? undefined : `hooks that run OUTSIDE the sandbox, as you: ${all.join("; ")}`;
}

export const markHooks = (settings: HookSettings, standing: NonNullable<HookGroup["project"]>): HookSettings =>
  mapped(settings as { readonly [event: string]: readonly HookGroup[] }, (groups) => markEach(groups, standing));

/** A project's hooks are added to the user's. The user's own replace those of the file below, event by event. */
export function mergedHooks(below: HookSettings = {}, value: HookSettings, by: Owner): HookSettings {
  if (by === "user") return { ...below, ...value };
  const both = HOOK_EVENTS.map((event) => [event, [...(below[event] ?? []), ...(value[event] ?? [])]] as const);
  return Object.fromEntries(both.filter(([, groups]) => groups.length > 0));
}

/** Returns what is wrong with a matcher; "" if nothing is. */
function problemOf(matcher: string): string {
  try {
    return matcher === "*" || new RegExp(matcher).source !== "" ? "" : "it is empty";
  } catch (error) {
    return messageOf(error);
  }
}
