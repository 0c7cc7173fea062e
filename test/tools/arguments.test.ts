// What models are told of each argument of a built-in tool: its type, whether it must be given, and its default.
import { expect, test } from "vitest";
import type { JsonSchema } from "../../src/core/contract/schema.ts";
import { definitions } from "../../src/core/call/definitions.ts";
import { toolset } from "../../src/core/call/toolset.ts";
import { BUILT_IN } from "../../src/tools/presets/built-in.ts";
import { PRESETS } from "../../src/tools/presets/presets.ts";

const ARGUMENTS = `
read takes path: string, required
read takes offset: integer, optional, default 1
read takes limit: integer, optional, default 2000
write takes path: string, required
write takes content: string, required
edit takes path: string, required
edit takes old_text: string, optional
edit takes new_text: string, optional
edit takes replace_all: boolean, optional, default false
edit takes edits: array, optional
bash takes command: string, required
bash takes timeout: number, optional, default 120
bash takes background: boolean, optional
bash takes detached: boolean, optional
jobs takes action: string, one of "list" "output" "wait" "write" "kill", required
jobs takes id: string, optional
jobs takes offset: integer, optional, default the output since the last call
jobs takes limit: integer, optional
jobs takes follow: boolean, optional
jobs takes timeout: number, optional, default 60
jobs takes text: string, optional
jobs takes end: boolean, optional
grep takes pattern: string, required
grep takes path: string, optional, default the working directory
grep takes glob: string, optional
grep takes case_sensitive: boolean, optional, default false
grep takes literal: boolean, optional, default false
grep takes context_lines: integer, optional, default 0
grep takes max_results: integer, optional, default 100
find takes path: string, optional, default the working directory
find takes pattern: string, optional, default everything
find takes type: string, one of "file" "dir" "", optional, default ""
find takes max_results: integer, optional, default 200
ls takes path: string, optional, default the working directory
ls takes show_hidden: boolean, optional, default false
memory_store takes key: string, required
memory_store takes content: string, required
memory_store takes category: string, one of "core" "daily" "conversation", optional, default core
memory_recall takes query: string, required
memory_recall takes limit: integer, optional, default 5
memory_forget takes key: string, required
cron_add takes name: string, required
cron_add takes schedule: object, required
cron_add takes command: string, optional
cron_add takes prompt: string, optional
cron_add takes agent: string, optional
cron_add takes delete_after_run: boolean, optional, default true for at and job
cron_add takes overlap: string, one of "skip" "queue" "replace", optional, default skip
cron_add takes max_seconds: integer, optional, default 120 for a command
cron_add takes max_tokens: integer, optional
cron_add takes max_cost: number, optional
cron_remove takes job_id: string, required
time takes format: string, one of "epoch" "epoch_ms" "epoch_ns" "iso" "rfc2822" "date" "time", optional, default epoch
web_search takes query: string, required
web_search takes max_results: number, optional, default 10
web_fetch takes url: string, required
web_fetch takes max_bytes: number, optional, default 51200
web_fetch takes main_only: boolean, optional, default false
web_search of the preset operator takes max_results: number, optional, default 8
fetch_url takes url: string, required
http_request takes url: string, required
http_request takes method: string, one of "GET" "POST" "PUT" "DELETE" "PATCH" "HEAD" "OPTIONS", optional, default GET
http_request takes headers: object, optional
http_request takes body: string, optional
browser takes action: string, one of "open" "snapshot" "click" "type" "press" "select" "hover" "scroll" "wait" "text" "find" "screenshot" "upload" "back" "tabs" "console" "network" "evaluate" "close", required
browser takes url: string, optional
browser takes ref: string, optional
browser takes text: string, optional
browser takes key: string, optional
browser takes values: array, optional
browser takes paths: array, optional
browser takes script: string, optional
browser takes direction: string, one of "up" "down" "top" "bottom", optional
browser takes seconds: number, optional
browser takes gone: boolean, optional
browser takes person: string, optional
browser takes submit: boolean, optional
browser takes tab: integer, optional
browser takes dialog: string, one of "accept" "dismiss", optional, default dismiss
shell takes command: string, required
shell takes approved: boolean, optional, default false
run_shell takes command: string, required
run_shell takes wait: boolean or string or number, optional, default true
capture-pane takes target: string, optional, default the pane where commands run
capture-pane takes start: string, optional
capture-pane takes end: string, optional
capture-pane takes join_wrapped_lines: boolean, optional, default true
capture-pane takes preserve_trailing_spaces: boolean, optional, default false
capture-pane takes include_escape_sequences: boolean, optional, default false
capture-pane takes escape_non_printable: boolean, optional, default false
capture-pane takes include_alternate_screen: boolean, optional, default false
capture-pane takes delay: string, optional
capture-pane takes delay_ms: integer, optional
send-keys takes target: string, optional, default the pane where commands run
send-keys takes keys: array, optional
send-keys takes literal_text: string, optional
send-keys takes enter: boolean, optional, default false
send-keys takes delay: string, optional
send-keys takes delay_ms: integer, optional
read_file takes path: string, required
write_file takes path: string, required
write_file takes content: string, required
file_read takes path: string, required
file_read takes offset: integer, optional, default 1
file_read takes limit: integer, optional, default 2000
file_write takes path: string, required
file_write takes content: string, required
`;

const every = Object.values(BUILT_IN).map((make) => make({}));
const schemas = new Map([
  ...schemasOf(every),
  ...schemasOf(PRESETS.operator()).map(([name, schema]) => [`${name} of the preset operator`, schema] as const),
]);

const lines = ARGUMENTS.trim().split("\n");

test.each(lines)("%s", (line) => {
  const [, tool = "", argument = ""] = /^(.+) takes (\w+): /.exec(line) ?? [];
  expect(`${tool} takes ${argument}: ${told(tool, argument)}`).toBe(line);
});

test("every argument of every tool is in the list", () => {
  const all = schemasOf(every).flatMap(([tool, schema]) =>
    Object.keys(schema["properties"] ?? {}).map((argument) => `${tool} takes ${argument}: ${told(tool, argument)}`),
  );
  expect(lines.filter((line) => !line.includes(" of the preset "))).toEqual(all);
});

function schemasOf(tools: Parameters<typeof toolset>[0]): readonly (readonly [name: string, schema: JsonSchema])[] {
  return (definitions(toolset(tools), "json") ?? []).map(({ name, parameters }) => [name, parameters]);
}

interface Argument {
  readonly type?: string;
  readonly anyOf?: readonly { readonly type: string }[];
  readonly enum?: readonly string[];
  readonly default?: string | number | boolean;
  readonly description: string;
}

/** Returns what the schema and its description say of an argument. */
function told(tool: string, argument: string): string {
  const { properties = {}, required = [] } = (schemas.get(tool) ?? {}) as {
    readonly properties?: { readonly [name: string]: Argument };
    readonly required?: readonly string[];
  };
  const { type, anyOf, enum: values, description, default: given } = properties[argument] ?? { description: "" };
  const [, named, marked] = /[Dd]efault: ("[^"]*"|[^,;()]*[^,;() ])|(\w+) \(default\)/.exec(description) ?? [];
  const standard = named ?? marked ?? given;
  return [
    anyOf?.map((each) => each.type).join(" or ") ?? type,
    ...(values === undefined ? [] : [`one of ${values.map((value) => JSON.stringify(value)).join(" ")}`]),
    required.includes(argument) ? "required" : "optional",
    ...(standard === undefined ? [] : [`default ${standard}`]),
  ].join(", ");
}
