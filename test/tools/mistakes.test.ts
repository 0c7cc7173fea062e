import { describe, expect, test } from "vitest";
import { asText } from "../../src/core/call/result.ts";
import type { ToolResult } from "../../src/core/contract/result.ts";
import { toolkitWith, workspace } from "../support/workspace.ts";

/** A call as a model writes it: the arguments as a value, or as the text that the provider passes on. */
type Call = readonly [tool: string, input: unknown];

interface Mistake {
  readonly call: Call;
  readonly status: ToolResult["status"];
  /** A part of what the model reads: the result, or what it needs to know to fix the call. */
  readonly reads: string | RegExp;
  /** The call that follows from the text, and must succeed. Every mistake that is not repaired has one. */
  readonly next?: Call;
  readonly preset?: "coding" | "operator";
}

const FILES = {
  "src/app.ts": 'import { name } from "./name";\n\nexport const app = name;\nexport default app;\n',
  "src/utils/Strings.ts": "export const trim = 1;\n",
  ".github/workflows/ci.yml": "on: push\n",
  "readme.md": "# App\n",
};

const FIRST = 'import { name } from "./name";';
const CHANGE = { path: "src/app.ts", old_text: "= name", new_text: "= 1" };

const MISTAKES: { readonly [what: string]: Mistake } = {
  // Names and arguments of other agents' tools
  "Claude Code's Bash": {
    call: ["Bash", { command: "echo hi", description: "Say hi", timeout: 5, run_in_background: false }],
    status: "ok",
    reads: /^hi\n$/,
  },
  "Codex' shell, with an argument vector and milliseconds": {
    call: ["shell", { command: ["bash", "-lc", "echo hi | cat"], timeout_ms: 5_000 }],
    status: "ok",
    reads: /^hi\n$/,
  },
  "Gemini CLI's run_shell_command": {
    call: ["run_shell_command", { command: "echo hi", description: "Say hi" }],
    status: "ok",
    reads: /^hi\n$/,
  },
  "Cline's execute_command": {
    call: ["execute_command", { command: "echo hi", requires_approval: false }],
    status: "ok",
    reads: /^hi\n$/,
  },
  "Claude Code's Read": { call: ["Read", { file_path: "src/app.ts", limit: 1 }], status: "ok", reads: FIRST },
  "a last line in place of a number of lines": {
    call: ["read_file", { target_file: "src/app.ts", start_line: 3, end_line: 3 }],
    status: "ok",
    reads: /^export const app = name;\n\n\[Showing lines 3-3 of 4/,
  },
  "Claude Code's Edit, of every occurrence": {
    call: ["Edit", { file_path: "src/app.ts", old_string: "app", new_string: "main", replace_all: true }],
    status: "ok",
    reads: "Edited src/app.ts (2 places)",
  },
  "Claude Code's MultiEdit": {
    call: ["MultiEdit", { file_path: "src/app.ts", edits: [{ old_string: "= name", new_string: "= 1" }] }],
    status: "ok",
    reads: "+export const app = 1;",
  },
  "Gemini CLI's replace": {
    call: ["replace", { file_path: "src/app.ts", old_string: "= name", new_string: "= 1", instruction: "Use 1" }],
    status: "ok",
    reads: "+export const app = 1;",
  },
  "Cline's write_to_file": {
    call: ["write_to_file", { path: "new.txt", content: "new\n" }],
    status: "ok",
    reads: "Created new.txt",
  },
  "Claude Code's Grep": {
    call: ["Grep", { pattern: "IMPORT", output_mode: "content", "-n": true, "-i": true, "-C": 1, glob: "*.ts" }],
    status: "ok",
    reads: `src/app.ts:1: ${FIRST}`,
  },
  "Gemini CLI's search_file_content": {
    call: ["search_file_content", { pattern: "push", include: "*.yml" }],
    status: "ok",
    reads: ".github/workflows/ci.yml:1: on: push",
  },
  "Claude Code's Glob": {
    call: ["Glob", { pattern: "**/*.yml" }],
    status: "ok",
    reads: /^\.github\/workflows\/ci\.yml$/,
  },
  "Gemini CLI's list_directory": { call: ["list_directory", { dir_path: "src" }], status: "ok", reads: "app.ts" },
  "Codex' apply_patch": {
    call: ["apply_patch", { input: "*** Begin Patch\n*** End Patch" }],
    status: "unknown-tool",
    reads: 'unknown tool "apply_patch". Closest: "edit", "write"',
    next: ["edit", CHANGE],
  },
  "OpenHands' str_replace_editor": {
    call: ["str_replace_editor", { command: "view", path: "src/app.ts" }],
    status: "unknown-tool",
    reads: 'unknown tool "str_replace_editor". Closest: "edit", "read", "write"',
    next: ["read", { path: "src/app.ts" }],
  },
  "Grep, where there is no tool for it": {
    call: ["Grep", { pattern: "import" }],
    preset: "coding",
    status: "unknown-tool",
    reads: 'unknown tool "Grep". Closest: "bash"',
    next: ["bash", { command: "grep -rn import src" }],
  },
  "Edit, where there is no tool for it": {
    call: ["Edit", { file_path: "readme.md", old_string: "App", new_string: "It" }],
    preset: "operator",
    status: "unknown-tool",
    reads: 'unknown tool "Edit". Closest: "write_file"',
    next: ["write_file", { path: "readme.md", content: "# It\n" }],
  },
  "Claude Code's BashOutput": {
    call: ["BashOutput", { bash_id: "1" }],
    status: "unknown-tool",
    reads: 'unknown tool "BashOutput". Closest: "jobs"',
    next: ["jobs", { action: "list" }],
  },
  "a misspelt name": {
    call: ["raed", { path: "src/app.ts" }],
    status: "unknown-tool",
    reads: 'unknown tool "raed". Closest: "read"',
    next: ["read", { path: "src/app.ts" }],
  },

  // JSON
  "JSON in a Markdown fence": {
    call: ["read", '```json\n{"path": "src/app.ts"}\n```'],
    status: "ok",
    reads: FIRST,
  },
  "commas after the last value": {
    call: ["read", '{"path": "src/app.ts", "limit": 1,\n}'],
    status: "ok",
    reads: FIRST,
  },
  "line breaks in a string that are not escaped": {
    call: ["write", '{"path": "new.txt", "content": "one\n\ttwo\n"}'],
    status: "ok",
    reads: "Created new.txt (9B)",
  },
  "a list as a text, with such line breaks": {
    call: ["edit", { path: "src/app.ts", edits: '[{"old_text": "app = name;\n", "new_text": "app = 1;\n",}]' }],
    status: "ok",
    reads: "+export const app = 1;",
  },
  "JSON in JSON": { call: ["read", JSON.stringify('{"path": "src/app.ts"}')], status: "ok", reads: FIRST },
  "JSON that is cut off": {
    call: ["read", '{"path": "src/app.ts'],
    status: "invalid-input",
    reads: /^validation error: the arguments are not valid JSON: .* the text ends there\. Send one JSON object\.$/,
    next: ["read", '{"path": "src/app.ts"}'],
  },
  "quotes in a string that are not escaped": {
    call: ["bash", '{"command": "echo "hi""}'],
    status: "invalid-input",
    reads: /not valid JSON: .* at "hi\\"\\"}"\. Send one JSON object\.$/,
    next: ["bash", '{"command": "echo \\"hi\\""}'],
  },

  // Arguments
  "a number as a text, and null for none": {
    call: ["read", { path: "src/app.ts", offset: "1", limit: null }],
    status: "ok",
    reads: FIRST,
  },
  "a misspelt argument": {
    call: ["read", { path: "src/app.ts", ofset: 2 }],
    status: "invalid-input",
    reads: 'validation error: unknown parameter "ofset"; did you mean "offset"?',
    next: ["read", { path: "src/app.ts", offset: 2 }],
  },
  "an argument of another tool": {
    call: ["replace_in_file", { path: "src/app.ts", diff: "<<<<<<< SEARCH" }],
    status: "invalid-input",
    reads: 'unknown parameter "diff"; known: path, old_text, new_text, replace_all, edits',
    next: ["edit", CHANGE],
  },
  "an argument that is missing": {
    call: ["write", { path: "new.txt" }],
    status: "invalid-input",
    reads: 'validation error: missing required parameter "content"',
    next: ["write", { path: "new.txt", content: "" }],
  },
  "an edit without its old text": {
    call: ["edit", { path: "src/app.ts", new_text: "x" }],
    status: "invalid-input",
    reads: 'validation error: missing required parameter "old_text"',
    next: ["edit", CHANGE],
  },
  "milliseconds, more than a day of seconds": {
    call: ["bash", { command: "echo hi", timeout: 120_000 }],
    status: "invalid-input",
    reads:
      'parameter "timeout": must be <= 86400, got number 120000. timeout: Seconds, not milliseconds (default: 120;',
    next: ["bash", { command: "echo hi", timeout: 120 }],
  },
  "milliseconds that may be seconds": {
    call: ["bash", { command: "echo hi", timeout: 30_000 }],
    status: "ok",
    reads: "hi\n\n[timeout is in seconds: 30000 is 8.3 hours. For milliseconds divide by 1000.]",
  },
  "milliseconds to wait for a job": {
    call: ["jobs", { action: "wait", id: "1", timeout: 60_000 }],
    status: "invalid-input",
    reads: 'parameter "timeout": must be <= 3600, got number 60000. timeout: wait, follow: seconds, not milliseconds',
    next: ["jobs", { action: "list" }],
  },
  "a job, where none was started": {
    call: ["jobs", { action: "kill", id: "1" }],
    status: "failed",
    reads: "there is no job 1\nThere are no jobs: bash with background: true starts one.",
    next: ["bash", { command: "true", background: true }],
  },

  // Paths
  ...wrongPath("in another case", "SRC/App.ts"),
  ...wrongPath("without its folder", "app.ts"),
  ...wrongPath("with a folder that is not there", "lib/app.ts"),
  ...wrongPath("misspelt", "src/ap.ts"),
  ...wrongPath("with another extension", "src/app.js"),
  ...wrongPath("in quotes", '"src/app.ts"'),
  ...wrongPath("with an @", "@src/app.ts"),
  ...wrongPath("with a line", "src/app.ts:3"),
  ...wrongPath("with backslashes", "src\\app.ts"),
  ...wrongPath("to edit", "app.ts", "edit", { old_text: "= name", new_text: "= 1" }),
  ...wrongPath("to search", "src/App.ts", "grep", { pattern: "import" }),
  "a path that is like no other": {
    call: ["read", { path: "docs/guide.rst" }],
    status: "failed",
    reads: /^Tool error: File not found: .*\nLook for it with find: \{"pattern":"guide\.rst"\}\.$/,
    next: ["find", { pattern: "guide.rst" }],
  },
  "a path from the root of the workspace": {
    call: ["read", { path: "/src/app.ts" }],
    status: "denied",
    reads: /^Path not allowed by security policy: \/src\/app\.ts is outside the workspace \/\S+\. Use a path inside it/,
    next: ["read", { path: "src/app.ts" }],
  },
  "a folder, where a file is expected": {
    call: ["read", { path: "src" }],
    status: "failed",
    reads: /^Tool error: This is a folder, not a file: /,
    next: ["ls", { path: "src" }],
  },

  // Edits and patterns
  "an empty old_text, for a new file": {
    call: ["edit", { path: "new.txt", old_text: "", new_text: "new\n" }],
    status: "failed",
    reads: "To create a file, or replace all of it, use write.",
    next: ["write", { path: "new.txt", content: "new\n" }],
  },
  "an old_text that occurs twice": {
    call: ["edit", { path: "src/app.ts", old_text: "app", new_text: "main" }],
    status: "failed",
    reads: /occurs 2 times in src\/app\.ts: on lines 3, 4\n.* or set replace_all to replace every occurrence\.$/,
    next: ["edit", { path: "src/app.ts", old_text: "app", new_text: "main", replace_all: true }],
  },
  "an old_text with other white space": {
    call: ["edit", { path: "src/app.ts", old_text: "export  const app = name;", new_text: "" }],
    status: "failed",
    reads: /was not found in src\/app\.ts\nThe most similar text is at line 3:\n3: export const app = name;\n/,
    next: ["edit", { path: "src/app.ts", old_text: "export const app = name;", new_text: "" }],
  },
  "a regular expression of another dialect": {
    call: ["grep", { pattern: "(?<=app) = name" }],
    status: "failed",
    reads: /look-around.* is not supported[\s\S]*for plain text give literal: true\./,
    next: ["grep", { pattern: "app = name" }],
  },
};

/** A path in place of src/app.ts, and the failure that names it. */
function wrongPath(how: string, path: string, tool = "read", more: object = {}): { readonly [what: string]: Mistake } {
  const next: Call = [tool, { path: "src/app.ts", ...more }];
  const reads = /^Tool error: File not found: .*\nDid you mean src\/app\.ts\?$/;
  return { [`a path ${how}`]: { call: [tool, { path, ...more }], status: "failed", reads, next } };
}

describe.concurrent("a model's mistake is repaired, or the message says how to do it right:", () => {
  test.for(Object.entries(MISTAKES))("%s", async ([, { call, status, reads, next, preset = "workspace" }]) => {
    const workDir = await workspace(FILES);
    const toolkit = await toolkitWith({ workDir, preset, policy: { autonomy: "full" } });
    const made = async ([name, input]: Call) => toolkit.call({ name, input });
    const result = await made(call);
    const text = asText(result);
    if (typeof reads === "string") expect(text).toContain(reads);
    else expect(text).toMatch(reads);
    expect(result.status).toBe(status);
    expect(next === undefined).toBe(status === "ok");
    if (next !== undefined) expect(await made(next)).toMatchObject({ status: "ok" });
  });
});
