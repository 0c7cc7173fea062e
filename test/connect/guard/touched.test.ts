import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ClientName, ToolInput } from "../../../src/connect/guard/clients.ts";
import { effectsOf, touched } from "../../../src/connect/guard/touched.ts";
import { workspace } from "../../support/workspace.ts";

const at = (path: string) => `/w/${path}`;
const reads = (...paths: readonly string[]) => paths.map((path) => ({ kind: "read", path }));
const patch = (...lines: readonly string[]) => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");

describe("what a call of a client touches", () => {
  const CASES: {
    readonly [what: string]: readonly [ClientName, tool: string, input: ToolInput, effects: readonly object[]];
  } = {
    "a command": ["claude-code", "Bash", { command: "ls" }, [{ kind: "exec", command: "ls", cwd: "/w" }]],
    "a command in a folder": [
      ...(["gemini", "run_shell_command", { command: "ls", dir_path: "src" }] as const),
      [{ kind: "exec", command: "ls", cwd: at("src") }],
    ],
    "a command outside the sandbox": [
      ...(["claude-code", "Bash", { command: "npm i", dangerouslyDisableSandbox: true }] as const),
      [{ kind: "exec", command: "npm i", cwd: "/w", within: "none" }],
    ],
    "a command outside the sandbox, by its first word": [
      ...(["codex", "Bash", { command: " HANDRAIL_SANDBOX=off npm i" }] as const),
      [{ kind: "exec", command: "npm i", cwd: "/w", within: "none" }],
    ],
    "a file that is read": ["cursor", "Read", { file_path: "a.txt" }, reads(at("a.txt"))],
    "every path of a call": ["cursor", "Read", { file_path: "a.txt", path: "/etc/b" }, reads(at("a.txt"), "/etc/b")],
    "both paths of a write": [
      ...(["cursor", "Write", { file_path: "a.txt", path: "../b" }] as const),
      ["/w/a.txt", "/w/../b"].map((path) => ({ kind: "write", path })),
    ],
    "both meanings of ~": ["gemini", "read_file", { file_path: "~/a" }, reads("~/a", at("~/a"))],
    "both forms of a letter": ["claude-code", "Read", { file_path: "a\u212a" }, reads(at("a\u212a"), at("aK"))],
    "a search without a path": ["claude-code", "Grep", { pattern: "x" }, reads("/w")],
    "a file that is written": ["opencode", "edit", { filePath: "/w/a.txt" }, [{ kind: "write", path: at("a.txt") }]],
    "a patch of several files": [
      ...(["codex", "apply_patch"] as const),
      { command: patch("*** Update File: a.txt", "*** Move to: b.txt", "@@", "-x", "+y", "*** Delete File: c.txt") },
      [at("a.txt"), at("b.txt"), at("c.txt")].map((path) => ({ kind: "write", path })),
    ],
    "names in an absolute folder": [
      ...(["claude-code", "Glob", { pattern: "/root/.ssh/*" }] as const),
      reads("/w", "/root/.ssh"),
    ],
    "names in a folder above": ["gemini", "glob", { pattern: "../*.txt" }, reads("/w", "/w/..")],
    "names in one of several folders": [
      ...(["opencode", "glob", { pattern: "{src,/etc}/**" }] as const),
      reads("/w", "/etc", at("src")),
    ],
    "names in the home": ["cursor", "Glob", { glob_pattern: "~/.aws/*" }, reads("/w", "~/.aws", at("~/.aws"))],
    "all files of a folder above": ["gemini", "read_many_files", { include: ["../x/**"] }, reads("/w/../x")],
    "URLs in a prompt": [
      ...(["gemini", "web_fetch", { prompt: "Compare https://a.example/1 and HTTPS://b.example/2." }] as const),
      ["https://a.example/1", "HTTPS://b.example/2."].map((url) => ({ kind: "fetch", url, method: "GET" })),
    ],
    "a list of things to do": ["claude-code", "TodoWrite", { todos: [] }, []],
    "a tool of an MCP server": [
      ...(["claude-code", "mcp__github__create_issue", { title: "x" }] as const),
      [{ kind: "foreign", from: "mcp:github", tool: "create_issue", input: '{"title":"x"}' }],
    ],
    "a tool that nobody knows": [
      ...(["codex", "launch", {}] as const),
      [{ kind: "foreign", from: "codex", tool: "launch", input: "{}" }],
    ],
    "a command that is not a text": [
      ...(["codex", "Bash", { command: ["rm", "-rf", "/"] }] as const),
      [{ kind: "foreign", from: "codex", tool: "Bash", input: '{"command":["rm","-rf","/"]}' }],
    ],
    "a path that is not a text": [
      ...(["gemini", "write_file", { file_path: { a: 1 }, content: "" }] as const),
      [{ kind: "foreign", from: "gemini", tool: "write_file", input: '{"file_path":{"a":1},"content":""}' }],
    ],
    "a name of an object's own": [
      ...(["codex", "constructor", {}] as const),
      [{ kind: "foreign", from: "codex", tool: "constructor", input: "{}" }],
    ],
    "a shell of another language": [
      ...(["claude-code", "PowerShell", { command: "ls" }] as const),
      [{ kind: "foreign", from: "claude-code", tool: "PowerShell", input: '{"command":"ls"}' }],
    ],
  };
  test.for(Object.entries(CASES))("%s", ([, [client, tool, input, effects]]) => {
    expect(effectsOf(client, tool, input, "/w")).toEqual(effects);
  });

  const REFUSED: { readonly [what: string]: readonly [ClientName, tool: string, input: ToolInput] } = {
    "an argument that nobody knows": ["claude-code", "Grep", { pattern: "x", follow: true }],
    "an argument of another client's tool": ["opencode", "grep", { pattern: "x", glob: ".env" }],
    "an argument of a command": ["codex", "Bash", { command: "ls", shell: "/tmp/x" }],
    "an argument of a write": ["opencode", "write", { filePath: "a", content: "", path: "/etc/x" }],
    "a blank around a path": ["claude-code", "Read", { file_path: " /etc/passwd" }],
    "a Unicode blank around a path": ["gemini", "write_file", { file_path: "/etc/x\u00a0", content: "" }],
    "a folder after a wildcard": ["claude-code", "Glob", { pattern: "*/../../x" }],
    "a backslash in a glob": ["gemini", "read_many_files", { include: ["..\\*"] }],
    "a glob of too many": ["gemini", "glob", { pattern: "{a,b}".repeat(9) }],
    "a patch in a form of its own": ["opencode", "apply_patch", { patchText: patch("*** Add File:../x", "+x") }],
  };
  test.for(Object.entries(REFUSED))("is refused with the reason: %s", ([, [client, tool, input]]) => {
    expect(() => effectsOf(client, tool, input, "/w")).toThrow(
      /known here|blanks around|".." after|alternatives|patch/,
    );
  });
});

