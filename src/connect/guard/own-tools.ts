import { absolutePath } from "../../core/util/paths.ts";
import type { CLAUDE_TOOLS } from "./client-tools.ts";
import type { ToolInput } from "./clients.ts";

/** A call of one of our tools, as a hook of Claude Code sees it. */
export interface HookCall {
  /** The names by which matchers find it. The first one is the tool's name. */
  readonly names: readonly [name: string, ...others: string[]];
  readonly input: ToolInput;
  /** Returns our arguments for the input as a hook has changed it. */
  back(input: ToolInput): ToolInput;
}

type Named = readonly [
  names: readonly [keyof typeof CLAUDE_TOOLS, ...string[]],
  theirs?: { readonly [ours: string]: string },
];

const COMMAND: Named = [["Bash"], { background: "run_in_background" }];
const READ: Named = [["Read"], { path: "file_path" }];
const WRITE: Named = [["Write"], { path: "file_path" }];

/** Our tools, by their names and the names of their arguments in Claude Code: `CLAUDE_TOOLS` in the other direction. */
const OURS: { readonly [tool: string]: Named } = {
  ...{ bash: COMMAND, run_shell: COMMAND, shell: COMMAND },
  ...{ read: READ, read_file: READ, file_read: READ, write: WRITE, write_file: WRITE, file_write: WRITE },
  edit: [["Edit", "MultiEdit"], { path: "file_path", old_text: "old_string", new_text: "new_string" }],
  ...{ find: [["Glob"]], grep: [["Grep"], { max_results: "head_limit" }], ls: [["LS"]] },
  ...{ web_fetch: [["WebFetch"]], fetch_url: [["WebFetch"]], web_search: [["WebSearch"]] },
  delegate: [["Task", "Agent"], { agent: "subagent_type" }],
};

/** Returns a call as hooks see it. Tools without a counterpart keep their names, as those of MCP servers do. */
export function hookCall(tool: string, input: unknown, workDir: string): HookCall {
  const given: ToolInput = typeof input === "object" && input !== null ? (input as ToolInput) : { value: input };
  const [names, theirs = {}] = (Object.hasOwn(OURS, tool) ? OURS[tool] : undefined) ?? [[tool] as const];
  const ours = Object.fromEntries(Object.entries(theirs).map(([own, their]) => [their, own]));
  const shown: { [name: string]: unknown } = renamed(given, theirs);
  if (typeof shown["file_path"] === "string")
    shown["file_path"] = absolutePath(shown["file_path"], { workDir, home: process.env["HOME"] ?? "/" });
  const isTimed = names[0] === "Bash" && typeof given["timeout"] === "number";
  if (isTimed) shown["timeout"] = Number(given["timeout"]) * 1_000; // milliseconds there
  // An edit of several places: checks of one text see all of them.
  const edits = Array.isArray(given["edits"])
    ? (given["edits"] as ToolInput[]).map((each) => renamed(each, theirs))
    : [];
  const joined = (name: string) => edits.map((each) => each[name]).join("\n");
  if (edits.length > 0)
    Object.assign(shown, { edits, old_string: joined("old_string"), new_string: joined("new_string") });
  return {
    names: [names[0], ...names.slice(1), tool],
    input: shown,
    back(changed) {
      const { edits: places, ...rest } = renamed(changed, ours);
      if (isTimed && typeof rest["timeout"] === "number") rest["timeout"] /= 1_000;
      if (!Array.isArray(places)) return rest;
      const { old_text: _, new_text: __, ...about } = rest;
      return { ...about, edits: (places as ToolInput[]).map((each) => renamed(each, ours)) };
    },
  };
}

function renamed(input: ToolInput, names: { readonly [name: string]: string }): { [name: string]: unknown } {
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [names[name] ?? name, value]));
}
