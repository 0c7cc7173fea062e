import { expect, test } from "vitest";
import type { ClientName, ToolInput } from "../../../src/connect/guard/clients.ts";
import { createGuard } from "../../../src/connect/guard/judge.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";

type Call = readonly [tool: string, input: ToolInput];

const COMMANDS = [
  ...[
    "ls -la",
    "git status",
    "git diff HEAD~1",
    "git log --oneline -5",
    "npm test",
    "npm run build",
    "npx tsc --noEmit",
  ],
  ...[
    "cat a.ts | head -20",
    "grep -rn TODO src",
    "mkdir -p out && echo x > out/y",
    "python3 -c 'print(1)'",
    "make -j2",
  ],
  ...["cd src && ls", "node -e 'console.log(1)'", "sed -n 1,5p a.ts", "cargo test", "go build ./...", "wc -l a.ts"],
  ...["rm -rf out", "mv a.ts b.ts", "find . -name '*.ts'", "git add -A", "pytest -q", "echo hi > /tmp/x"],
];
const PATCHES = [
  "*** Add File: new.ts\n+export {};",
  "*** Update File: a.ts\n@@\n-x\n+y",
  "*** Update File: a.ts\n*** Move to: src/c.ts\n@@ f()\n x\n-y\n+z\n*** End of File",
  "*** Delete File: a.ts",
  "*** Add File: docs/a b.md\n+# A\n+\n+text\n*** Update File: src/b.ts\n@@\n-a\n+b",
].map((text) => `*** Begin Patch\n${text}\n*** End Patch`);