describe("a search of files", () => {
  const project = async () => {
    const folder = await workspace({
      ...{ "a.ts": "", ".env": "KEY=1", "deploy/server.pem": "", "src/b.ts": "", "docs/read me.md": "" },
      ...{ "node_modules/x/test.pem": "" },
    });
    await symlink(join(folder, ".env"), join(folder, "docs/notes.txt"));
    return folder;
  };
  const OPENS: {
    readonly [what: string]: readonly [ClientName, tool: string, input: ToolInput, opened: readonly string[]];
  } = {
    "by its name": ["opencode", "grep", { pattern: ".", include: ".env" }, [".env"]],
    "by a part of its name": ["claude-code", "Grep", { pattern: ".", glob: "*.e?v" }, [".env"]],
    "by a set of letters": ["claude-code", "Grep", { pattern: ".", glob: ".[de]nv" }, [".env"]],
    "by one of several": ["cursor", "Grep", { pattern: ".", glob: "{*.ts,.env}" }, [".env"]],
    "by the second glob": ["claude-code", "Grep", { pattern: ".", glob: "*.ts .env" }, [".env"]],
    "in capitals": ["gemini", "grep_search", { pattern: ".", include_pattern: ".ENV" }, [".env"]],
    "by the older name": ["gemini", "search_file_content", { pattern: ".", include: "*.pem" }, ["deploy/server.pem"]],
    "with its folder": ["opencode", "grep", { pattern: ".", include: "deploy/**" }, ["deploy/server.pem"]],
    "by what is left out": ["claude-code", "Grep", { pattern: ".", glob: "!*.ts" }, [".env", "deploy/server.pem"]],
    "all at once": ["claude-code", "Grep", { pattern: ".", glob: "**" }, [".env", "deploy/server.pem"]],
    "in what is read at once": ["gemini", "read_many_files", { include: ["**/*"] }, [".env", "deploy/server.pem"]],
    "by a link": ["gemini", "read_many_files", { include: ["docs/*.txt"] }, ["docs/notes.txt"]],
  };
  test.for(Object.entries(OPENS))(
    "reads a secret that its glob may select, %s",
    async ([, [client, tool, input, opened]]) => {
      const folder = await project();
      const paths = effectsOf(client, tool, input, folder).map((effect) => ("path" in effect ? effect.path : ""));
      for (const path of opened) expect(paths).toContain(join(folder, path));
    },
  );

  const USUAL: { readonly [what: string]: readonly [ClientName, tool: string, input: ToolInput] } = {
    "other files": ["claude-code", "Grep", { pattern: "x", glob: "*.ts" }],
    "a folder's": ["opencode", "grep", { pattern: "x", include: "src/**/*.ts" }],
    "a few kinds": ["gemini", "grep_search", { pattern: "x", include_pattern: "*.{ts,tsx,md}" }],
  };
  test.for(Object.entries(USUAL))("reads nothing but its folder: %s", async ([, [client, tool, input]]) => {
    const folder = await project();
    expect(touched(client, tool, input, folder)).toEqual({ effects: reads(folder), input });
  });

  test("leaves secrets out if it has no glob of its own", async () => {
    const folder = await project();
    const input = { pattern: "x" };
    const changed = (client: ClientName, tool: string) => touched(client, tool, input, folder).input;
    expect(changed("claude-code", "Grep")).toEqual({ pattern: "x", glob: "!{.env,server.pem}" });
    expect(changed("opencode", "grep")).toEqual({ pattern: "x", include: "!{.env,server.pem}" });
    expect(changed("gemini", "grep_search")).toEqual({ pattern: "x", include_pattern: "!{server.pem}" });
    expect(touched("claude-code", "Grep", { pattern: "x", path: "src" }, folder).input).toEqual({
      ...{ pattern: "x", path: "src" },
    });
  });
});