/** What agents call all day, in the arguments of each. */
const EVERYDAY: { readonly [name in ClientName]: (folder: string) => readonly Call[] } = {
  "claude-code": (folder) => [
    ...COMMANDS.map((command): Call => ["Bash", { command, description: "Do it", timeout: 60_000 }]),
    ["Bash", { command: "npm run dev", run_in_background: true, dangerouslyDisableSandbox: false }],
    ["Read", { file_path: `${folder}/a.ts` }],
    ["Read", { file_path: `${folder}/a.ts`, offset: 1, limit: 10 }],
    ["Glob", { pattern: "**/*.ts" }],
    ["Glob", { pattern: "src/**/*.{ts,tsx}", path: folder }],
    ["Grep", { pattern: "TODO" }],
    ["Grep", { pattern: "x", glob: "*.ts", output_mode: "content", "-n": true, "-C": 2, head_limit: 20 }],
    ["Grep", { pattern: "x", type: "ts", path: "src", "-i": true, multiline: true }],
    ["Write", { file_path: `${folder}/n.ts`, content: "x" }],
    ["Edit", { file_path: `${folder}/a.ts`, old_string: "x", new_string: "y", replace_all: true }],
    ["NotebookEdit", { notebook_path: `${folder}/n.ipynb`, new_source: "1", edit_mode: "insert", cell_type: "code" }],
    ["TodoWrite", { todos: [] }],
    ["Task", { description: "Look", prompt: "Find it", subagent_type: "Explore" }],
    ["ToolSearch", { query: "x" }],
    ["Skill", { skill: "review" }],
    ["ExitPlanMode", { plan: "x" }],
  ],
  codex: () => [
    ...COMMANDS.map((command): Call => ["Bash", { command }]),
    ...PATCHES.flatMap((command): Call[] => ["apply_patch", "Edit", "Write"].map((tool): Call => [tool, { command }])),
    ["view_image", { path: "docs/a.png" }],
    ["update_plan", { plan: [] }],
  ],
  gemini: (folder) => [
    ...COMMANDS.map((command): Call => ["run_shell_command", { command, description: "Do it", dir_path: folder }]),
    ["run_shell_command", { command: "npm run dev", is_background: true, wait_for_previous: true }],
    ["read_file", { file_path: "a.ts" }],
    ["read_file", { file_path: `${folder}/a.ts`, start_line: 1, end_line: 5 }],
    ["read_many_files", { include: ["src/**/*.ts", "docs/"], exclude: ["**/*.log"], recursive: true }],
    ["list_directory", { dir_path: ".", ignore: ["dist"], file_filtering_options: { respect_git_ignore: true } }],
    ["glob", { pattern: "**/*.ts", case_sensitive: false, respect_git_ignore: true }],
    ["glob", { pattern: "src/*.ts", dir_path: folder }],
    ["grep_search", { pattern: "x" }],
    [
      "grep_search",
      { pattern: "x", include_pattern: "*.{ts,md}", context: 2, total_max_matches: 10, names_only: true },
    ],
    ["search_file_content", { pattern: "x", include: "*.ts" }],
    ["write_file", { file_path: "n.ts", content: "x" }],
    ["replace", { file_path: "a.ts", instruction: "Do it", old_string: "x", new_string: "y", allow_multiple: true }],
    ["write_todos", { todos: [] }],
    ["ask_user", { questions: [] }],
    ["update_topic", { title: "x" }],
    ["activate_skill", { name: "x" }],
  ],
  cursor: (folder) => [
    ...COMMANDS.map((command): Call => ["Shell", { command, working_directory: folder, description: "Do it" }]),
    ["Shell", { command: "npm run dev", is_background: true, block_until_ms: 1_000 }],
    ["Read", { path: `${folder}/a.ts`, offset: 1, limit: 5 }],
    ["Read", { target_file: "a.ts", explanation: "x" }],
    ["Grep", { pattern: "x" }],
    ["Grep", { pattern: "x", path: "src", glob: "*.ts", output_mode: "content", "-A": 1 }],
    ["Glob", { glob_pattern: "**/*.ts", target_directory: folder }],
    ["Glob", { pattern: "src/*" }],
    ["LS", { target_directory: ".", ignore_globs: ["dist"] }],
    ["Write", { path: "n.ts", contents: "x" }],
    ["Write", { file_path: "n.ts", content: "x" }],
    ["Edit", { file_path: "a.ts", edits: [{ old_string: "x", new_string: "y" }] }],
    ["StrReplace", { path: "a.ts", old_string: "x", new_string: "y", replace_all: false }],
    ["Delete", { path: "a.ts" }],
    ["TodoWrite", { todos: [] }],
    ["Task", { prompt: "x" }],
    ["AskQuestion", { question: "x" }],
  ],
  opencode: (folder) => [
    ...COMMANDS.map((command): Call => ["bash", { command, timeout: 60_000, description: "Do it" }]),
    ["bash", { command: "ls", workdir: `${folder}/src` }],
    ...PATCHES.map((patchText): Call => ["apply_patch", { patchText }]),
    ["read", { filePath: `${folder}/a.ts`, offset: 1, limit: 5 }],
    ["read", { filePath: "src" }],
    ["write", { filePath: `${folder}/n.ts`, content: "x" }],
    ["edit", { filePath: "a.ts", oldString: "x", newString: "y", replaceAll: true }],
    ["glob", { pattern: "**/*.ts" }],
    ["glob", { pattern: "*.ts", path: `${folder}/src` }],
    ["grep", { pattern: "x" }],
    ["grep", { pattern: "x", include: "*.{ts,tsx}", path: "src" }],
    ["list", { path: folder, ignore: ["dist"] }],
    ["todowrite", { todos: [] }],
    ["task", { prompt: "x" }],
    ["question", { questions: [] }],
  ],
};

test.for(Object.keys(EVERYDAY) as ClientName[])("everyday calls of %s are not asked about", async (client) => {
  const files = { "a.ts": "x\n", "src/b.ts": "a\n", ".env": "KEY=1\n", "docs/a.png": "", "out/y": "" };
  const folder = await workspace(files);
  const toolkit = await toolkitWith({ workDir: folder, preset: "none", filesOf: "machine", park: "now" });
  const hasSandbox = (await toolkit.backend.sandbox?.state())?.works === true;
  const guard = createGuard({ toolkit, ask: "client", contained: async () => "contained" });
  const calls = EVERYDAY[client](folder);
  expect(calls.length).toBeGreaterThanOrEqual(40);
  const asked: unknown[] = [];
  for (const [at, [tool, input]] of calls.entries()) {
    const where = { session: "s", cwd: folder, project: folder, id: `c${at}`, phase: "before" } as const;
    const { verdict, ...rest } = await guard.before(client, { ...where, tool, input });
    const isCommand = "command" in input && !String(input["command"]).startsWith("***");
    if (verdict !== "allow" && verdict !== "pass" && (hasSandbox || !isCommand))
      asked.push([tool, input, verdict, rest]);
  }
  expect(asked).toEqual([]);
});
